"""Every read command answers as of any earlier point, in every form of `--at`."""

from pathlib import Path
from typing import Any

import click
import pytest

from sprintlog.engine.service.streams.points import FORMS
from tests.docs.generate import commands

from ..conftest import PLAN, Made, Run

POINTS = ("start", "version:4", "position:5", "iter:1", "2026-01-15T09:02:30Z", "1m ago")
ALWAYS_NOW = {
    "sprintlog init": "makes a log",
    "sprintlog demo": "plays in a separate folder",
    "sprintlog store import": "makes a log",
    "sprintlog run": "acts",
    "sprintlog wrap": "runs a command",
    **{
        f"sprintlog race {name}": "acts on the present race"
        for name in ("start", "join", "apply", "clean")
    },
    "sprintlog race show": "shows the present race",
    "sprintlog hook": "records what an agent did now",
    "sprintlog config": "shows the current settings",
    "sprintlog setup": "installs what is missing now",
    "sprintlog uninstall": "removes what is there now",
    "sprintlog extensions list": "shows installed extensions",
    "sprintlog extensions check": "tries what is installed now",
    "sprintlog extensions project": "goes on to the present",
    "sprintlog extensions notify": "sends current notices",
    "sprintlog session reconcile": "reads a current transcript",
    "sprintlog import prd": "imports current files",
    "sprintlog import orchestrator": "imports current files",
    "sprintlog import aiwg": "imports current files",
    "sprintlog import ralph-loop": "imports current files",
    "sprintlog import transcript": "imports current files",
    "sprintlog show event": "is asked by position",
    "sprintlog show session": "shows an agent's work until now",
    "sprintlog diff": "takes points itself",
    "sprintlog fork": "takes a point itself",
    "sprintlog query": "asks about the whole record, by position and version",
    "sprintlog rebuild": "writes the present",
    "sprintlog store backup": "copies the whole log",
    "sprintlog store export": "copies the whole log",
    "sprintlog doctor": "reads the current folder",
    "sprintlog verify": "checks the whole log",
    "sprintlog store copy": "copies the whole log",
    "sprintlog why": "is about the files at hand",
    "sprintlog redact": "erases text of any time",
    "sprintlog scan": "looks through the whole log",
    "sprintlog verify head": "shows the current end of the log",
    "sprintlog verify prove": "is asked by position",
    "sprintlog serve": "shows the present, and any point by its address",
    "sprintlog mcp": "answers what tools ask, points among it",
    "sprintlog rpc": "answers what programs ask, points among it",
    "sprintlog wait": "waits for new events",
    "sprintlog watch": "records the present",
    "sprintlog help": "explains",
    "sprintlog schema": "reads no log",
    "sprintlog completion": "reads no log",
}
"""Commands without a state of an earlier point, and why."""
NEEDED = {
    "sprintlog why": ("status",),
    "sprintlog queue show": ("req-1",),
    "sprintlog iteration compare": ("1", "2"),
    "sprintlog iteration diff": ("iter:1", "iter:2"),
    "sprintlog show iteration": ("1",),
}
NAMING = {*NEEDED, "sprintlog report"} - {"sprintlog why"}
"""Commands that name something which was not there yet at some of the points."""
OF_JOURNAL = tuple(f"sprintlog {name}" for name in ("journal", "recover", "show journal"))
"""Commands about the journal, which has no iterations: `test_journal` asks them."""


def option(command: click.Command, name: str) -> click.Parameter | None:
    """Return a command's option."""
    return next((p for p in command.params if f"--{name}" in p.opts), None)


READING = {
    path: command
    for path, command in commands()
    if option(command, "causation-id") is None
    and path not in ALWAYS_NOW
    and not path.startswith(OF_JOURNAL)
}


@pytest.fixture
def history(folder: Path, done: Run, made: Made) -> Path:
    """Return a folder whose sprint has a gate and two iterations."""

    def steps() -> None:
        Path("plan.yaml").write_text(f"{PLAN}    gate:\n      script: 'true'\n")
        done("init")
        done(
            "sprint",
            "create",
            "auth",
            "--plan",
            "plan.yaml",
            "--at",
            "2026-01-15T08:59:00Z",
        )
        begin, end = (
            ("iteration", "start"),
            ("iteration", "end", "--metric", "tests_passed=1", "--snapshot"),
        )
        actions = [("sprint", "start"), begin, ("phase", "start"), end, begin, end]
        request = ("queue", "add", "Look", "--priority", "low", "--type", "bug")
        for minute, action in enumerate([*actions, request]):
            done(*action, "--at", f"2026-01-15T09:0{minute}:00Z")

    made("points", steps)
    return folder


def test_knows_every_command_of_the_table() -> None:
    """A command that neither records nor accepts `--at` is listed here with a reason."""
    assert [p for p, c in READING.items() if option(c, "at") is None] == []
    known = {path for path, _ in commands()}
    assert set(ALWAYS_NOW) <= known


@pytest.mark.sampled(30)
@pytest.mark.parametrize("path", READING)
@pytest.mark.parametrize("point", POINTS)
def test_answers_as_of_every_form(history: Path, run: Run, path: str, point: str) -> None:
    """Each form of a point is accepted, and answered with the state at that point."""
    words = [*path.split()[1:], *NEEDED.get(path, ())]
    result = run(*words, "--at", point)
    was_there = point == "1m ago" or path not in NAMING
    assert result.code in ((0,) if was_there else (0, 3)), result
    assert result.out or not was_there


@pytest.mark.parametrize("path", [*READING, "sprintlog diff"])
def test_refuses_what_is_no_point(history: Path, run: Run, path: str) -> None:
    """Any other text is refused with all valid forms."""
    words = [*path.split()[1:], *NEEDED.get(path, ())]
    how = () if path == "sprintlog diff" else ("--at",)
    result = run(*words, *how, "someday")
    assert result.code == 1
    assert FORMS in result.err


@pytest.mark.parametrize("path", READING)
def test_tells_the_forms_in_its_help(path: str) -> None:
    """The help of `--at` names every form."""
    found: Any = option(READING[path], "at")
    assert all(form in found.help for form in ("position:N", "version:N", "iter:N", "best"))


def test_next_answers_as_of_then(history: Path, done: Run) -> None:
    """The next action at a point is derived from the state of that point."""
    assert done("next", "--at", "start", "--json").json["do"] == "start"
    assert done("next", "--at", "version:3", "--json").json["phase"] == "setup"
    assert done("next", "--json").json["do"] == "work"


def test_lists_the_sprints_of_then(history: Path, done: Run) -> None:
    """Later sprints are not listed, and each has its status at that time."""
    plan = ("--plan", "plan.yaml", "--sprint-dir", "later")
    done("sprint", "create", "later", *plan)
    rows = done("sprint", "list", "--at", "position:1", "--json").json
    assert rows == [{"sprint": "auth", "status": "not-started", "version": 1}]
    assert len(done("sprint", "list", "--json").json) == 2
