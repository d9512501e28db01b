"""Facts about another loop's iterations, and the pure functions that turn them into events.

The other loop may number the iterations of each run from 1. Here, numbers are unique: a
number that is already used is replaced by the next free number.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from ...log.event import Event
from ...usage import Usage
from .. import events as e
from ..state.sprint import Sprint
from ..state.words import COMPLETED, NOT_STARTED
from . import measurement as m
from . import session_runs


class Began(NamedTuple):
    """An iteration started."""

    key: str
    """The key of the fact within its source."""
    at: str | None
    number: int | None = None
    """The loop's own number for the iteration."""

    def events(self, sprint: Sprint, open_number: int | None) -> list[Event]:
        """Return the events that record this fact; the first iteration starts the sprint.

        A completed sprint is reopened.
        """
        free = sprint.knowledge.iteration_max + 1
        number = max(free, self.number or free)
        started: list[Event] = [e.IterationStarted(number, is_wrapped=True)]
        if sprint.plan.status == NOT_STARTED:
            return [e.SprintStarted(), *started]
        if sprint.plan.status == COMPLETED:
            return [e.SprintReopened("the loop went on"), *started]
        return started


class Ended(NamedTuple):
    """The current iteration ended, with or without a run of an agent."""

    key: str
    at: str | None
    run: e.AgentRan | None = None
    summary: str | None = None

    def events(
        self, sprint: Sprint, open_number: int | None, before: Sequence[e.AgentRan] = ()
    ) -> list[Event]:
        """Return the events that record this fact, omitting parts recorded in `before`."""
        if open_number is None:
            return []
        if self.run is None:
            return [e.IterationEnded(open_number, self.summary)]
        ran = replace(self.run, iteration=open_number)
        return session_runs.session_ended(sprint, ran, before=before, summary=self.summary)


class Baseline(NamedTuple):
    """The measurement before the first iteration."""

    key: str
    at: str | None
    metrics: dict[str, Any]

    def events(self, sprint: Sprint, open_number: int | None) -> list[Event]:
        """Return the events that record this fact; empty if anything was ever measured."""
        if not sprint.knowledge.tracker.lacks_baseline:
            return []
        return m.CaptureBaseline(self.metrics).decide(sprint, self.at or "")


class MeasurementSaid(NamedTuple):
    """The result of the last started iteration was measured."""

    key: str
    at: str | None
    metrics: dict[str, Any]
    score: float | None = None
    usage: Usage | None = None

    def events(self, sprint: Sprint, open_number: int | None) -> list[Event]:
        """Return the events that record this fact; empty if the iteration is measured."""
        if open_number is None or sprint.knowledge.tracker.entry(open_number) is not None:
            return []
        command = m.MeasureIteration(
            self.metrics, open_number, self.score, usage=self.usage
        )
        return command.decide(sprint, self.at or "")


class LoopSaid(NamedTuple):
    """The loop printed a message."""

    key: str
    at: str | None
    text: str

    def events(self, sprint: Sprint, open_number: int | None) -> list[Event]:
        """Return the events that record this fact."""
        return [e.NoteAdded(self.text)]


class LoopOver(NamedTuple):
    """The loop reported that it has ended."""

    key: str
    at: str | None
    summary: str

    def events(self, sprint: Sprint, open_number: int | None) -> list[Event]:
        """Return the events that record this fact, unless it is already recorded."""
        if sprint.plan.status == COMPLETED:
            return []
        started = [e.SprintStarted()] if sprint.plan.status == NOT_STARTED else []
        return [*started, e.SprintCompleted(self.summary)]


Fact = Began | Ended | Baseline | MeasurementSaid | LoopSaid | LoopOver


def run_of(outcome: str, **figures: Any) -> e.AgentRan:
    """Return the run of an iteration's agent, as reported by another loop."""
    return e.AgentRan("", outcome, **figures)


def decision_on(
    fact: Fact, number: int | None, runs: Callable[[], Iterable[e.AgentRan]]
) -> Callable[[Sprint, str], list[Event]]:
    """Return a function that decides which events record a fact about an iteration.

    If the fact is the end of an iteration that has already ended, the function returns only
    the parts that the iteration's recorded `runs` do not contain yet.
    """

    def decide(sprint: Sprint, at: str) -> list[Event]:
        last = sprint.plan.last.iteration
        is_open = isinstance(last, e.IterationStarted) and last.number == number
        if is_open or not isinstance(fact, Ended):
            return fact.events(sprint, number)
        before = [ran for ran in runs() if ran.iteration == number]
        return fact.events(sprint, number, before)

    return decide
