"""When a limit ends: every wording of it, and clocks that are not ours."""

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.sprint.answers.limits import (
    AHEAD_DAYS_MAX,
    Moment,
    is_sensible,
    reset_in,
)

NOW = datetime(2026, 10, 5, 20, 0, tzinfo=UTC)
"""A Monday; in Vienna it is 22:00, in summer time."""
HOUR = int(NOW.timestamp()) + 3600


def zone(name: str) -> tzinfo | None:
    """Return a time zone; unknown ones raise an error."""
    return None if name.startswith("Mars") else ZoneInfo(name)


def moment(now: datetime = NOW, local: str = "Europe/Vienna") -> Moment:
    """Return a time in a time zone."""
    return Moment(now, ZoneInfo(local), zone)


def until(text: str, now: datetime = NOW, local: str = "Europe/Vienna") -> str | None:
    """Return when the limit ends, in UTC, to the second."""
    found = reset_in(text, moment(now, local))
    return found and f"{found.until:%m-%d %H:%M:%S}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Claude AI usage limit reached|{HOUR}", "10-05 21:00:00"),
        (f"Claude AI usage limit reached|{HOUR}000", "10-05 21:00:00"),
        (f"resetsAt: {HOUR}", "10-05 21:00:00"),
        (f'{{"resets_at": {HOUR}, "window_minutes": 300}}', "10-05 21:00:00"),
        ("resets at 2026-10-05T23:30:00+02:00", "10-05 21:30:00"),
        ("anthropic-ratelimit-tokens-reset: 2026-10-05T21:00:00Z", "10-05 21:00:00"),
        ("try again after 2026-10-05 23:15", "10-05 21:15:00"),
        ("Retry-After: Mon, 05 Oct 2026 21:00:00 GMT", "10-05 21:00:00"),
    ],
)
def test_times_that_are_said_whole(text: str, expected: str) -> None:
    """An epoch in seconds or milliseconds, an ISO time and an HTTP date are exact."""
    assert until(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("retry-after: 30", "10-05 20:00:30"),
        ("retry-after-ms: 1500", "10-05 20:00:01"),
        ('"retryDelay": "34s"', "10-05 20:00:34"),
        ('"resets_in_seconds": 90', "10-05 20:01:30"),
        ("x-ratelimit-reset-requests: 6m0s", "10-05 20:06:00"),
        ("try again in 2h 13m", "10-05 22:13:00"),
        ("try again in 2 hours 13 minutes", "10-05 22:13:00"),
        ("Try again in 4 days, 20 hours and 9 minutes.", "10-10 16:09:00"),
        ("Limit 30000, Used 22999. Please try again in 10.692s.", "10-05 20:00:10"),
        ("Please retry in 34.07s.", "10-05 20:00:34"),
        ("Your quota will reset after 21h5m32s.", "10-06 17:05:32"),
        ("retry after 30 seconds", "10-05 20:00:30"),
        ("Please wait 20s", "10-05 20:00:20"),
        ("resets in an hour", "10-05 21:00:00"),
    ],
)
def test_times_from_now(text: str, expected: str) -> None:
    """Fields, headers and text state a duration in any unit."""
    assert until(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You've hit your limit · resets 5am (Europe/Vienna)", "10-06 03:00:00"),
        ("You've hit your session limit · resets 8pm", "10-06 18:00:00"),
        ("5-hour limit reached ∙ resets 11:30pm", "10-05 21:30:00"),
        ("You've hit your weekly limit · resets Mon 9am", "10-12 07:00:00"),
        ("resets Monday 11pm", "10-05 21:00:00"),
        ("Weekly limit reached ∙ resets Oct 9, 5pm", "10-09 15:00:00"),
        ("Weekly limit reached ∙ resets Oct 6 at 1pm", "10-06 11:00:00"),
        ("resets 6 Oct at 13:00", "10-06 11:00:00"),
        ("resets 9 Oct", "10-08 22:00:00"),
        ("Your limit will reset at 3pm (America/Santiago).", "10-06 18:00:00"),
        ("or try again at 11:05 PM.", "10-05 21:05:00"),
        ("try again at Oct 6th, 2026 10:30 AM.", "10-06 08:30:00"),
        ("try again at 21:30 UTC", "10-05 21:30:00"),
        ("resets 3:30 PM PST", "10-05 22:30:00"),
        ("resets 5am (UTC+2)", "10-06 03:00:00"),
        ("resets tomorrow at 9am", "10-06 07:00:00"),
        ("resets at midnight", "10-05 22:00:00"),
        ("resets at noon", "10-06 10:00:00"),
        ("resets 12am (UTC)", "10-06 00:00:00"),
        ("resets 12pm", "10-06 10:00:00"),
    ],
)
def test_times_of_clocks(text: str, expected: str) -> None:
    """A clock time is the next such time in the stated zone, by default the local one."""
    assert until(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "overloaded_error",
        "Usage limit reached",
        "resets at 5",
        "resets at 25:00",
        "resets at 13pm",
        "resets Feb 31 at 1pm",
        "in 5 minutes the tests were green",
        "line 1760000000",
        "retry-after: soon",
        "",
    ],
)
def test_what_says_no_time(text: str) -> None:
    """An ambiguous number, and an impossible time, are ignored."""
    assert until(text) is None


@pytest.mark.parametrize(
    ("now", "text", "expected"),
    [
        # The clocks went forward on 29 March at 01:00 UTC, back on 25 October.
        (datetime(2026, 3, 28, 20, tzinfo=UTC), "resets 5am", "03-29 03:00:00"),
        (datetime(2026, 3, 28, 20, tzinfo=UTC), "resets 2:30am", "03-29 01:30:00"),
        (datetime(2026, 10, 24, 20, tzinfo=UTC), "resets 5am", "10-25 04:00:00"),
        (datetime(2026, 10, 24, 20, tzinfo=UTC), "resets 2:30am", "10-25 00:30:00"),
        (datetime(2026, 10, 25, 0, 45, tzinfo=UTC), "resets 2:30am", "10-25 01:30:00"),
        (datetime(2026, 12, 31, 22, 30, tzinfo=UTC), "resets 1am", "01-01 00:00:00"),
        (datetime(2026, 12, 30, 12, tzinfo=UTC), "resets Jan 2, 9am", "01-02 08:00:00"),
    ],
)
def test_days_and_clocks_that_change(now: datetime, text: str, expected: str) -> None:
    """Skipped and repeated hours, and the end of a year, are handled."""
    assert until(text, now) == expected


def test_a_zone_that_is_not_known() -> None:
    """A time in an unknown zone is read as local time, with a note."""
    found = reset_in("resets 5am (Mars/Olympus)", moment())
    assert found is not None
    assert f"{found.until:%H:%M}" == "03:00"
    assert found.said.endswith("[zone Mars/Olympus is unknown here: read as local time]")


@pytest.mark.parametrize("local", ["UTC", "Asia/Kolkata", "America/New_York"])
def test_the_zone_that_is_said_counts(local: str) -> None:
    """With a stated zone the place of the loop does not matter."""
    assert until("resets 5am (Europe/Vienna)", local=local) == "10-06 03:00:00"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("resets 9:55pm", None), ("resets 9:49pm", "10-06 19:49:00"), ("resets 10pm", None)],
)
def test_a_time_that_is_just_past(text: str, expected: str | None) -> None:
    """A time a few minutes ago does not mean tomorrow: the server's clock may be behind."""
    assert until(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        f"usage limit reached|{HOUR - 7200}",
        f"usage limit reached|{HOUR + 10 * 365 * 86_400}",
        "usage limit reached|0000000001",
        "try again in 400 days",
        "resets Oct 1, 2026, 5pm",
        "resets 2016-10-05T21:00:00Z",
        "retry-after: 999999999",
    ],
)
def test_times_of_a_wrong_clock(text: str) -> None:
    """A time in the past, or years away, is ignored."""
    assert until(text) is None


def test_a_later_reading_counts_where_the_first_is_absurd() -> None:
    """If the epoch is in the past, the time in the text is used."""
    assert until("limit reached|1000000000, try again in 5m") == "10-05 20:05:00"


@pytest.mark.long
@given(
    text=st.text(max_size=80)
    | st.from_regex(
        r"(resets?|try again|retry-after)[ :|]{1,2}(in |at )?\d{1,13} ?(am|pm|s|h|d|:\d\d)?"
        r"( \((UTC|Europe/Vienna|UTC[+]\d{1,2})\))?",
        fullmatch=True,
    ),
    now=st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2090, 1, 1)),  # noqa: DTZ001
)
def test_no_time_is_past_or_far_away(text: str, now: datetime) -> None:
    """For any text and time: a recognized time is in the future, by weeks at most."""
    at = now.replace(tzinfo=UTC)
    found = reset_in(text, moment(at))
    assert found is None or is_sensible(found.until, at)
    assert found is None or found.until - at <= timedelta(days=AHEAD_DAYS_MAX)


def test_a_long_text_is_read_in_time() -> None:
    """Of an endless text, only a limited part is read."""
    for piece in ("reset ", "retry in 1 1 1 ", "try again at Mon ", "|1"):
        assert until(piece * 200_000) is None
