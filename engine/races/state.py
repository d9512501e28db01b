"""The state of a race, the fold of its events, and the order of its attempts."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from ..errors import NotFoundError
from ..judging.exact import rounded
from ..judging.score import SCORE_PLACES, Score
from ..log.event import Event, Versioned
from ..usage import dollars, plus
from . import events as f
from .events import Ranked

_STREAM = "race/"
VERIFIED, BUDGET, ENDED = "verified", "budget", "ended"
"""What ended a race: a verified attempt, the shared budget, or the end of all attempts."""
RUNNING, DECIDED = "running", "decided"
STATUSES = {VERIFIED: 0, BUDGET: 25, ENDED: 1}
"""The exit status of a race for each end."""


def race_stream(race_id: str) -> str:
    """Return the name of a race's stream."""
    return _STREAM + race_id


def race_of(stream: str) -> str | None:
    """Return the race that a stream belongs to, or None."""
    return stream.removeprefix(_STREAM) if stream.startswith(_STREAM) else None


class Attempt(msgspec.Struct):
    """An attempt of a race."""

    number: int
    entrant: f.Entrant
    started: f.AttemptStarted | None = None
    ended: f.AttemptEnded | None = None
    applied: list[f.AttemptApplied] = []
    removed: f.AttemptRemoved | None = None

    @property
    def name(self) -> str:
        """Return the name under which the attempt is shown."""
        return self.entrant.name or " ".join(self.entrant.command)

    @property
    def is_open(self) -> bool:
        """Return whether the attempt has started and not ended."""
        return self.started is not None and self.ended is None


class Race(msgspec.Struct):
    """A race at a version of its stream."""

    id: str
    version: int = 0
    at: str = ""
    """The time at which the race was defined."""
    definition: f.RaceStarted | None = None
    attempts: dict[int, Attempt] = {}
    decided: f.RaceDecided | None = None

    @property
    def defined(self) -> f.RaceStarted:
        """Return the definition; raise `NotFoundError` if the race does not exist."""
        if self.definition is None:
            raise NotFoundError(f"there is no race {self.id[:60]}", race=self.id)
        return self.definition

    @property
    def status(self) -> str:
        """Return `running` or `decided`."""
        return RUNNING if self.decided is None else DECIDED

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
    def verified(self) -> list[Attempt]:
        """Return the attempts that are known to have reached the goal."""
        found = self.attempts.values()
        return [one for one in found if one.ended is not None and one.ended.is_verified]

    def ends_by(self, *, is_spent: bool) -> str | None:
        """Return what ends the race now, or None while attempts may go on."""
        if self.verified:
            return VERIFIED
        if is_spent:
            return BUDGET
        is_over = all(one.ended is not None for one in self.attempts.values())
        return ENDED if is_over else None


_TAKES: dict[type[Event], str] = {
    f.AttemptStarted: "started",
    f.AttemptEnded: "ended",
    f.AttemptRemoved: "removed",
}


def fold(race: Race, events: Iterable[Versioned]) -> Race:
    """Apply the events that follow a race's version, and return the changed race."""
    for version, at, event in events:
        number = getattr(event, "number", None)
        one = race.attempts.get(number) if number is not None else None
        if isinstance(event, f.RaceStarted):
            race.definition, race.at = event, at
            entrants = enumerate(event.attempts, 1)
            race.attempts = {n: Attempt(n, entrant) for n, entrant in entrants}
        elif isinstance(event, f.RaceDecided):
            race.decided = event
        elif isinstance(event, f.AttemptApplied) and one is not None:
            one.applied.append(event)
        elif (name := _TAKES.get(type(event))) is not None and one is not None:
            setattr(one, name, event)
        race.version = version
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
    def has_best(self) -> bool:
        """Return whether any candidate can win."""
        return bool(self.ranked) and self.ranked[0].why is None


Name = Callable[[int], str]
"""Returns the name of a candidate in the reason, given its number."""
_CRITERIA = (
    *(("score", "score", -1), ("passed tests", "tests_passed", -1)),
    *(
        ("cost", "cost_usd", 1),
        ("changed lines", "lines", 1),
        ("changed files", "files", 1),
    ),
)
"""The criteria after verification: name, field, and 1 if a lower value is better."""


def _key(one: Ranked) -> list[tuple[bool, float]]:
    """Return the values by which candidates are sorted; unknown values come last."""
    found = ((getattr(one, field), sign) for _, field, sign in _CRITERIA)
    return [(value is None, sign * (value or 0)) for value, sign in found]


def _figure(one: Ranked, field: str) -> str:
    """Return a figure as text."""
    value = getattr(one, field)
    if value is None:
        return "unknown"
    if field == "score":
        return f"{value:.{SCORE_PLACES}f}"
    if field == "cost_usd":
        return ("" if one.is_cost_exact else "at least ") + dollars(plus(None, value))
    is_part = field == "tests_passed" and one.test_count is not None
    return f"{value}/{one.test_count}" if is_part else str(value)


def rank(candidates: Sequence[Candidate], name: Name = "attempt {}".format) -> Ranking:
    """Return the candidates from best to worst, with the reason for the first place.

    Verified candidates come first. Then the scores are compared on the components that all
    candidates have, then the passed tests, the known cost, the size of the change, and the
    number. A candidate with a `why` cannot win and comes last.
    """
    able = [one for one in candidates if one.ranked.why is None]
    scores = [one.score for one in able if one.score is not None and not one.score.is_given]
    common = frozenset.intersection(*(one.components for one in scores)) if scores else ()
    scored = [_scored(one, common) for one in able]
    best = sorted(scored, key=lambda one: (not one.is_verified, _key(one), one.attempt))
    rest = sorted((x.ranked for x in candidates if x.ranked.why), key=lambda x: x.attempt)
    return Ranking((*best, *rest), _reason(best, rest, name))


def _scored(one: Candidate, common: Iterable[str]) -> Ranked:
    score = one.score
    if score is None:
        return one.ranked
    value = score.value if score.is_given else score.on(frozenset(common))
    value = None if value is None else rounded(value, SCORE_PLACES)
    return replace(one.ranked, score=None if value is None else float(value))


def _reason(best: Sequence[Ranked], rest: Sequence[Ranked], name: Name) -> str:
    """Return the criterion that decided between the first two, with both figures."""
    if not best:
        why = "; ".join(f"{name(one.attempt)}: {one.why}" for one in rest)
        return f"nothing can win: {why}"
    first, *others = best
    if first.is_verified and not any(one.is_verified for one in others):
        return f"only {name(first.attempt)} is verified"
    if not others:
        why = "".join(f"; {name(one.attempt)}: {one.why}" for one in rest)
        return f"only {name(first.attempt)} can win{why}"
    second = others[0]
    for at, (word, field, _) in enumerate(_CRITERIA):
        if _key(first)[at] != _key(second)[at]:
            mine, its = _figure(first, field), _figure(second, field)
            return f"{word} {mine}, against {its} of {name(second.attempt)}"
    return f"equal to {name(second.attempt)} in every figure, and listed first"


def decision(because: str, ranking: Ranking) -> f.RaceDecided:
    """Return the event that records the end of a race."""
    first = next((one for one in ranking.ranked if one.why is None), None)
    winner, iteration = (None, None) if first is None else (first.attempt, first.iteration)
    end = because, STATUSES[because], winner, iteration
    return f.RaceDecided(*end, ranking.reason, ranking.ranked)
