"""The state of a race, the fold of its events, and the order of its attempts."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ..errors import NotFoundError
from ..judging.exact import rounded, shown
from ..judging.score import SCORE_PLACES, Score
from ..log.event import Versioned
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
        if all(one.ended is not None for one in self.attempts.values()):
            return ENDED
        return BUDGET if is_spent else None


def fold(race: Race, events: Iterable[Versioned]) -> Race:
    """Apply the events that follow a race's version, and return the changed race."""
    for version, at, event in events:
        number = getattr(event, "number", None)
        one = race.attempts.get(number) if number is not None else None
        match event:
            case f.RaceStarted():
                race.definition, race.at = event, at
                entrants = enumerate(event.attempts, 1)
                race.attempts = {n: Attempt(n, entrant) for n, entrant in entrants}
            case f.RaceDecided():
                race.decided = event
            case f.AttemptStarted() if one is not None:
                one.started = event
            case f.AttemptEnded() if one is not None:
                one.ended = event
            case f.AttemptApplied() if one is not None:
                one.applied.append(event)
            case f.AttemptRemoved() if one is not None:
                one.removed = event
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


Name = Callable[[int], str]
"""Returns the name of a candidate in the reason, given its number."""
_Key = Callable[[Ranked], Any]


def _unknown_last(value: Any) -> tuple[bool, Any]:
    return value is None, 0 if value is None else value


def _tests_said(one: Ranked) -> str:
    if one.tests_passed is None:
        return "unknown"
    count = "" if one.test_count is None else f"/{one.test_count}"
    return f"{one.tests_passed}{count}"


def _cost_said(one: Ranked) -> str:
    if one.cost_usd is None:
        return "unknown"
    bound = "" if one.is_cost_exact else "at least "
    return bound + dollars(plus(None, one.cost_usd))


def _score_key(one: Ranked) -> tuple[bool, Any]:
    score = None if one.score is None else rounded(Fraction(repr(one.score)), SCORE_PLACES)
    return _unknown_last(None if score is None else -score)


_CRITERIA: tuple[tuple[str, _Key, Callable[[Ranked], str]], ...] = (
    ("score", _score_key, lambda one: _or_unknown(one.score, SCORE_PLACES)),
    (
        "passed tests",
        lambda one: _unknown_last(None if one.tests_passed is None else -one.tests_passed),
        _tests_said,
    ),
    ("cost", lambda one: _unknown_last(one.cost_usd), _cost_said),
    (
        "changed lines",
        lambda one: _unknown_last(one.lines),
        lambda one: _or_unknown(one.lines),
    ),
    (
        "changed files",
        lambda one: _unknown_last(one.files),
        lambda one: _or_unknown(one.files),
    ),
)
"""The criteria after verification: the name, the sort key, and the figure as text."""


def _or_unknown(value: float | None, places: int = 0) -> str:
    return "unknown" if value is None else shown(Fraction(repr(value)), places)


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
    best = sorted(scored, key=lambda one: (not one.is_verified, *_keys(one), one.attempt))
    rest = sorted((x.ranked for x in candidates if x.ranked.why), key=lambda x: x.attempt)
    return Ranking((*best, *rest), _reason(best, rest, name))


def _keys(one: Ranked) -> list[Any]:
    return [key(one) for _, key, _ in _CRITERIA]


def _scored(one: Candidate, common: Iterable[str]) -> Ranked:
    score = one.score
    if score is None:
        return one.ranked
    value = score.value if score.is_given else score.on(frozenset(common))
    return replace(one.ranked, score=None if value is None else float(value))


def _reason(best: Sequence[Ranked], rest: Sequence[Ranked], name: Name) -> str:
    """Return the criterion that decided between the first two, with both figures."""
    if not best:
        why = "; ".join(f"{name(one.attempt)}: {one.why}" for one in rest)
        return f"nothing can win: {why}"
    first, *others = best
    if not others:
        why = "".join(f"; {name(one.attempt)}: {one.why}" for one in rest)
        return f"only {name(first.attempt)} can win{why}"
    second = others[0]
    if first.is_verified != second.is_verified:
        return f"only {name(first.attempt)} is verified"
    for word, key, said in _CRITERIA:
        if key(first) != key(second):
            return f"{word} {said(first)}, against {said(second)} of {name(second.attempt)}"
    return f"equal to {name(second.attempt)} in every figure, and the lower number"


def decision(race: Race, because: str, ranking: Ranking) -> f.RaceDecided:
    """Return the event that records the end of a race."""
    first = ranking.ranked[0] if ranking.ranked else None
    has_winner = first is not None and first.why is None
    return f.RaceDecided(
        because,
        STATUSES[because],
        winner=first.attempt if first is not None and has_winner else None,
        iteration=first.iteration if first is not None and has_winner else None,
        reason=ranking.reason,
        ranking=ranking.ranked,
    )
