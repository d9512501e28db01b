"""Times as text: the accepted formats, the stored format, and durations."""

import pytest

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.state.times import elapsed, from_milliseconds, later, normalise


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("2026-01-15T09:00:00Z", "2026-01-15T09:00:00Z"),
        ("2026-01-15 09:00:00Z", "2026-01-15T09:00:00Z"),
        ("2026-01-15T09:00Z", "2026-01-15T09:00:00Z"),
        ("2026-01-15T10:00:00+01:00", "2026-01-15T09:00:00Z"),
        ("2026-01-15T03:30:00-0530", "2026-01-15T09:00:00Z"),
        ("2026-01-15T00:30:00+02:00", "2026-01-14T22:30:00Z"),
        ("2026-01-15T09:00:00.5Z", "2026-01-15T09:00:00.500Z"),
        ("2026-01-15T09:00:00,120Z", "2026-01-15T09:00:00.120Z"),
        ("2026-01-15T09:00:00.000Z", "2026-01-15T09:00:00Z"),
        ("2026-01-15T09:00:00.123999999Z", "2026-01-15T09:00:00.123Z"),
        ("2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z"),
        ("0999-01-01T00:00:00Z", "0999-01-01T00:00:00Z"),
    ],
)
def test_keeps_one_form_of_time(text: str, kept: str) -> None:
    """Times are stored in UTC with `Z`, and with milliseconds only if they have any."""
    assert normalise(text) == kept
    assert normalise(kept) == kept


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-01-15",
        "2026-01-15T09:00:00",
        "2026-01-15T09:00:00z",
        " 2026-01-15T09:00:00Z",
        "2026-01-15T09:00:00Z\n",
        "2026-13-15T09:00:00Z",
        "2026-02-29T09:00:00Z",
        "2026-01-15T25:00:00Z",
        "2026-01-15T09:00:60Z",
        "2026-01-15T09:00:00.1234567890Z",
        "2026-01-15T09:00:00+24:00",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "٢٠٢٦-01-15T09:00:00Z",
        "20260115T090000Z",
        "2026-W03-4T09:00:00Z",
    ],
)
def test_refuses_what_is_no_moment(text: str) -> None:
    """A time without zone, or one that never was, is refused by name."""
    with pytest.raises(InvalidInputError, match="is not a time"):
        normalise(text)


@pytest.mark.parametrize(
    ("started", "ended", "duration"),
    [
        ("2026-01-15T09:00:00Z", "2026-01-15T09:05:00Z", "00:05:00"),
        ("2026-01-15T09:00:00Z", "2026-01-15T09:00:00.999Z", "00:00:00"),
        ("2026-01-15T09:00:00.900Z", "2026-01-15T09:00:02.100Z", "00:00:01"),
        ("2026-01-15T09:00:00Z", "2026-01-16T10:01:01Z", "25:01:01"),
        ("2026-01-15T09:00:00Z", "2026-01-19T13:00:00Z", "100:00:00"),
        ("2026-01-15T09:00:00Z", "2026-01-15T08:00:00Z", "00:00:00"),
        ("2026-01-15T10:00:00+01:00", "2026-01-15T09:00:01Z", "00:00:01"),
    ],
)
def test_measures_whole_seconds(started: str, ended: str, duration: str) -> None:
    """HH:MM:SS: truncated, never negative, hours may exceed 24."""
    assert elapsed(started, ended) == duration


@pytest.mark.parametrize("odd", [None, 0, "yesterday", "2026-01-15T09:00:00", ["x"]])
def test_measures_nothing_from_odd_times(odd: object) -> None:
    """Documents of other tools may contain anything; then there is no duration."""
    assert elapsed(odd, "2026-01-15T09:00:00Z") is None
    assert elapsed("2026-01-15T09:00:00Z", odd) is None


def test_adds_milliseconds() -> None:
    """Waits are counted in milliseconds and end with the calendar."""
    assert later("2026-12-31T23:59:59.500Z", milliseconds=750) == "2027-01-01T00:00:00.250Z"
    last = later("9999-12-31T23:59:59Z", milliseconds=86_400_000)
    assert last == "9999-12-31T23:59:59.999Z"


def test_writes_a_clocks_milliseconds() -> None:
    """A wall clock's milliseconds since 1970 are converted to the same format."""
    assert from_milliseconds(0) == "1970-01-01T00:00:00Z"
    assert from_milliseconds(1_768_467_600_001) == "2026-01-15T09:00:00.001Z"
