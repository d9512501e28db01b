"""A point in time is found by stored blocks, even with clocks that went back."""

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.memory import MemoryLog
from sprintlog.engine.service.streams.points import BLOCK_EVENTS, last_version
from sprintlog.engine.sprint.state.times import from_milliseconds, parse
from tests.kept_states import put_state, saved_states

HOUR = 3_600_000


class CountingLog(MemoryLog):
    """A log that counts the events read from streams, including scans."""

    seen = 0

    def read_stream(self, stream: str, **bounds: Any) -> Any:
        """Return one stream's events, and count them."""
        events = list(super().read_stream(stream, **bounds))
        self.seen += len(events)
        return iter(events)


def log_of(moments: Iterable[str]) -> CountingLog:
    """Return a log with an event at each moment."""
    log = CountingLog(clock=lambda: 0, entropy=bytes)
    events = [
        NewEvent(type="note-added", payload=b"{}", at=at, actor="x") for at in moments
    ]
    for first in range(0, len(events), 10_000):
        log.append("a", events[first : first + 10_000], expect=Expect.ANY)
    return log


def ask(log: CountingLog, moment: str) -> tuple[int, int]:
    """Return the version at a time, and the number of events read."""
    log.seen = 0
    return last_version(log, "a", moment=moment), log.seen


@pytest.mark.parametrize("back", [0, 5 * HOUR, 5_000 * HOUR], ids=str)
def test_it_is_the_last_that_happened_no_later(back: int) -> None:
    """The result equals that of a full read, however far the clock went back."""
    chance = Random(back)
    moments = [n * HOUR + chance.randrange(back + 1) for n in range(3 * BLOCK_EVENTS)]
    log = log_of(map(from_milliseconds, moments))
    for moment in [0, max(moments), *chance.sample(range(max(moments)), 60)]:
        happened = (n for n, at in enumerate(moments, 1) if at <= moment)
        assert ask(log, from_milliseconds(moment))[0] == max(happened, default=0)


def test_moments_are_compared_as_moments() -> None:
    """A longer fraction of a second is not a later moment."""
    moments = ("09:00:00Z", "09:00:00.000Z", "09:00:00.5Z", "09:00:00.500000001Z")
    log = log_of(f"2026-01-15T{moment}" for moment in moments)
    for asked, version in (
        ("2026-01-15T08:59:59.999Z", 0),
        ("2026-01-15T09:00:00Z", 2),
        ("2026-01-15T10:00:00.5+01:00", 4),
    ):
        assert ask(log, asked)[0] == version
        assert parse(asked) >= parse(f"2026-01-15T{moments[version - 1]}") or not version


def test_asked_again_a_long_log_costs_as_much_as_a_short_one() -> None:
    """At most two blocks are read, and otherwise only newer events."""
    for events in (BLOCK_EVENTS, 40 * BLOCK_EVENTS + 7):
        log = log_of(from_milliseconds(n * HOUR) for n in range(events))
        early, middle = (from_milliseconds(n * HOUR) for n in (0, events // 2))
        assert ask(log, middle)[0] == events // 2 + 1
        assert ask(log, early)[1] <= 2 * BLOCK_EVENTS
        assert ask(log, middle)[1] <= 2 * BLOCK_EVENTS


def test_a_damaged_reading_is_read_anew() -> None:
    """Stored data of another history, or with a flipped bit, is rejected."""
    log = log_of(from_milliseconds(n * HOUR) for n in range(2 * BLOCK_EVENTS))
    middle = from_milliseconds(BLOCK_EVENTS * HOUR)
    found = ask(log, middle)
    assert ask(log, middle)[1] < found[1]
    for key, (_, state) in saved_states(log).items():
        put_state(log, key, state[:-1] + bytes([state[-1] ^ 1]))
    assert ask(log, middle) == found
