"""Former names of commands: each is an error that states the current name."""

import json
from pathlib import Path

import click
import pytest

from sprintlog.cli.main import cli
from sprintlog.cli.suggest import ALIASES, RENAMED

from ...answers import commands
from ...conftest import Run

NAMES = [name for name, _ in commands()]
SUBCOMMANDS = [
    (name.replace(current, former, 1), name)
    for former, current in RENAMED.items()
    for name in NAMES
    if name.startswith(f"{current} ")
]


@pytest.mark.parametrize(("former", "current"), [*RENAMED.items(), *SUBCOMMANDS])
def test_a_former_name_states_the_current_one(
    folder: Path, run: Run, former: str, current: str
) -> None:
    """It exits with 2, needs no log and does nothing, whatever follows."""
    for more in ((), ("--json",), ("-h",), ("x", "--", "touch", "made")):
        result = run(*former.split(), *more)
        said = f"{former!r} is now {current!r}"
        told = json.loads(result.err)["message"] if "--json" in more else result.err
        assert (result.code, result.out) == (2, "")
        assert told == (said if "--json" in more else f"error: {said}\n")
    assert f"error: {former!r} is now {current!r}" in run("help", *former.split()).err
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize(("former", "current"), RENAMED.items())
def test_a_name_is_either_former_or_current(former: str, current: str) -> None:
    """The current name is a command, and the former one is not."""
    names = [name for name in NAMES if f"{name} ".startswith(f"{current} ")]
    assert names
    assert former not in NAMES
    assert not any(f"{name} ".startswith(f"{former} ") for name in NAMES)
    assert isinstance(cli, click.Group)


def test_an_alias_is_its_command(sprint: Path, done: Run) -> None:
    """`best` prints the same as `iteration best`, with the same help."""
    for alias, name in ALIASES.items():
        for more in ((), ("--json",), ("-h",)):
            assert done(alias, *more) == done(*name.split(), *more)


def test_a_program_of_a_former_name_does_not_run(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An external command of a former name is not started in its place."""
    place = folder / "bin" / "sprintlog-alerts"
    place.parent.mkdir()
    place.write_text("#!/bin/sh\ntouch made\n")
    place.chmod(0o755)
    monkeypatch.setenv("PATH", str(place.parent))
    assert run("alerts").err == "error: 'alerts' is now 'iteration alerts'\n"
