"""Times as people type them."""

from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from sprintlog.cli.moments import NotAMomentError, is_day, moment

from ..conftest import Run

VIENNA, YORK = ZoneInfo("Europe/Vienna"), ZoneInfo("America/New_York")
NOON = datetime(2026, 3, 29, 10, 0, tzinfo=UTC)
"""A Sunday: noon in Vienna, where clocks went from 2 to 3; 6 in New York."""
FALL = datetime(2025, 10, 26, 11, 0, tzinfo=UTC)
"""A Sunday: noon in Vienna, where clocks went from 3 back to 2."""


@pytest.mark.parametrize(
    ("text", "now", "zone", "meant"),
    [
        ("now", NOON, VIENNA, "2026-03-29T10:00:00"),
        ("2h ago", NOON, VIENNA, "2026-03-29T08:00:00"),
        ("90 min ago", NOON, VIENNA, "2026-03-29T08:30:00"),
        ("2 weeks ago", NOON, VIENNA, "2026-03-15T10:00:00"),
        ("12:00", NOON, VIENNA, "2026-03-29T10:00:00"),
        ("9:00", NOON, VIENNA, "2026-03-29T07:00:00"),
        ("09:41:30", NOON, VIENNA, "2026-03-29T07:41:30"),
        ("9am", NOON, VIENNA, "2026-03-29T07:00:00"),
        ("12 am", NOON, VIENNA, "2026-03-28T23:00:00"),
        ("9:30 PM", NOON, VIENNA, "2026-03-28T20:30:00"),
        ("12:01", NOON, VIENNA, "2026-03-28T11:01:00"),
        ("9:00", NOON, YORK, "2026-03-28T13:00:00"),
        ("yesterday 23:10", NOON, VIENNA, "2026-03-28T22:10:00"),
        ("Yesterday  23:10", NOON, UTC, "2026-03-28T23:10:00"),
        ("today 1:59", NOON, VIENNA, "2026-03-29T00:59:00"),
        ("today 3:00", NOON, VIENNA, "2026-03-29T01:00:00"),
        ("today 2:30", NOON, VIENNA, "2026-03-29T01:30:00"),
        ("today 2:30", FALL, VIENNA, "2025-10-26T00:30:00"),
        ("today 3:00", FALL, VIENNA, "2025-10-26T02:00:00"),
        ("sunday 11:00", NOON, VIENNA, "2026-03-29T09:00:00"),
        ("sun 14:00", NOON, VIENNA, "2026-03-22T13:00:00"),
        ("monday 14:30", NOON, VIENNA, "2026-03-23T13:30:00"),
        ("Mar 28 23:10", NOON, VIENNA, "2026-03-28T22:10:00"),
        ("Mar  1 08:00", NOON, VIENNA, "2026-03-01T07:00:00"),
        ("nov 21 23:10", NOON, VIENNA, "2025-11-21T22:10:00"),
        ("2025-11-21 23:10", NOON, VIENNA, "2025-11-21T22:10:00"),
        ("2025-11-21T23:10", NOON, YORK, "2025-11-22T04:10:00"),
    ],
)
def test_a_time_is_understood(text: str, now: datetime, zone: tzinfo, meant: str) -> None:
    """Displayed times can be typed; names mean the latest time, despite clock changes."""
    found = moment(text, now=now, zone=zone)
    assert found == datetime.fromisoformat(f"{meant}+00:00")


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("today", "2026-03-28T23:00:00", "2026-03-29T10:00:00"),
        ("yesterday", "2026-03-27T23:00:00", "2026-03-28T22:59:59.999"),
        ("sunday", "2026-03-28T23:00:00", "2026-03-29T10:00:00"),
        ("monday", "2026-03-22T23:00:00", "2026-03-23T22:59:59.999"),
        ("Mar 3", "2026-03-02T23:00:00", "2026-03-03T22:59:59.999"),
        ("2025-10-26", "2025-10-25T22:00:00", "2025-10-26T22:59:59.999"),
    ],
)
def test_a_day_is_meant_whole(text: str, begin: str, end: str) -> None:
    """Since a day means from its start; as of a day means its end, or now."""
    since = moment(text, now=NOON, zone=VIENNA, is_since=True)
    assert since == datetime.fromisoformat(f"{begin}+00:00")
    assert moment(text, now=NOON, zone=VIENNA) == datetime.fromisoformat(f"{end}+00:00")
    assert is_day(text)


@pytest.mark.parametrize(
    "text",
    [
        *("today 12:01", "2026-03-30", "2026-03-29 13:00", "25:00", "9:61", "13pm", "0am"),
        *("Feb 30", "2026-02-29", "last night", "tonight", "this morning"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str) -> None:
    """Future times, invalid times and days, and spans are refused."""
    with pytest.raises(NotAMomentError):
        moment(text, now=NOON, zone=VIENNA)


@pytest.mark.parametrize(
    "text",
    ["", "best", "iter:3", "9", "2026-01-15T09:00:00Z", "soon", "monday noon", "1 ago"],
)
def test_other_texts_are_left_to_others(text: str) -> None:
    """Other texts are not guessed."""
    assert moment(text, now=NOON, zone=VIENNA) is None


def test_points_take_times_as_people_say_them(
    sprint: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every option for a point accepts them, and prints the interpretation on stderr."""
    for line in (
        ["status", "--at", "now"],
        ["log", "--since", "2020-01-01", "--until", "today"],
        ["diff", "auth@start", "auth@today"],
        ["replay", "--from", "start", "--to", "today"],
        ["note", "hello", "--at", "1s ago"],
    ):
        result = run(*line)
        assert result.code == 0, result
    assert "note: 'today' is 2" in run("diff", "start", "today").err
    assert run("note", "hello", "--at", "yesterday").code == 1
    refused = run("status", "--at", "soon")
    assert refused.code == 1
    assert "yesterday, 9:00" in refused.err
