"""Widths, tables, times and numbers as displayed."""

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest

from sprintlog.cli.screen import times
from sprintlog.cli.screen.tables import FittedTable, Toned, columns_of, cut, padded, wrapped
from sprintlog.cli.screen.terminal import BAD, Terminal
from sprintlog.engine.judging.events import Usage
from sprintlog.projections.text.phrases import dollars, duration, usage

VIENNA = ZoneInfo("Europe/Vienna")
NOW = datetime(2026, 3, 29, 10, 0, tzinfo=UTC)
"""In Vienna it is noon; eight hours ago its clocks went from 2 to 3."""


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", 0), ("abc", 3), ("é", 1), ("e\u0301", 1), ("表示", 4), ("🎉", 2),
        ("❤\ufe0f", 2), ("ｱ", 1), ("한", 2), ("\u1112\u1161\u11ab", 2), ("→…✓", 3),
    ],
)  # fmt: skip
def test_measures_what_a_terminal_shows(text: str, columns: int) -> None:
    """Wide characters take two columns, and combining marks none."""
    assert columns_of(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("ab cd", 4, "ab…"), ("表示が", 4, "表…"),
        ("表示が", 5, "表示…"), ("abc", 1, "…"), ("abc", 0, ""),
    ],
)  # fmt: skip
def test_cuts_by_columns(text: str, columns: int, shown: str) -> None:
    """A cut text ends with an ellipsis and is never wider than asked for."""
    assert cut(text, columns) == shown
    assert columns_of(shown) <= columns


def test_pads_by_columns() -> None:
    """Padding aligns columns, not character counts."""
    assert padded("表", 4) == "表  "
    assert padded("12", 4, right=True) == "  12"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one two three", ["one two", "  three"]),
        ("one  two", ["one  two"]),
        ("  a b c d e f", ["  a b c", "    d e", "    f"]),
        ("abcdefghijkl", ["abcdefgh", "  ijkl"]),
    ],
)
def test_wraps_between_words(text: str, lines: list[str]) -> None:
    """Lines break at a blank if possible; blanks inside of them stay."""
    assert wrapped(text, 8, indent="  ") == lines
    assert wrapped(text, None) == [text]


ROWS = [("1", "short", "a text that is longer"), ("22", "middle size", "b")]


def test_a_table_without_a_width_is_whole() -> None:
    """Piped output is never cut."""
    table = FittedTable(Terminal(), right={0})
    assert table.lines(ROWS) == [
        " 1  short        a text that is longer",
        "22  middle size  b",
    ]
    assert not table.is_cut


def test_only_the_longest_texts_are_cut() -> None:
    """Columns that fit stay complete, as numbers always do."""
    table = FittedTable(Terminal(width=30), right={0})
    assert table.lines(ROWS) == [" 1  short        a text that…", "22  middle size  b"]
    assert table.is_cut


def test_what_can_be_spared_goes_first() -> None:
    """A column is omitted rather than shortening texts to nothing."""
    table = FittedTable(Terminal(width=26), right={0}, spare=(1,), least=20)
    assert table.lines(ROWS) == [" 1  a text that is longer", "22  b"]


def test_widths_are_kept_from_page_to_page() -> None:
    """The next rows are below the earlier ones."""
    table = FittedTable(Terminal())
    assert table.lines([("long", "x")]) + table.lines([("s", "y")]) == [
        "long  x",
        "s     y",
    ]


def test_one_long_text_does_not_fill_other_rows() -> None:
    """Through a pipe, columns are padded to at most sixty columns."""
    first, second = FittedTable(Terminal()).lines([("x" * 2000, "end"), ("y", "end")])
    assert first == "x" * 2000 + "  end"
    assert len(second) == 65


def test_what_acts_on_a_terminal_is_shown() -> None:
    """Control characters and tabs in a cell become visible; colours are only ours."""
    row = (Toned("\x1b[2J", BAD), "a\tb")
    (line,) = FittedTable(Terminal(80, is_coloured=True)).lines([row])
    assert line == "\x1b[31m\\x1b[2J\x1b[0m  a\\tb"


@pytest.mark.parametrize(
    ("at", "zone", "shown"),
    [
        ("2026-03-29T09:41:00+00:00", VIENNA, "11:41"),
        ("2026-03-29T00:59:00+00:00", VIENNA, "01:59"),
        ("2026-03-29T01:00:00+00:00", VIENNA, "03:00"),
        ("2026-03-28T22:59:00+00:00", VIENNA, "yesterday 23:59"),
        ("2026-03-28T23:00:00+00:00", VIENNA, "00:00"),
        ("2026-03-28T23:00:00+00:00", UTC, "yesterday 23:00"),
        ("2026-03-30T07:00:00+00:00", VIENNA, "tomorrow 09:00"),
        ("2026-03-01T07:00:00+00:00", VIENNA, "Mar  1 08:00"),
        ("2025-11-21T22:10:00+00:00", VIENNA, "2025-11-21 23:10"),
    ],
)
def test_times_are_short_and_local(at: str, zone: tzinfo, shown: str) -> None:
    """A day is given by its distance or date, with a year if needed; clocks may change."""
    assert times.short(datetime.fromisoformat(at), now=NOW, zone=zone) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "just now"), (59, "just now"), (60, "1 min ago"), (3599, "59 min ago"),
        (3600, "1 h ago"), (86_399, "23 h ago"), (86_400, "yesterday 11:00"),
        (-60, "12:01"),
    ],
)  # fmt: skip
def test_what_was_today_is_told_by_its_distance(seconds: int, shown: str) -> None:
    """Less than a day ago is relative; the future is shown by its time."""
    moment = NOW - timedelta(seconds=seconds)
    assert times.relative(moment, now=NOW, zone=VIENNA) == shown


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (0, "0 ms"), (999, "999 ms"), (1000, "1 s"), (3210, "3.2 s"), (59_960, "1m 00s"),
        (192_400, "3m 12s"), (3_900_000, "1h 05m"), (183_600_000, "2d 03h"),
    ],
)  # fmt: skip
def test_durations_have_units(milliseconds: int, shown: str) -> None:
    """The larger unit is an integer, the smaller one has two digits."""
    assert duration(milliseconds) == shown


def test_what_agents_took_has_units() -> None:
    """Known turns, tokens and dollars are shown."""
    used = Usage(input_tokens=1200, output_tokens=34, cost_usd=0.42, turns=1)
    told = ["3m 12s", "1 turn", "1,234 tokens", "$0.42"]
    assert usage(used, duration_ms=192_000) == told
    assert usage(None) == []
    assert dollars(0.0012) == "$0.0012"
