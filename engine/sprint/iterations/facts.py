"""What another loop says of its iterations, as the events that say it here; pure.

Its numbers may begin anew with each of its runs. Here a number is never given twice, so
one that was given already becomes the next that is free.
"""

from typing import NamedTuple

from ...iterations.events import Usage
from ...log.event import Event
from ..events import (
    AgentRan,
    IterationEnded,
    IterationStarted,
    NoteAdded,
    SprintCompleted,
    SprintStarted,
)
from ..state.sprint import Sprint
from ..state.words import COMPLETED, NOT_STARTED


class Began(NamedTuple):
    """An iteration began."""

    key: str
    """Names the fact within its source."""
    at: str | None
    number: int | None = None
    """The loop's own number."""

    def events(self, sprint: Sprint, open_number: int | None) -> list[Event]:
        """Return the events that say it; a sprint begins with its first iteration."""
        free = sprint.knowledge.iteration_max + 1
        started: list[Event] = [IterationStarted(max(free, self.number or free))]
        if sprint.plan.status == NOT_STARTED:
            return [SprintStarted(), *started]
        return started


class RunSaid(NamedTuple):
    """What is said of the run of an agent; what is not said is absent."""

    status: str
    duration_ms: int | None = None
    output_bytes: int = 0
    output_sha256: str | None = None
    usage: Usage | None = None
    agent: str | None = None
    agent_version: str | None = None
    models: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    tool_calls: int | None = None
    unknown_lines: int = 0
    lines: int = 0
    error: str | None = None
    error_kind: str | None = None


class Ended(NamedTuple):
    """The iteration that was under way ended, with a run of an agent or without."""

    key: str
    at: str | None
    run: RunSaid | None = None
    summary: str | None = None

    def events(self, sprint: Sprint, open_number: int | None) -> list[Event]:
        """Return the events that say it."""
        if open_number is None:
            return []
        ended = IterationEnded(open_number, self.summary)
        if self.run is None:
            return [ended]
        said = self.run._asdict()
        return [AgentRan("", **said, iteration=open_number), ended]


class LoopSaid(NamedTuple):
    """The loop said something."""

    key: str
    at: str | None
    text: str

    def events(self, sprint: Sprint, open_number: int | None) -> list[Event]:
        """Return the events that say it."""
        return [NoteAdded(self.text)]


class LoopOver(NamedTuple):
    """The loop is over, or goes on elsewhere."""

    key: str
    at: str | None
    summary: str

    def events(self, sprint: Sprint, open_number: int | None) -> list[Event]:
        """Return the events that say it; once is enough."""
        if sprint.plan.status == COMPLETED:
            return []
        return [SprintCompleted(self.summary)]


Fact = Began | Ended | LoopSaid | LoopOver
