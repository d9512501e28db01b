"""Wrong wall clocks: slow, fast, 1969, 2126, frozen, and all of these in one process."""

import random
import time
from collections.abc import Callable

from sprintlog.engine.log.port import Clock

HOUR = 3_600_000
BEFORE_1970 = -40 * HOUR
IN_2126 = 4_923_000_000_000


def lying_clock(chance: random.Random) -> Clock:
    """Return a clock of some kind; most are right, as in reality."""
    steady = time.time_ns
    now = steady() // 1_000_000
    offset = chance.choice([-400 * 24 * HOUR, -HOUR, 0, HOUR, 400 * 24 * HOUR])
    kinds: list[Clock] = [
        lambda: steady() // 1_000_000,
        lambda: steady() // 1_000_000 + offset,
        lambda: now,
        lambda: BEFORE_1970,
        lambda: IN_2126,
        lambda: chance.choice([BEFORE_1970, now - HOUR, now, now + HOUR, IN_2126]),
    ]
    return chance.choices(kinds, weights=[6, 2, 1, 1, 1, 3])[0]


def install(clock: Clock) -> None:
    """Make this process use the clock; only for a process forked for it."""
    lies: dict[str, Callable[[], float]] = {
        "time_ns": lambda: clock() * 1_000_000,
        "time": lambda: clock() / 1000,
    }
    for name, lie in lies.items():
        setattr(time, name, lie)
