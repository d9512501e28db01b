"""The test data: a plan, and the events of a loop that repeats it."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count, islice
from typing import Any

from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.event import Event
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.engine.sprint.events import (
    ActivitySeen,
    IterationStarted,
    PhaseCompleted,
    PhaseFailed,
    PhaseReopened,
    PhaseRetried,
    PhaseStarted,
    RetryScheduled,
    SprintCompleted,
    SprintReopened,
    SprintStarted,
)

SPRINT = "bench"
STREAM = f"sprint/{SPRINT}"
START = "2026-01-15T09:00:00Z"
PAYLOAD_BYTES = 300
PROMPT_CHARS = 200
PHASES = 100

_BEGIN = 1_768_467_600
_SECONDS_A_EVENT = 30
_PHASES_AN_ITERATION = 10
_FAILURE = 0.1
_PROSE = (
    "add the login form, its tests and the error texts; keep the names: check "
    "every caller, run all suites, note what was left open and why it has to wait until "
    "the schema of users changes (see #42), then commit on the branch of this sprint"
)
_WORDS = _PROSE.split()


def plan(phases: int) -> dict[str, Any]:
    """Return a plan of simple phases with prompts of 200 characters, some in lines."""
    chance = random.Random(7)
    return {
        "goal": "Measure it",
        "phases": [
            {
                "id": address(index),
                "prompt": text(chance, PROMPT_CHARS, lines=index % 4 == 0),
            }
            for index in range(phases)
        ],
    }


def address(index: int) -> str:
    """Return the id of a phase."""
    return f"phase-{index:05d}"


def text(chance: random.Random, chars: int, *, lines: bool = False) -> str:
    """Return prose of exactly that many characters; with `lines`, in several lines."""
    words: list[str] = []
    size = 0
    while size < chars:
        words.append(chance.choice(_WORDS))
        size += len(words[-1]) + 1
    prose = " ".join(words)[:chars].rstrip().ljust(chars, ".")
    if lines:
        return "\n".join(prose[at : at + 59].strip() for at in range(0, chars, 60))
    return prose


def event_of_300_bytes() -> PhaseCompleted:
    """Return an event whose payload has 300 bytes."""
    around = len(b'{"phase":"","summary":""}') + len(address(0))
    return PhaseCompleted(address(0), text(random.Random(7), PAYLOAD_BYTES - around))


def loop(count_of_phases: int = PHASES) -> Iterator[Event]:
    """Yield what a loop over the first phases of a plan does, under our rules."""
    chance = random.Random(7)
    texts = [text(chance, 240) for _ in range(64)]
    numbers = count(1)
    phases = [address(index) for index in range(count_of_phases)]
    yield SprintStarted()
    while True:
        for index, phase in enumerate(phases):
            if index % _PHASES_AN_ITERATION == 0:
                yield IterationStarted(next(numbers))
            if chance.random() < _FAILURE:
                yield PhaseStarted(phase, "haiku")
                yield ActivitySeen()
                yield PhaseFailed(phase, chance.choice(texts), "timeout")
                yield RetryScheduled(phase, START)
                yield PhaseRetried(phase, "the network is back")
            yield PhaseStarted(phase, "sonnet")
            yield ActivitySeen()
            yield PhaseCompleted(phase, chance.choice(texts))
        yield SprintCompleted("all of it is done")
        yield SprintReopened("another round")
        for phase in phases:
            yield PhaseReopened(phase, "another round: its tests were too weak")


def loop_events(events: int) -> Iterator[Event]:
    """Yield the first events of the loop."""
    return islice(loop(), events)


def new_events(events: Iterator[Event]) -> Iterator[NewEvent]:
    """Yield new events, thirty seconds apart."""
    for number, event in enumerate(events):
        yield new_event(event, at=moment(number), actor="agent:bench")


def moment(number: int) -> str:
    """Return the time after a number of events."""
    found = datetime.fromtimestamp(_BEGIN + number * _SECONDS_A_EVENT, UTC)
    return found.isoformat(timespec="seconds").replace("+00:00", "Z")
