"""`sprintlog` alone and the first screen of the help: the state and the next command."""

import os
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.sprint.agent.actions import ACTIONS, STOP, WAIT

from ...conftest import PLAN, Run
from ...typed import commands_in, typed
from .test_followed_hints import follow

SCREENS = Path(__file__).parents[4] / "fixtures" / "screens"
COLUMNS, LINES_MAX = 80, 40


def screen(name: str) -> str:
    """Return a stored screen."""
    return (SCREENS / f"{name}.txt").read_text(encoding="utf-8")


def last_line(done: Run) -> str:
    """Return the commands that `sprintlog` alone suggests."""
    lines = done().out.splitlines()
    assert lines[-1].startswith("next: ")
    return str(lines[-1])


def test_help_is_one_screen(done: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first screen is the stored one: at most 40 lines of 80 columns."""
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    # Versions of click differ in how they mark an optional argument.
    out = done("--help").out.replace("] COMMAND [", "] [COMMAND] [")
    assert out == screen("help")
    assert out.count("\n") <= LINES_MAX
    assert max(map(len, out.splitlines())) <= COLUMNS


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_help_keeps_its_lines(
    done: Run, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    """However wide the terminal is, the tables of the first screen are the same."""
    monkeypatch.setenv("COLUMNS", columns)
    tables = screen("help").partition("\n\nrecord ")[2].partition("Options:")[0]
    assert tables in done("--help").out


def test_without_a_log_it_says_how_to_begin(folder: Path, run: Run) -> None:
    """Without a log, `sprintlog` alone shows four ways to start, and exits with 0."""
    result = run()
    assert (result.code, result.out, result.err) == (0, screen("no-log"), "")
    assert max(map(len, result.out.splitlines())) <= COLUMNS
    assert os.listdir(folder) == []


def test_its_ways_to_begin_can_be_typed(folder: Path, done: Run) -> None:
    """Each command shown exists."""
    found = [x.split("sprintlog ")[1] for x in screen("no-log").split("\n")[3:8]]
    for line in found:
        typed(line.partition("  ")[0].split())


def test_in_a_sprint_it_shows_the_status(sprint: Path, run: Run) -> None:
    """It prints the same as `status`, with the next commands at the end."""
    result = run()
    assert (result.code, result.err) == (0, "")
    first, _, status = run("status").out.partition("\n")
    assert first.startswith("next: ")
    assert result.out.startswith(status)
    assert result.out.removeprefix(status) == screen("in-a-sprint")


def test_it_leads_through_a_sprint(folder: Path, done: Run) -> None:
    """Typing the suggested commands leads from an empty log to a completed sprint."""
    (folder / "plan.yaml").write_text("phases: [{id: a, prompt: b}]\n")
    done("init")
    assert "sprint create ID --plan FILE" in last_line(done)
    done("sprint", "create", "x", "--plan", "plan.yaml")
    follow(done, last_line(done))
    for expected in ("phase start", "phase complete"):
        assert expected in last_line(done)
        done(*expected.split())
    follow(done, last_line(done))
    assert "next: `sprintlog log`\n" in done().out


def test_it_repeats_the_hint_of_a_stop(sprint: Path, done: Run) -> None:
    """If a person is needed it prints the reason and the commands."""
    done("sprint", "pause", "--reason", "lunch")
    hint = done("next", "--json").json["hint"]
    assert done().out == done("status").out
    assert f"; next: {hint}\n" in done().out


def test_of_several_sprints_it_names_some(folder: Path, done: Run) -> None:
    """If no sprint is selected it lists them, unfinished ones first."""
    (folder / "plan.yaml").write_text(PLAN)
    done("init")
    for name in "abcdef":
        words = ("sprint", "create", name, "--plan", "plan.yaml", "--sprint-dir", name)
        done(*words)
    shown = done().out.splitlines()
    assert shown[0] == (
        "one of 6: a (not-started), b (not-started), c (not-started), d (not-started) …"
    )
    assert commands_in(shown[1]) == [["status", "--sprint", "ID"], ["sprint", "list"]]


def test_it_follows_the_variable(
    sprint: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SPRINTLOG_SPRINT chooses here as everywhere; another name is an error."""
    monkeypatch.setenv("SPRINTLOG_SPRINT", "auht")
    result: Any = run()
    assert (result.code, "did you mean `auth`?" in result.err) == (3, True)


def test_it_has_something_to_type_for_every_answer() -> None:
    """There is a text for every answer of `next`."""
    from sprintlog.projections.text.stops import TYPED

    assert {*TYPED} == {*ACTIONS} - {STOP, WAIT}
