"""Races: several attempts at the same work, each a sprint in its own worktree.

A race records only what no sprint records: its attempts, its winner, and what became of
the attempts' files. The stream is `race/ID`; `service/driver/race.py` runs the attempts.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from .errors import NotFoundError
from .judging.exact import rounded
from .judging.score import SCORE_PLACES, Score
from .log.event import Event, Kind, Reach, Subject, Versioned, events_of
from .sprint.events.loop import Budgets
from .usage import dollars, plus

_STREAM = "race/"
VERIFIED, BUDGET, ENDED = "verified", "budget", "ended"
"""What ended a race: a verified attempt, the shared budget, or the end of all attempts."""
STATUSES = {VERIFIED: 0, BUDGET: 25, ENDED: 1}
"""The exit status of a race for each end."""


class Entrant(msgspec.Struct, frozen=True, omit_defaults=True):
    """The command of an attempt."""

    command: tuple[str, ...]
    """The agent's command."""
    name: str | None = None
    """The name under which the attempt is shown."""


class Ranked(msgspec.Struct, frozen=True, omit_defaults=True):
    """An attempt in the order of a race's result; unknown figures are absent."""

    attempt: int
    """The number of the attempt."""
    iteration: int | None = None
    """The iteration that represents the attempt; null if it has no snapshot."""
    is_verified: bool = False
    """Whether a measurement confirms that the iteration reached the goal."""
    score: float | None = None
    """The score on the components that all compared attempts have."""
    measured_share: float | None = None
    """The share of the formula's weight that was measured."""
    tests_passed: int | None = None
    """The number of passed tests."""
    test_count: int | None = None
    """The number of tests."""
    cost_usd: float | None = None
    """The known cost of the attempt in US dollars."""
    is_cost_exact: bool = True
    """Whether the cost of every agent run is known."""
    files: int | None = None
    """The number of files that differ from the commit."""
    lines: int | None = None
    """The number of added and removed lines."""
    why: str | None = None
    """Why the attempt cannot win, if it cannot."""


class RaceEvent(Event, frozen=True):
    """An event of a race; rollbacks of sprints do not affect it."""

    kind = Kind.KNOWLEDGE
    subject = Subject("race")
    reach = Reach.NOTHING
    is_quiet = True


class RaceStarted(RaceEvent, frozen=True):
    """A race was defined."""

    stays = ("commit", "copies", "work_tree")
    only_caused = "`sprintlog race start` records it"
    commit: str
    """The commit from which every attempt starts."""
    attempts: tuple[Entrant, ...]
    """The attempts, in the order of their numbers."""
    options: tuple[str, ...] = ()
    """The options with which `sprintlog run` drives each attempt."""
    budgets: Budgets = Budgets()
    """The limits for all attempts together."""
    parallel: int = 1
    """The maximum number of attempts that one process runs at the same time."""
    prepare: str | None = None
    """The shell command that is run first in each worktree."""
    copies: tuple[str, ...] = ()
    """The paths that are copied from the work tree into each worktree."""
    work_tree: str | None = None
    """The id of the work tree in which the race was started."""


class AboutAttempt(RaceEvent, frozen=True):
    """An event about one attempt of a race."""

    subject = Subject("attempt", ("number",))
    number: int
    """The number of the attempt, from 1."""


class AttemptStarted(AboutAttempt, frozen=True):
    """An attempt was assigned to a worktree, which is created afterwards."""

    stays = ("sprint", "path", "host", "commit")
    only_caused = "`race start` and `race join` record it"
    sprint: str
    """The sprint of the attempt."""
    path: str
    """The worktree's path on its host."""
    host: str
    """The host name of the machine."""
    commit: str
    """The commit that the worktree contains at the start."""


class AttemptEnded(AboutAttempt, frozen=True):
    """An attempt ended, and is not continued."""

    only_caused = "the process that runs the attempt records it"
    status: int | None = None
    """The exit status of `sprintlog run`; null if unknown."""
    reason: str | None = None
    """Why the attempt ended."""
    is_verified: bool = False
    """Whether a measurement confirms that the goal was reached."""
    iteration: int | None = None
    """The iteration that represents the attempt; null if it has none."""
    files: int | None = None
    """The number of files of the iteration that differ from the attempt's start."""
    lines: int | None = None
    """The number of added and removed lines."""


class RaceDecided(RaceEvent, frozen=True):
    """A race ended with a winner, or without one."""

    stays = ("because",)
    subject = Subject("race", ("because",))
    only_caused = "the process that records the end of the last attempt records it"
    because: str
    """What ended the race: `verified`, `budget`, `stopped`, or `ended` for all attempts."""
    status: int
    """The exit status of the race."""
    winner: int | None = None
    """The attempt that won; null if no attempt can win."""
    iteration: int | None = None
    """The winner's iteration."""
    reason: str | None = None
    """The criterion that decided, with the figures of the best two attempts."""
    ranking: tuple[Ranked, ...] = ()
    """All attempts, the best first."""


class AttemptApplied(AboutAttempt, frozen=True):
    """The files of an attempt were handed over."""

    stays = ("how",)
    only_caused = "the command that applies an attempt records it"
    iteration: int
    """The iteration whose files they are."""
    how: str
    """`tree`, `branch` or `patch`."""
    place: str = ""
    """The work tree, the name of the branch, or the path of the patch."""


class AttemptRemoved(AboutAttempt, frozen=True):
    """The worktree of an attempt is removed; its files are in a snapshot."""

    stays = ("snapshot", "path")
    only_caused = "the command that removes a worktree records it before"
    path: str
    """The worktree's path."""
    snapshot: str | None = None
    """The snapshot of its files; null if the worktree no longer existed."""


RACE_EVENTS = events_of(__name__)


def race_stream(race_id: str) -> str:
    """Return the name of a race's stream."""
    return _STREAM + race_id


def race_of(stream: str) -> str | None:
    """Return the race that a stream belongs to, or None."""
    return stream.removeprefix(_STREAM) if stream.startswith(_STREAM) else None


class Attempt(msgspec.Struct):
    """An attempt of a race."""

    number: int
    entrant: Entrant
    started: AttemptStarted | None = None
    ended: AttemptEnded | None = None
    applied: list[AttemptApplied] = []
    removed: AttemptRemoved | None = None

    @property
    def name(self) -> str:
        """Return the name under which the attempt is shown."""
        return self.entrant.name or " ".join(self.entrant.command)


class Race(msgspec.Struct):
    """A race at a version of its stream."""

    id: str
    version: int = 0
    at: str = ""
    """The time at which the race was defined."""
    definition: RaceStarted | None = None
    attempts: dict[int, Attempt] = {}
    decided: RaceDecided | None = None

    @property
    def defined(self) -> RaceStarted:
        """Return the definition; raise `NotFoundError` if the race does not exist."""
        if self.definition is None:
            raise NotFoundError(f"there is no race {self.id[:60]}", race=self.id)
        return self.definition

    def attempt(self, number: int) -> Attempt:
        """Return an attempt; raise `NotFoundError` if the race has no such attempt."""
        if number not in self.attempts:
            raise NotFoundError(
                f"race {self.id} has no attempt {number}: it has attempts 1 to "
                f"{len(self.attempts)}",
                race=self.id,
            )
        return self.attempts[number]

    def sprint_of(self, number: int) -> str:
        """Return the sprint of an attempt, which need not exist yet."""
        return f"{self.id}-{number}"

    @property
    def verified(self) -> list[int]:
        """Return the attempts that are known to have reached the goal."""
        found = self.attempts.items()
        return [n for n, one in found if one.ended is not None and one.ended.is_verified]

    def ends_by(self, *, is_spent: bool) -> str | None:
        """Return what ends the race now, or None while attempts may go on."""
        is_over = all(one.ended is not None for one in self.attempts.values())
        return (
            VERIFIED
            if self.verified
            else BUDGET
            if is_spent
            else ENDED
            if is_over
            else None
        )


def fold(race: Race, events: Iterable[Versioned]) -> Race:
    """Apply the events that follow a race's version, and return the changed race."""
    for race.version, at, event in events:
        if isinstance(event, RaceStarted):
            race.definition, race.at = event, at
            race.attempts = {n: Attempt(n, x) for n, x in enumerate(event.attempts, 1)}
        elif isinstance(event, RaceDecided):
            race.decided = event
        elif isinstance(event, AboutAttempt) and event.number in race.attempts:
            one = race.attempts[event.number]
            if isinstance(event, AttemptStarted):
                one.started = event
            elif isinstance(event, AttemptEnded):
                one.ended = event
            elif isinstance(event, AttemptRemoved):
                one.removed = event
            elif isinstance(event, AttemptApplied):
                one.applied.append(event)
    return race


class Candidate(NamedTuple):
    """The iteration that represents an attempt, or any sprint, in a comparison."""

    ranked: Ranked
    score: Score | None = None


class Ranking(NamedTuple):
    """Candidates from best to worst, and why the first precedes the second."""

    ranked: tuple[Ranked, ...]
    reason: str

    @property
    def best(self) -> Ranked | None:
        """Return the first candidate, unless it cannot win."""
        return next((one for one in self.ranked if one.why is None), None)


Name = Callable[[int], str]
"""Returns the name of a candidate in the reason, given its number."""


_CRITERIA = (
    ("score", "score", -1),
    ("passed tests", "tests_passed", -1),
    ("cost", "cost_usd", 1),
    ("changed lines", "lines", 1),
    ("changed files", "files", 1),
)
"""The criteria after verification: name, field, and 1 if a lower value is better."""


def _key(one: Ranked) -> list[tuple[bool, float]]:
    """Return the values by which candidates are sorted; unknown values come last.

    A cost without that of some agent runs is unknown.
    """
    known = one if one.is_cost_exact else replace(one, cost_usd=None)
    found = ((getattr(known, field), sign) for _, field, sign in _CRITERIA)
    return [(value is None, sign * (value or 0)) for value, sign in found]


def _figure(one: Ranked, field: str) -> str:
    """Return a figure as text."""
    value = getattr(one, field)
    if value is None:
        return "unknown"
    if field == "score":
        return f"{value:.{SCORE_PLACES}f}"
    if field == "cost_usd":
        cost = dollars(plus(None, value))
        return cost if one.is_cost_exact else f"unknown (at least {cost})"
    is_part = field == "tests_passed" and one.test_count is not None
    return f"{value}/{one.test_count}" if is_part else str(value)


def rank(candidates: Sequence[Candidate], name: Name = "attempt {}".format) -> Ranking:
    """Return the candidates from best to worst, with the reason for the first place.

    Verified candidates come first. Then the scores are compared on the components that all
    candidates have, then the passed tests, the cost, the size of the change, and the
    number. A candidate with a `why` cannot win and comes last.
    """
    able = [one for one in candidates if one.ranked.why is None]
    scores = [one.score for one in able if one.score is not None and not one.score.is_given]
    common = frozenset.intersection(*(one.components for one in scores)) if scores else ()
    scored = [_scored(one, frozenset(common)) for one in able]
    best = sorted(scored, key=lambda one: (not one.is_verified, _key(one), one.attempt))
    rest = sorted((x.ranked for x in candidates if x.ranked.why), key=lambda x: x.attempt)
    return Ranking((*best, *rest), _reason(best, rest, name))


def _scored(one: Candidate, common: frozenset[str]) -> Ranked:
    if one.score is None:
        return one.ranked
    value = one.score.value if one.score.is_given else one.score.on(common)
    known = None if value is None else float(rounded(value, SCORE_PLACES))
    return replace(one.ranked, score=known)


def _reason(best: Sequence[Ranked], rest: Sequence[Ranked], name: Name) -> str:
    """Return the criterion that decided between the first two, with both figures."""
    why = "; ".join(f"{name(one.attempt)}: {one.why}" for one in rest)
    if not best:
        return f"nothing can win: {why}"
    first, second = best[0], best[1] if best[1:] else None
    if first.is_verified and not (second and second.is_verified):
        return f"only {name(first.attempt)} is verified"
    if second is None:
        return f"only {name(first.attempt)} can win" + (why and f"; {why}")
    for (word, field, _), here, there in zip(
        _CRITERIA, _key(first), _key(second), strict=True
    ):
        if here != there:
            mine, its = _figure(first, field), _figure(second, field)
            return f"{word} {mine}, against {its} of {name(second.attempt)}"
    return f"equal to {name(second.attempt)} in every figure, and listed first"


def decision(because: str, ranking: Ranking) -> RaceDecided:
    """Return the event that records the end of a race."""
    first, status = ranking.best, STATUSES[because]
    winner, iteration = (None, None) if first is None else (first.attempt, first.iteration)
    found = ranking.reason, ranking.ranked
    return RaceDecided(because, status, winner, iteration, *found)
