"""Options and variables about all output: colours, times, the pager, the width."""

from pathlib import Path

import pytest

from tests.golden.screens import Form, screen

from ...conftest import Run

ESCAPE = "␛["


@pytest.mark.parametrize(
    "line", [["--color", "always", "status"], ["status", "--color", "always"]]
)
def test_colours_can_be_asked_for(sprint: Path, done: Run, line: list[str]) -> None:
    """Before or after the command, also without a terminal."""
    assert "\x1b[" in done(*line).out
    assert "\x1b[" not in done("status").out


@pytest.mark.parametrize(
    ("options", "environment", "is_coloured"),
    [
        ([], {}, True),
        ([], {"NO_COLOR": "1"}, False),
        ([], {"NO_COLOR": ""}, True),
        ([], {"TERM": "dumb"}, False),
        (["--color", "never"], {}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "always"], {"TERM": "dumb"}, True),
    ],
)
def test_a_terminal_is_asked_what_it_shows(
    sprint: Path, options: list[str], environment: dict[str, str], is_coloured: bool
) -> None:
    """Options override NO_COLOR and a dumb terminal."""
    form = Form(80, tuple(environment.items()))
    assert (ESCAPE in screen(sprint, ["status", *options], form)) == is_coloured


def test_times_can_be_those_of_a_pipe(sprint: Path) -> None:
    """With --utc, a terminal shows ISO 8601 in UTC, in any zone."""
    assert "09:59" not in screen(sprint, ["log", "--utc"], Form(80))
    assert "2026-01-15T08:59:00Z" in screen(sprint, ["log", "--utc"], Form(80))
    assert "yesterday 09:59" in screen(sprint, ["log"], Form(80))


def test_columns_set_the_width(sprint: Path) -> None:
    """COLUMNS overrides the terminal's width."""
    wide = screen(sprint, ["log"], Form(20, (("COLUMNS", "300"),)))
    assert "…" not in wide
    assert "…" in screen(sprint, ["log"], Form(20))


def test_a_terminal_that_only_prints_counts_nothing(sprint: Path) -> None:
    """If a line cannot be cleared, none is written that would have to be."""
    form = Form(80, (("TERM", "dumb"),))
    assert "read" not in screen(sprint, ["query", "SELECT 1", "--fresh"], form)
    assert "events read" in screen(sprint, ["query", "SELECT 1", "--fresh"], Form(80))


def test_words_for_people_fit_their_terminal(sprint: Path) -> None:
    """Errors and hints are wrapped between words."""
    shown = screen(sprint, ["status", "--at", "someday"], Form(40))
    assert max(map(len, shown.splitlines())) <= 40
    assert "error: --at: 'someday'" in shown
