"""Commands are data: a struct that decides, one registry."""

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
from sprintlog.engine.commands import OF_THE_JOURNAL, registered
from sprintlog.engine.journal.document import JournalDocument
from sprintlog.engine.journal.rules import CAUSED as OF_JOURNAL_EVENTS
from sprintlog.engine.journal.state import Journal
from sprintlog.engine.judging.tracker import Tracker
from sprintlog.engine.log.event import Event
from sprintlog.engine.service import command_context
from sprintlog.engine.sprint.commands import TOPICS as OF_SPRINTS
from sprintlog.engine.sprint.commands import caused
from sprintlog.engine.sprint.phases.leaves import CompletePhase
from sprintlog.engine.sprint.state.knowledge import Knowledge
from sprintlog.engine.sprint.state.sprint import Plan
from sprintlog.engine.sprint.state.tree import Node

from .tree import ROOT, modules

STATES = (Plan, Knowledge, Node, Journal, JournalDocument, Tracker)
EVERY = registered()
WAYS = [*caused().values(), *OF_JOURNAL_EVENTS.values()]


NOT_NAMED = {
    *("sprint.commands", "sprint.queue.rules"),
    *("journal.foreign", "journal.progress_text", "command"),
}
"""Topics whose commands carry a document or an event: nobody types them by name."""


def topics() -> list[ModuleType]:
    """Return every module of the engine that has commands."""
    found = []
    for path in modules("engine"):
        if re.search(r"\nclass \w+\(\w*Command, f", path.read_text(encoding="utf-8")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            if name.removeprefix("engine.") not in NOT_NAMED:
                found.append(importlib.import_module(f"sprintlog.{name}"))
    return found


def every_subclass(kind: type[Command]) -> set[type[Command]]:
    """Return all commands."""
    return {x for one in kind.__subclasses__() for x in (one, *every_subclass(one))}


def test_every_command_that_needs_context_gets_it() -> None:
    """The service completes exactly the commands that declare that they need context."""
    for topic in (*NOT_NAMED, *(t.__name__.partition(".engine.")[2] for t in topics())):
        importlib.import_module(f"sprintlog.engine.{topic}")
    needing = {one.name() for one in every_subclass(Command) if one.needs_context}
    assert needing == {"complete-goal", *command_context._COMPLETE}


def test_every_topic_is_registered() -> None:
    """A command that its topic names is found by its name, whichever topic that is."""
    assert {t.__name__ for t in topics()} == {
        topic.__name__ for topic in (*OF_SPRINTS, *OF_THE_JOURNAL)
    }


@pytest.mark.parametrize("command", EVERY.values(), ids=EVERY)
def test_a_command_decides(command: type[Command]) -> None:
    """A command's method takes a state and the time, and has a docstring."""
    assert command.decide is not Command.decide
    assert command.decide.__doc__
    assert inspect.getdoc(command) != inspect.getdoc(Command)
    _, state, at = inspect.signature(command.decide).parameters.values()
    assert (at.name, at.annotation) == ("at", str)
    assert (state.name == "journal") is issubclass(command, JournalCommand)


def test_every_function_that_takes_an_event_is_in_a_table() -> None:
    """Forgetting one would leave the event without effect."""
    takers, used = {}, set()
    for path in modules("engine"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for value in vars(importlib.import_module(f"sprintlog.{name}")).values():
            if isinstance(value, dict):
                used |= {id(taker) for taker in value.values()}
            elif inspect.isfunction(value) and _is_taker(value):
                takers[id(value)] = f"{name}.{value.__name__}"
    assert takers
    assert [takers[one] for one in takers.keys() - used] == []


def _is_taker(function: Callable[..., object]) -> bool:
    """Return whether a function changes a state by an event of one type."""
    given = inspect.signature(function)
    kinds = [one.annotation for one in given.parameters.values()]
    if function.__name__.startswith("_check") or len(kinds) < 3 or kinds[0] not in STATES:
        return False
    return isinstance(kinds[1], type) and issubclass(kinds[1], Event) and kinds[1] != Event


def test_every_struct_is_registered() -> None:
    """A struct that no topic registers would be refused as input."""
    structs = {
        value
        for topic in topics()
        for value in vars(topic).values()
        if isinstance(value, type) and issubclass(value, Command)
    }
    assert structs - {Command, JournalCommand} == {*EVERY.values()}


@pytest.mark.sampled(20)
@pytest.mark.parametrize("command", EVERY.values(), ids=EVERY)
def test_a_command_has_a_way_in(command: type[Command]) -> None:
    """A terminal command creates it, the service itself, or `append` of its event."""
    made = rf"\b{command.__name__}\b[(,)]"
    ways = [path for room in ("cli", "engine/service") for path in modules(room)]
    assert command in {
        way if isinstance(way, type) else _answer(way) for way in WAYS
    } or any(re.search(made, path.read_text(encoding="utf-8")) for path in ways), (
        f"no module of cli/ makes {command.__name__}"
    )


def _answer(way: Callable[..., Command]) -> Any:
    return get_type_hints(way)["return"]


def test_a_command_is_read_by_its_name() -> None:
    """A command's JSON contains its name and decodes to the same command."""
    command = CompletePhase("build", "done")
    written = msgspec.json.encode(command)
    assert msgspec.json.decode(written)["type"] == CompletePhase.name() == "complete-phase"
    assert msgspec.json.decode(written, type=EVERY["complete-phase"]) == command


def test_a_misspelt_argument_is_found() -> None:
    """A type checker reports it; an unneeded ignore comment would be an error, too."""
    with pytest.raises(TypeError):
        CompletePhase(fase="build")  # type: ignore[call-arg]
    assert CompletePhase(7).phase == 7  # type: ignore[arg-type, comparison-overlap]
    with pytest.raises(AttributeError):
        CompletePhase().phase = "build"  # type: ignore[misc]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert settings["strict"], "only then a comment that is not needed is an error"
