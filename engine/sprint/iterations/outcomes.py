"""Runs of agents, rollbacks and failed measurements, by iteration."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from operator import attrgetter
from typing import NamedTuple

from ...judging.events import IterationMeasured, MeasurementFailed, MeasurementRetracted
from ...judging.tracker import BASELINE_NUMBER
from ..events import AgentRan, RolledBack, RunEnded
from ..state.knowledge import Spent, says_cost
from .run_record import LOST

Begun = list[tuple[int, int]]
"""Every iteration ever begun: the version that began it, and its number; in order."""


class RunSeen(NamedTuple):
    """The properties of a run besides its figures."""

    says_cost: bool
    limit: str | None = None
    """The limit that stopped it, if any."""
    cut_by: str | None = None
    """Because of what its loop ended meanwhile: `lost` for one that was killed."""


OUTCOMES = {
    "hung": "completed, hung after its result",
    "limit": "limit",
    "stopped": "stopped by the user",
    "unknown": "outcome unknown",
}
"""The outcomes of runs whose word is not enough for people."""


class RunEnding(NamedTuple):
    """An iteration, and how its last run ended."""

    number: int
    version: int
    """That of the sprint when it began."""
    status: str
    error: str | None
    summary: str | None
    """The agent's summary, else the last line of output."""
    outcome: str
    """As of `AgentRan`."""
    until: str | None = None
    """When the limit expires, if it was stated."""

    @property
    def words(self) -> str:
        """Return how it ended, in words."""
        said = OUTCOMES.get(self.outcome, self.outcome)
        return f"{said} until {self.until}" if self.until else said


def runs_seen(
    runs: Iterable[tuple[int, str, AgentRan]],
    ends: Iterable[tuple[int, str, RunEnded]],
    begun: Begun,
) -> dict[int, list[RunSeen]]:
    """Return the runs of agents in each iteration, those that were cut short among them."""
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


def spent_by_iteration(
    runs: Iterable[tuple[int, str, AgentRan]],
    measured: Iterable[tuple[int, str, IterationMeasured]],
    begun: Begun,
) -> dict[int, Spent]:
    """Return what agents took in each iteration; without a run, what was measured of it."""
    found: defaultdict[int, Spent] = defaultdict(Spent)
    for version, _, ran in runs:
        found[iteration_of(ran, version, begun)].add_run(ran)
    for _, _, event in measured:
        if event.usage is not None and event.number not in found:
            found[event.number].add(event.usage)
            found[event.number].duration_ms += event.usage.duration_ms or 0
    return dict(found)


def iteration_of(ran: AgentRan, version: int, begun: Begun) -> int:
    """Return the iteration of a run: the recorded one, else the latest at that time."""
    return last_begun(version, begun) if ran.iteration is None else ran.iteration


def endings(
    left: Iterable[tuple[int, int]],
    runs: Iterable[tuple[int, str, AgentRan]],
    begun: Begun,
    said: Mapping[int, str],
) -> list[RunEnding]:
    """Return those of the iterations `left` that have a run, in their order."""
    # A transcript may add tokens without an outcome; an import has one.
    last = {
        iteration_of(ran, at, begun): ran
        for at, _, ran in runs
        if not ran.is_rest or ran.found_in is None
    }
    return [
        RunEnding(
            *(number, at, ran.status, ran.error, said.get(number) or printed(ran)),
            *(ran.outcome, ran.limit.until if ran.limit is not None else None),
        )
        for number, at in sorted(left)
        if (ran := last.get(number)) is not None
    ]


def rollbacks(
    found: Iterable[tuple[int, str, RolledBack]], begun: Begun
) -> list[tuple[int, str, str]]:
    """Return version and time of each rollback, and in words where it went."""
    return [
        (version, at, f"iteration {number}" if number else "before iteration 1")
        for version, at, back in found
        if back.undoes is None
        for number in (last_begun(back.to, begun),)
    ]


def last_begun(version: int, begun: Begun) -> int:
    """Return the iteration that was begun last at a version."""
    at = bisect_right(begun, (version, 0)) - 1
    return begun[at][1] if at >= 0 else BASELINE_NUMBER


def is_lost(seen: RunSeen) -> bool:
    """Return whether a run was killed together with its loop."""
    return seen.cut_by == LOST


def printed(ran: AgentRan) -> str | None:
    """Return the last line of output of a command that is not an agent, or None."""
    lines = ran.output.rstrip().rsplit("\n", 1)
    return lines[-1].strip() or None if ran.agent is None else None


class Failure(NamedTuple):
    """A measurement that failed or was retracted."""

    version: int
    at: str
    event: MeasurementFailed | MeasurementRetracted

    @property
    def why(self) -> str:
        """Return why there is none that counts."""
        if isinstance(self.event, MeasurementFailed):
            return self.event.error
        return f"its measurement was retracted: {self.event.reason}"


def failures(
    failed: Iterable[tuple[int, str, MeasurementFailed]],
    retracted: Iterable[tuple[int, str, MeasurementRetracted]],
    measured: Collection[int],
) -> dict[int, Failure]:
    """Return the last failure of each iteration that is not `measured`."""
    events = [*map(Failure._make, failed), *map(Failure._make, retracted)]
    return {
        one.event.number: one
        for one in sorted(events, key=attrgetter("version"))
        if one.event.number not in measured and one.event.number != BASELINE_NUMBER
    }
