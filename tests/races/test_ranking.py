"""The pure part of races: the fold, the end of a race, and the order of its attempts."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine import races as f
from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.judging.score import Component, Dimension, Score
from sprintlog.engine.log.codec import encode
from sprintlog.engine.log.event import Event, Versioned
from sprintlog.engine.races import (
    BUDGET,
    ENDED,
    VERIFIED,
    Candidate,
    Race,
    decision,
    fold,
    race_of,
    race_stream,
    rank,
)
from sprintlog.engine.service.streams.catalogue import CODEC

from ..golden.test_streams import FIXTURES, lines, recorded_of

STORED = sorted((FIXTURES / "races").glob("*.jsonl"))
AT = "2026-01-15T09:00:00Z"
TWO = f.RaceStarted("c0ffee", (f.Entrant(("a",)), f.Entrant(("b",), "other")))


def race(*events: Event) -> Race:
    """Return the race after some events."""
    return fold(Race("r"), [(n, AT, event) for n, event in enumerate(events, 1)])


def started(number: int) -> f.AttemptStarted:
    """Return the start of an attempt."""
    return f.AttemptStarted(number, f"r-{number}", f"/x/{number}", "host", "c0ffee")


def scored(**points: int) -> Score:
    """Return a score with one dimension for each component, all of the same weight."""
    parts = [(name, Component(name, Fraction(x))) for name, x in points.items()]
    weight = Fraction(1, 4)
    made = (Dimension(n, weight, (c,), c.points, None, None) for n, c in parts)
    value = Fraction(sum(points.values()), 100 * len(points))
    return Score(value, Fraction(1), tuple(made))


def candidate(attempt: int, score: Score | None = None, **figures: Any) -> Candidate:
    """Return the candidate of an attempt."""
    return Candidate(f.Ranked(attempt, 1, **figures), score)


@pytest.mark.parametrize("stream", STORED, ids=lambda path: path.stem)
def test_stored_races_are_read_and_folded(stream: Path) -> None:
    """A stored race encodes to the same bytes, and folds to its recorded result."""
    found: list[Versioned] = []
    for line in lines(stream):
        recorded = recorded_of(line)
        event = CODEC.decode(recorded)
        assert encode(event) == recorded.payload
        found.append((recorded.version, recorded.at, event))
    known = fold(Race("fix"), found)
    assert known.decided is not None
    assert known.decided.winner == 2
    assert [one.ended and one.ended.status for one in known.attempts.values()] == [26, 0]
    assert known.attempts[2].applied[0].how == "tree"
    assert known.attempts[1].removed is not None


def test_a_race_begins_with_all_of_its_attempts() -> None:
    """The definition names every attempt; a missing race or attempt is an error."""
    known = race(TWO, started(2))
    assert [
        (n, one.name, one.started is not None) for n, one in known.attempts.items()
    ] == [(1, "a", False), (2, "other", True)]
    assert known.sprint_of(2) == "r-2"
    assert (race_of(race_stream("r")), race_of("sprint/r")) == ("r", None)
    with pytest.raises(NotFoundError, match="has no attempt 3: it has attempts 1 to 2"):
        known.attempt(3)
    with pytest.raises(NotFoundError, match="there is no race q"):
        _ = Race("q").defined


ENDED_1 = f.AttemptEnded(1, 20)


@pytest.mark.parametrize(
    ("events", "is_spent", "ends_by"),
    [
        ((), False, None),
        ((ENDED_1,), False, None),
        ((), True, BUDGET),
        ((f.AttemptEnded(2, 0, is_verified=True),), True, VERIFIED),
        ((ENDED_1, f.AttemptEnded(2, 1)), False, ENDED),
    ],
)
def test_a_race_ends_with_a_verified_attempt_the_budget_or_the_last(
    events: tuple[Event, ...], is_spent: bool, ends_by: str | None
) -> None:
    """A verified attempt ends a race, or else the budget, or else the last attempt."""
    assert race(TWO, *events).ends_by(is_spent=is_spent) == ends_by


FULL = scored(tests=100, lint=100)


@pytest.mark.parametrize(
    ("one", "two", "winner", "reason"),
    [
        (
            candidate(1, scored(tests=100)),
            candidate(2, scored(tests=50), is_verified=True),
            2,
            "only attempt 2 is verified",
        ),
        (
            # Attempt 1 has the higher score only because its linter was not run.
            candidate(1, scored(tests=50)),
            candidate(2, scored(tests=60, lint=0)),
            2,
            "score 0.60, against 0.50 of attempt 1",
        ),
        (
            candidate(1, scored(tests=100), tests_passed=3, test_count=3),
            candidate(2, scored(tests=100), tests_passed=4, test_count=4),
            2,
            "passed tests 4/4, against 3/3 of attempt 1",
        ),
        (
            candidate(1, FULL, cost_usd=2.5),
            candidate(2, FULL, cost_usd=1.25, is_cost_exact=False),
            1,
            "cost $2.50, against unknown (at least $1.25) of attempt 2",
        ),
        (
            # Neither cost is known, so the smaller change decides.
            candidate(1, FULL, cost_usd=1.25, is_cost_exact=False, lines=30),
            candidate(2, FULL, cost_usd=2.5, is_cost_exact=False, lines=3),
            2,
            "changed lines 3, against 30 of attempt 1",
        ),
        (
            candidate(1, FULL),
            candidate(2, FULL, cost_usd=9.0),
            2,
            "cost $9.00, against unknown of attempt 1",
        ),
        (
            candidate(1, FULL, lines=30, files=1),
            candidate(2, FULL, lines=3, files=3),
            2,
            "changed lines 3, against 30 of attempt 1",
        ),
        (
            candidate(2, FULL, lines=3, files=3),
            candidate(1, FULL, lines=3, files=3),
            1,
            "equal to attempt 2 in every figure, and listed first",
        ),
        (
            candidate(1, FULL, why="it changed its measure"),
            candidate(2, None),
            2,
            "only attempt 2 can win; attempt 1: it changed its measure",
        ),
    ],
)
def test_the_first_criterion_that_differs_decides(
    one: Candidate, two: Candidate, winner: int, reason: str
) -> None:
    """Verified, score on common components, tests, cost, size and number, in this order."""
    for given in ([one, two], [two, one]):
        found = rank(given)
        assert (found.ranked[0].attempt, found.reason) == (winner, reason)


def test_no_attempt_wins_if_none_can() -> None:
    """Without an eligible attempt, the decision names no winner, and every reason."""
    found = rank([candidate(1, None, why="no snapshot"), candidate(2, None, why="gone")])
    decided = decision(ENDED, found)
    assert (decided.winner, decided.status) == (None, 1)
    assert decided.reason == "nothing can win: attempt 1: no snapshot; attempt 2: gone"
    best = decision(VERIFIED, rank([candidate(1, FULL, is_verified=True)]))
    assert (best.winner, best.iteration, best.status) == (1, 1, 0)
