"""Long random histories with near and far rollbacks, and the cost of reading them."""

import random
from collections.abc import Iterator
from typing import Any

from sprintlog.engine.log.event import Event
from sprintlog.engine.log.port import Page
from sprintlog.engine.log.stores.memory import MemoryLog
from sprintlog.engine.service.streams.catalogue import SPRINTS, new_event, sprint_stream
from sprintlog.engine.service.streams.repository import Repository
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.state.effective_history import effective_ranges
from sprintlog.engine.sprint.state.sprint import Sprint

STREAM = sprint_stream("s")
AT = "2026-01-15T09:00:00Z"
PLAN = {"goal": "x", "phases": [{"id": f"p{n}", "prompt": "x"} for n in range(3)]}


class CountingLog(MemoryLog):
    """A log that counts the events that folds have read."""

    folded = 0

    def scan(self, stream: str, **bounds: Any) -> Iterator[Page]:
        """Yield the data for a fold, and count it."""
        for page in super().scan(stream, **bounds):
            self.folded += len(page.rows) if bounds.get("only") is None else 0
            yield page


class Branching:
    """A stream with appends and rollbacks; after each append, its state may be saved."""

    def __init__(self) -> None:
        self.log = CountingLog(clock=lambda: 0, entropy=bytes)
        self.repository = self.reader()
        self.rollbacks: list[tuple[int, int]] = []
        self.iteration = 0
        self.add(*CreateSprint(plan=PLAN).decide(Sprint("s"), AT))

    @property
    def head(self) -> int:
        """Return the last version."""
        return self.log.version(STREAM)

    def reader(self) -> Repository[Sprint]:
        """Return a repository like that of a new process."""
        return Repository(self.log, SPRINTS, self.log.checkpoints)

    def add(self, *events: Event) -> None:
        """Append events together."""
        new_events = [new_event(event, at=AT, actor="runtime") for event in events]
        self.log.append(STREAM, new_events, expect=self.head)

    def work(self, events: int, chance: random.Random) -> None:
        """Append some events, and save the state after each as after a command."""
        for _ in range(events):
            phase = f"p{chance.randrange(3)}"
            self.iteration += 1
            iteration = f.IterationStarted(self.iteration, phase=phase)
            phases = f.PhaseStarted(phase), f.PhaseReopened(phase)
            self.add(chance.choice([*phases, f.NoteAdded("x"), iteration]))
            self.repository.save(self.repository.current("s"))

    def go_back(self, to: int, *, saving: bool = True) -> None:
        """Append a rollback."""
        self.add(f.RolledBack(to))
        self.rollbacks.append((self.head, to))
        if saving:
            self.repository.save(self.repository.current("s"))

    def live(self, events: int, chance: random.Random, *, far: float) -> None:
        """Append about a number of events, with near and, `far` as often, far rollbacks."""
        while self.head < events:
            self.work(chance.randrange(1, 60), chance)
            reach = self.head if chance.random() < far else 40
            if chance.random() < 0.2 and self.rollbacks:
                # After an undo, the path is the same as before one of the last rollbacks.
                self.go_back(chance.choice(self.rollbacks[-3:])[0] - 1)
            elif chance.random() < 0.5:
                self.go_back(max(1, self.head - chance.randrange(1, reach)))

    def path(self, version: int) -> list[tuple[int, int]]:
        """Return the path to a version."""
        return effective_ranges([r for r in self.rollbacks if r[0] <= version], version)
