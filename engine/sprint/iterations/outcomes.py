"""The history of a loop by iteration: runs, ends, costs, failures, and files."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple, Protocol, Self, TypeVar

from ...errors import NotFoundError
from ...judging import events as judged
from ...judging.tracker import BASELINE_NUMBER, Tracker
from ...log.event import Event
from .. import events as f
from ..state.knowledge import Spent, WorkTree, says_cost
from ..state.sprint import Sprint
from . import run_record, snapshots
from .described import Description

Kind = TypeVar("Kind", bound=Event)

Begun = list[tuple[int, int]]
"""The number and the start version of every iteration ever started, in order."""


class RunSeen(NamedTuple):
    """The properties of an agent run other than its figures."""

    says_cost: bool
    limit: str | None = None
    """The limit that stopped the run, if any."""
    cut_by: str | None = None
    """The reason why the loop ended during the run; `lost` if the loop was killed."""


NO_ITERATION = -1
OUTCOMES = {
    "hung": "completed, hung after its result",
    "limit": "limit",
    "stopped": "stopped by the user",
    "unknown": "outcome unknown",
}
"""The descriptions of outcomes that are not clear from the stored word."""


class RunEnding(NamedTuple):
    """The outcome of an iteration's last run."""

    number: int
    version: int
    """The sprint's version when the iteration started."""
    status: str
    error: str | None
    summary: str | None
    """The agent's summary, or else the last line of output."""
    outcome: str
    """The outcome, as in `AgentRan`."""
    until: str | None = None
    """The time at which the limit expires, if stated."""
    turn: f.TurnFacts | None = None
    """The start and the contents of a turn of an agent session."""

    @classmethod
    def of(cls, number: int, version: int, ran: f.AgentRan, summary: str | None) -> Self:
        """Return the outcome of an iteration, given its last run."""
        how = (ran.status, ran.error, summary or printed(ran), ran.outcome)
        until = ran.limit.until if ran.limit is not None else None
        return cls(number, version, *how, until, ran.turn)

    @property
    def words(self) -> str:
        """Return a description of the outcome."""
        said = OUTCOMES.get(self.outcome, self.outcome)
        said = f"{said} until {self.until}" if self.until else said
        return f"{said}, {self.turn.words}" if self.turn else said


def runs_seen(
    runs: Iterable[tuple[int, str, f.AgentRan]],
    ends: Iterable[tuple[int, str, f.RunEnded]],
    begun: Begun,
) -> dict[int, list[RunSeen]]:
    """Return the agent runs in each iteration, including runs that were cut short."""
    found: list[tuple[int, int, RunSeen]] = []
    for version, _, ran in runs:
        if ran.is_rest:
            continue
        limit = ran.limit.waits_for if ran.limit is not None else None
        seen = RunSeen(says_cost(ran.usage), limit)
        found.append((version, iteration_of(ran, version, begun), seen))
    for version, _, ended in ends:
        if ended.cut_short:
            seen = RunSeen(says_cost=False, cut_by=ended.because)
            found.append((version, last_begun(version, begun), seen))
    by_number: defaultdict[int, list[RunSeen]] = defaultdict(list)
    for _, number, seen in sorted(found):
        by_number[number].append(seen)
    return dict(sorted(by_number.items()))


def iteration_of(ran: f.AgentRan, version: int, begun: Begun) -> int:
    """Return the iteration recorded for a run, or else the latest iteration at the time.

    A turn of a session without an iteration, which was only a question, has `NO_ITERATION`.
    """
    if ran.iteration is None and ran.turn is not None:
        return NO_ITERATION
    return last_begun(version, begun) if ran.iteration is None else ran.iteration


def last_begun(version: int, begun: Begun) -> int:
    """Return the last iteration that was started before a version."""
    at = bisect_right(begun, (version, 0)) - 1
    return begun[at][1] if at >= 0 else BASELINE_NUMBER


def is_lost(seen: RunSeen) -> bool:
    """Return whether a run was killed together with its loop."""
    return seen.cut_by == run_record.LOST


def printed(ran: f.AgentRan) -> str | None:
    """Return the last output line of a command that is not an agent, or None."""
    lines = ran.output.rstrip().rsplit("\n", 1)
    return lines[-1].strip() or None if ran.agent is None else None


class Failure(NamedTuple):
    """A measurement that failed or was retracted."""

    version: int
    at: str
    event: judged.MeasurementFailed | judged.MeasurementRetracted

    @property
    def why(self) -> str:
        """Return why the iteration has no valid measurement."""
        if isinstance(self.event, judged.MeasurementFailed):
            return self.event.error
        return f"its measurement was retracted: {self.event.reason}"


class SprintEvents(Protocol):
    """The events of a sprint that are needed to judge its iterations."""

    def one(self, version: int) -> tuple[str, Event]:
        """Return the time of the event at a version, and the event."""

    def all(self, kind: type[Kind]) -> Iterable[tuple[int, str, Kind]]:
        """Yield the version, the time and the event for every event of a type."""


class LoopHistory:
    """The runs, ends, costs and failures of a sprint's iterations at its version."""

    def __init__(self, sprint: Sprint, events: SprintEvents) -> None:
        self.sprint = sprint
        self._events = events

    @property
    def tracker(self) -> Tracker:
        """Return the sprint's record of measurements."""
        return self.sprint.knowledge.tracker

    @cached_property
    def _begun(self) -> Begun:
        return sorted((at, number) for number, at in self.sprint.knowledge.iterations)

    def failures(self) -> dict[int, Failure]:
        """Return the failures of iterations without a valid measurement, by number."""
        if self.tracker.failed is None and not self.tracker.retracted:
            return {}
        measured = {BASELINE_NUMBER, *self.tracker.numbers()}
        failed = map(Failure._make, self._events.all(judged.MeasurementFailed))
        retracted = map(Failure._make, self._events.all(judged.MeasurementRetracted))
        found = sorted([*failed, *retracted], key=attrgetter("version"))
        return {x.event.number: x for x in found if x.event.number not in measured}

    def unmeasured(self) -> list[RunEnding]:
        """Return the outcomes of iterations that were run but not measured, in order."""
        seen = {*self.tracker.numbers(), *self.failures()}
        left = [(number, at) for at, number in self._begun if number not in seen]
        return self._endings(left) if left else []

    def endings(self) -> dict[int, RunEnding]:
        """Return the outcome of each iteration's last run, measured or not."""
        return {x.number: x for x in self._endings(self.sprint.knowledge.iterations)}

    def _endings(self, iterations: Iterable[tuple[int, int]]) -> list[RunEnding]:
        # A transcript may add tokens without an outcome; an import has one.
        last = {
            iteration_of(ran, at, self._begun): ran
            for at, _, ran in self._events.all(f.AgentRan)
            if not ran.is_rest or ran.found_in is None
        }
        said = self.summaries()
        known = ((n, at, last[n], said.get(n)) for n, at in sorted(iterations) if n in last)
        return [RunEnding.of(*one) for one in known]

    def described(self) -> dict[int, Description]:
        """Return the descriptions of iterations by number.

        Parameters that agents report apply unless a description overrides them.
        """
        found: defaultdict[int, Description] = defaultdict(lambda: Description({}))
        for version, _, ran in self._events.all(f.AgentRan):
            number = iteration_of(ran, version, self._begun)
            found[number] = found[number].with_run(ran)
        for _, _, taken in self._events.all(f.SnapshotTaken):
            if taken.git is not None and taken.purpose == f.OF_ITERATION:
                found[taken.iteration] = found[taken.iteration]._replace(git=taken.git)
        for _, _, ended in self._events.all(f.IterationEnded):
            if ended.git is not None:
                found[ended.number] = found[ended.number]._replace(git=ended.git)
        for _, _, said in self._events.all(judged.IterationDescribed):
            found[said.number] = found[said.number].having(said)
        return {number: one for number, one in found.items() if one != Description({})}

    def summaries(self) -> dict[int, str]:
        """Return the summaries recorded at the end of iterations, by number."""
        ended = self._events.all(f.IterationEnded)
        return {event.number: event.summary for _, _, event in ended if event.summary}

    def claims(self) -> dict[int, str]:
        """Return how the claim of each iteration was decided, by number."""
        claimed = self._events.all(f.GoalClaimed)
        found = {claim.iteration: "claim not verified" for _, _, claim in claimed}
        for _, _, accepted in self._events.all(f.ClaimAccepted) if found else ():
            found[accepted.claim] = f"claim verified: {accepted.reason}"
        for _, _, refused in self._events.all(f.ClaimRefused) if found else ():
            found[refused.claim] = f"claim refused: {refused.reason}"
        return found

    def spent(self) -> dict[int, Spent]:
        """Return the agent usage in each iteration, including discarded iterations.

        If no run was recorded, this is the usage that the measurement reports.
        """
        found: defaultdict[int, Spent] = defaultdict(Spent)
        for version, _, ran in self._events.all(f.AgentRan):
            found[iteration_of(ran, version, self._begun)].add_run(ran)
        for _, _, event in self._events.all(judged.IterationMeasured):
            if event.usage is not None and event.number not in found:
                found[event.number].add(event.usage)
                found[event.number].duration_ms += event.usage.duration_ms or 0
        return dict(found)

    def runs_seen(self) -> dict[int, list[RunSeen]]:
        """Return the agent runs in each iteration, with the limits that stopped them."""
        runs, ends = self._events.all(f.AgentRan), self._events.all(f.RunEnded)
        return runs_seen(runs, ends, self._begun)

    def rollbacks(self) -> list[tuple[int, str, str]]:
        """Return the version, the time and the target of each rollback."""
        return [
            (version, at, f"iteration {number}" if number else "before iteration 1")
            for version, at, back in self._events.all(f.RolledBack)
            if back.undoes is None
            for number in (last_begun(back.to, self._begun),)
        ]

    def has_same_files(self, one: int, other: int) -> bool:
        """Return whether complete snapshots of two iterations contain the same files."""
        where = {
            WorkTree(held.work_tree, (held.worktree,))
            for held in self.sprint.knowledge.snapshots
            if held.purpose == f.OF_ITERATION and held.iteration in (one, other)
        }
        trees = {self._tree(number, tree) for number in (one, other) for tree in where}
        return len(trees) == 1 and None not in trees

    def _tree(self, number: int, work_tree: WorkTree) -> str | None:
        """Return the id of an iteration's file tree; None if its snapshot is incomplete."""
        try:
            held = snapshots.snapshot_of(self.sprint, number, tree=work_tree)
        except NotFoundError:
            return None
        _, taken = self._events.one(held.version)
        is_whole = isinstance(taken, f.SnapshotTaken) and not taken.left_out_count
        return getattr(taken, "tree", None) if is_whole else None
