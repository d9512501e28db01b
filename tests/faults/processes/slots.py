"""A writer's slot: the unanswered commands, and the process that works on them."""

import random
import signal
from collections import deque
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from ..children import Child
from ..ledger import Line
from . import writers

KINDS = {
    writers.COPROCESS: 45,
    writers.LIBRARY: 15,
    writers.COMMAND: 37,
    writers.PROCESS: 3,
}
"""Kinds of writers by how often they are taken, in a hundred."""
STYLES = {"moment": 35, "deaf": 15, "answer": 25, "stop": 15, "none": 10}
"""Ways to die in the same measure; the deaf die unheard, so that all is repeated."""
START_SECONDS = 0.1
"""A fresh interpreter does nothing to the log before."""


class Slot:
    """The slot of one writer."""

    def __init__(self, name: str, sprint: str) -> None:
        self.name = name
        self.sprint = sprint
        self.numbers = count()
        self.again: deque[Line] = deque()
        """Commands that died unanswered and are repeated first."""
        self.flight: deque[Line] = deque()
        """Commands that the process has received but not answered."""
        self.child: Child | None = None
        self.kind = ""
        self.life = 0
        self.left = 0
        """The number of lines that this process is still given."""
        self.deaf = False
        """Whether the process's answers are discarded unread."""
        self.kill_after: int | None = None
        """The number of answers after which the process is killed; None for no limit."""
        self.heard = b""
        self.until = 0.0

    def begin_life(self, chance: random.Random, until: float) -> None:
        """Forget the last process, and choose the kind of the next one."""
        self.kind = chance.choices(list(KINDS), weights=list(KINDS.values()))[0]
        self.life += 1
        self.left = chance.randint(1, writers.LINES_MAX[self.kind])
        self.heard = b""
        self.deaf = False
        self.kill_after = None
        self.until = until

    def next_number(self) -> int:
        """Return the number of the next command that was never asked before."""
        return next(self.numbers)


class Blow(NamedTuple):
    """A signal sent to a process some time after its start."""

    seconds: float
    signal: signal.Signals


def plan_death(slot: Slot, chance: random.Random) -> Iterator[Blow]:
    """Decide how a process ends; yield the required signals."""
    style = chance.choices(list(STYLES), weights=list(STYLES.values()))[0]
    begin = START_SECONDS if slot.kind == writers.PROCESS else 0.0
    if style in ("moment", "deaf"):
        slot.deaf = style == "deaf"
        # Processes whose answers are discarded live longer: the more they record, the more
        # is repeated.
        within = 0.4 if slot.deaf else chance.choice([0.02, 0.1, 0.4])
        yield Blow(begin + chance.uniform(0, within), signal.SIGKILL)
    elif style == "answer":
        slot.kill_after = chance.randint(1, len(slot.flight) + slot.left)
    elif style == "stop":
        stop = begin + chance.uniform(0, 0.2)
        pause = 1.0 if chance.random() < 0.01 else chance.uniform(0.001, 0.2)
        yield Blow(stop, signal.SIGSTOP)
        yield Blow(stop + pause, chance.choice([signal.SIGKILL, signal.SIGCONT]))
        yield Blow(stop + pause + chance.uniform(0, 0.1), signal.SIGKILL)
