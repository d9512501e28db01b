"""Every command and question has the same result by `rpc` as by a process."""

import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

import sprintlog
from sprintlog.cli.agents.subprocess_commands import PRINTS_JSON, arguments_of
from sprintlog.cli.main import main
from sprintlog.engine.command import JournalCommand
from sprintlog.engine.commands import registered
from sprintlog.engine.errors import SprintlogError
from sprintlog.projections.views.answers import ANSWERS

from ..cli.answers import commands
from ..cli.asked import ASKED
from ..cli.asked import night as night
from ..cli.conftest import GATED_PLAN, PLAN, Run
from ..copies import copy_tree
from .commands import AT, EXAMPLES, NOTHING, SITUATIONS
from .conftest import Here, RefusedAnswer

ROOT = Path(__file__).resolve().parents[2]
Situations = Callable[[str], Path]


@pytest.fixture(scope="module")
def situations(tmp_path_factory: pytest.TempPathFactory) -> Situations:
    """Return a function that provides a folder in a situation, created once."""
    made: dict[str, Path] = {}

    def situation(name: str) -> Path:
        if name not in made:
            at = made[name] = tmp_path_factory.mktemp(name)
            (at / "plan.yaml").write_text(PLAN)
            (at / "gated.yaml").write_text(GATED_PLAN.format(script="false", retries=3))
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(at)
                for words in (("init",), *SITUATIONS[name]):
                    at_start = () if words[0] in ("init", "undo") else ("--at", AT)
                    patch.setattr(sys, "argv", ["sprintlog", *words, *at_start])
                    main()
        return made[name]

    return situation


ITS_TREE = partial(re.compile(rb',?"work_tree":"\w+"').sub, b"")
"""Removes which of two trees an event was recorded in."""


def recorded(folder: Path, after: int) -> list[Any]:
    """Return the records after a position, without values that always differ."""
    with sprintlog.open(folder) as workspace:
        return [
            (*(one.stream, one.version, one.type, one.at, one.actor), ITS_TREE(one.payload))
            for one in workspace.log.read(after=after)
        ]


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", registered())
def test_a_command_is_the_same_as_by_a_process(
    name: str,
    situations: Situations,
    tmp_path: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The events and fields, or the refusal, are the same by `rpc` as typed."""
    example = EXAMPLES[name]
    monkeypatch.setenv("SPRINTLOG_ACTOR", "operator:x")
    here, there = tmp_path / "rpc", tmp_path / "typed"
    for folder in (here, there):
        copy_tree(situations(example.situation), folder)
    with sprintlog.open(here) as workspace:
        before = workspace.log.last_position()
    monkeypatch.chdir(here)
    refused: str | None = None
    with Here(actor="operator:x") as client:
        try:
            client.record(name, about={"at": AT}, **example.fields)
        except RefusedAnswer as error:
            refused = error.message
    by_rpc = recorded(here, before)
    monkeypatch.chdir(there)
    if example.typed:
        result = run(*example.typed, "--at", AT)
        told = result.err.partition("error: ")[2].partition("\n")[0] or None
    else:
        told = by_library(there, name, example.fields)
    assert (refused, by_rpc) == (told, recorded(there, before))
    assert (name in NOTHING) == (not by_rpc)


def by_library(folder: Path, name: str, fields: dict[str, Any]) -> str | None:
    """Run a command through the library; return its refusal, if any."""
    one = registered()[name]
    with sprintlog.open(folder) as workspace:
        sprints = [*workspace.sprints(), "auth"]
        try:
            command = msgspec.convert({"type": name, **fields}, one)
            if isinstance(command, JournalCommand):
                workspace.handle(command, at=AT, actor="operator:x")
            else:
                workspace.handle(command, sprint_id=sprints[0], at=AT, actor="operator:x")
        except SprintlogError as error:
            return error.message
    return None


def test_a_question_is_the_same_as_by_a_process(night: Path, done: Run) -> None:
    """The answer of `ask` equals the command's `--json` output."""
    with Here() as client:
        for command, (given, typed) in ASKED.items():
            answer = client.ask("ask", question=command, given=given)
            if command == "gate show":
                # No phase has a gate: the command reports an error, but this method returns
                # an empty list.
                assert answer == []
                continue
            printed = done(*arguments_of([*command.split(), *typed]))
            assert answer == (printed.lines if command == "log" else printed.json), command


def test_every_answer_can_be_called_for() -> None:
    """Each command with an answer accepts `--json`, so `call` gets it from a process."""
    takes = {
        name
        for name, command in commands()
        if any("--json" in option.opts for option in command.params)
    }
    assert takes | {*PRINTS_JSON} >= ANSWERS.keys()
    for name, command in commands():
        if name in takes:
            words = arguments_of([*name.split(), "--", "x", "--json"])
            assert words == [*name.split(), "--json", "--", "x", "--json"]
            assert isinstance(command, click.Command)


@pytest.mark.long
def test_all_answers_could_be_asked_for() -> None:
    """The tests that only `make accept` runs are set up, but not run."""
    program = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*program, "--setup-plan", "tests/acceptance/programs/every_answer.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "test_every_answer_is_the_same" in done.stdout


CALLED = (
    *(
        ["verify"],
        ["status"],
        ["log"],
        ["schema", "answers", "note"],
        ["show", "event", "1"],
    ),
    *(["query", "SELECT type FROM v_events"], ["config"]),
)


@pytest.mark.long
def test_a_call_is_a_process(night: Path, done: Run) -> None:
    """A call answers like the typed command: one answer or lines, and an exit status."""
    with Here() as client:
        asked = [client.send("call", words=words) for words in CALLED]
        for number, words in zip(asked, CALLED, strict=True):
            printed = done(*arguments_of(words))
            is_lines = words[0] in ("log", "query")
            expected = printed.lines if is_lines else printed.json
            assert client.wait(number) == {"exit_code": 0, "answer": expected}, words
