"""A misspelled word gets a suggestion at every level."""

import json
from pathlib import Path
from typing import Any

import pytest

from sprintlog.cli.suggest import WORD_CHARS_MAX, closest
from tests.architecture.test_startup import modules_imported_by


@pytest.mark.parametrize(
    ("line", "meant", "code"),
    [
        ("statsu", "status", 2),
        ("-v stauts", "status", 2),
        ("phase strat", "start", 2),
        ("iteration basline", "baseline", 2),
        ("status --jsn", "--json", 2),
        ("--verison", "--version", 2),
        ("phase start --atc x", "--at", 2),
        ("phase fail --error x --category netwrok", "network", 2),
        ("completion bsah", "bash", 2),
        ("help go-bakc", "go-back", 2),
        ("help statsu", "status", 2),
        ("help phase strat", "start", 2),
        ("show evnt 13", "event", 2),
        ("append phase-complete", "phase-completed", 3),
        ("append entry-recrded --stream journal", "entry-recorded", 3),
        ("log --type phase-startd", "phase-started", 2),
        ("status --sprint auht", "auth", 3),
        ("note x --sprint AUTH", "auth", 3),
        ("reset best", "rollback", 2),
        ("checkout best", "restore", 2),
        ("rollback start --sprint autj", "auth", 3),
        ("phase start build/login/implemnet", "build/login/implement", 3),
        ("phase start implement", "build/login/implement", 3),
        ("phase start implemnet", "build/login/implement", 3),
        ("gate run --phase biuld", "build", 3),
        ("append activity-seen --stream sprint/auht", "auth", 3),
        ("append activity-seen --stream sprnt/auth", "sprint/auth", 1),
        ("status --at strat", "start", 1),
        ("status --at yesterdy", "yesterday", 1),
        ("rollback bset", "best", 1),
    ],
)
def test_says_which_word_is_meant(
    sprint: Path, run: Any, line: str, meant: str, code: int
) -> None:
    """Command, option, choice, section, event type, sprint, address, stream, point."""
    result = run(*line.split())
    assert (result.code, result.out) == (code, "")
    error, hint = result.err.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith(f"hint: did you mean `{meant}`?")


@pytest.mark.parametrize(
    ("line", "error", "hint"),
    [
        ("files", "there is no command 'files'", "`sprintlog -h` shows how"),
        (
            "goal show",
            "there is no command 'show' here: it is sprintlog status",
            "`sprintlog goal -h` shows how",
        ),
    ],
)
def test_no_word_that_is_not_alike_is_said_to_be_meant(
    sprint: Path, run: Any, line: str, error: str, hint: str
) -> None:
    """Without a similar word there is no suggestion; the listing command is named."""
    assert run(*line.split()).err == f"error: {error}\nhint: {hint}\n"


def test_scripts_are_told_as_well(sprint: Path, run: Any) -> None:
    """With --json the hint of the error has it."""
    error = json.loads(run("status", "--sprint", "auht", "--json").err)
    assert error["hint"].startswith("did you mean `auth`? ")
    assert "unknown" not in error


@pytest.mark.parametrize("line", ["xyzzy", "status --xyzzy", "status --sprint xyzzy"])
def test_says_nothing_of_a_word_that_is_like_none(
    sprint: Path, run: Any, line: str
) -> None:
    """A word unlike all known words is not guessed."""
    assert "did you mean" not in run(*line.split()).err


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("Status", ["status"], "status"),
        ("comp", ["compile", "log"], "compile"),
        ("b", ["a/b", "c/d"], "a/b"),
        ("", ["a"], None),
        ("x" * 10_000, ["x" * WORD_CHARS_MAX], "x" * WORD_CHARS_MAX),
        ("same", [], None),
    ],
)
def test_knows_what_is_like_a_word(word: str, known: list[str], meant: str | None) -> None:
    """Case is ignored; an end of an address, or a beginning, matches the whole."""
    assert closest(word, known) == meant


def test_compares_words_only_where_one_is_unknown() -> None:
    """A command line with only known words does not import the comparison."""
    assert "difflib" not in modules_imported_by("sprintlog.cli.work.phase")
