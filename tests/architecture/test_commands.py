"""Commands are data: a struct, the function that decides on it beside it, one registry."""

import importlib
import inspect
import re
import tomllib
from collections.abc import Callable
from types import ModuleType
from typing import Any, get_type_hints

import msgspec
import pytest

from sprintlog.engine.command import Command, JournalCommand
from sprintlog.engine.commands import OF_THE_JOURNAL, RegisteredCommand, registered
from sprintlog.engine.journal.rules import CAUSED as OF_JOURNAL_EVENTS
from sprintlog.engine.sprint.commands import TOPICS as OF_SPRINTS
from sprintlog.engine.sprint.commands import caused
from sprintlog.engine.sprint.phases.leaves import CompletePhase

from .tree import ROOT, modules

EVERY = registered()
WAYS = [*caused().values(), *OF_JOURNAL_EVENTS.values()]


def topics() -> list[ModuleType]:
    """Return every module of the engine that names commands."""
    found = []
    for path in modules("engine"):
        if "\nCOMMANDS = commands_in(" in path.read_text(encoding="utf-8"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found.append(importlib.import_module(f"sprintlog.{name}"))
    return found


def test_every_topic_is_registered() -> None:
    """A command that its topic names is found by its name, whichever topic that is."""
    assert {t.__name__ for t in topics()} == {
        topic.__name__ for topic in (*OF_SPRINTS, *OF_THE_JOURNAL)
    }


@pytest.mark.parametrize("command", EVERY.values(), ids=EVERY)
def test_a_command_is_beside_its_rule(command: RegisteredCommand) -> None:
    """The function takes a state, this struct and the time, and says what it is for."""
    struct, decide = command.struct, command.decide
    assert struct.__module__ == decide.__module__
    assert inspect.getdoc(struct) != inspect.getdoc(Command)
    state, given, at = inspect.signature(decide).parameters.values()
    assert (given.name, given.annotation) == ("command", struct)
    assert (at.name, at.annotation) == ("at", str)
    assert (state.name == "journal") is issubclass(struct, JournalCommand)


def test_every_struct_is_registered() -> None:
    """A struct that no topic names would be refused when somebody hands it in."""
    structs = {
        value
        for topic in topics()
        for value in vars(topic).values()
        if isinstance(value, type) and issubclass(value, Command)
    }
    assert structs - {Command, JournalCommand} == {one.struct for one in EVERY.values()}


@pytest.mark.sampled(20)
@pytest.mark.parametrize("command", EVERY.values(), ids=EVERY)
def test_a_command_has_a_way_in(command: RegisteredCommand) -> None:
    """A terminal command makes it, the service does by itself, or `append` of its event."""
    struct = command.struct
    made = rf"\b{struct.__name__}\b[(,)]"
    ways = [path for room in ("cli", "engine/service") for path in modules(room)]
    assert struct in {
        way if isinstance(way, type) else _answer(way) for way in WAYS
    } or any(re.search(made, path.read_text(encoding="utf-8")) for path in ways), (
        f"no module of cli/ makes {struct.__name__}"
    )


def _answer(way: Callable[..., Command]) -> Any:
    return get_type_hints(way)["return"]


def test_a_command_is_read_by_its_name() -> None:
    """What is written of a command names it, and is the same command when it is read."""
    command = CompletePhase("build", "done")
    written = msgspec.json.encode(command)
    assert msgspec.json.decode(written)["type"] == CompletePhase.name() == "complete-phase"
    assert msgspec.json.decode(written, type=EVERY["complete-phase"].struct) == command


def test_a_misspelt_argument_is_found() -> None:
    """A type checker finds it: were one of these not wrong, its comment would be."""
    with pytest.raises(TypeError):
        CompletePhase(fase="build")  # type: ignore[call-arg]
    assert CompletePhase(7).phase == 7  # type: ignore[arg-type, comparison-overlap]
    with pytest.raises(AttributeError):
        CompletePhase().phase = "build"  # type: ignore[misc]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert settings["strict"], "only then a comment that is not needed is an error"
