"""The analyzer's queries, on a journal of 48 entries with all kinds of obstacles.

They are times that tie and go backwards, iterations with gaps, entries without
observations, categories that tie, retired learnings, and PRD names that differ by case.
"""

import pytest

from sprintlog.engine.journal import parts, queries
from sprintlog.engine.journal.document import JournalDocument
from sprintlog.engine.journal.parts import Entry, Observation
from sprintlog.engine.journal.rules import (
    AddLearning,
    DiscoverPattern,
    RecordEntry,
    RetireLearning,
)

from .journaled import Diary, entry, learned, noticed, pattern

PRDS = ("auth", "Auth", "user profile", "search", "bill-ing")


def observations(number: int) -> tuple[Observation, ...]:
    """Return the observations in the entry of a number: none to three."""
    return tuple(
        noticed(
            parts.OBSERVATION_TYPES[(number + index) % 3],
            title=f"{number}.{index}",
            category=("", *parts.CATEGORIES)[(number * 5 + index) % 12],
        )
        for index in range(number // 2 % 4)
    )


def made(number: int) -> Entry:
    """Return the entry with a number; its time ties with others or goes back."""
    return entry(
        PRDS[number * 3 // 2 % 5],
        # Auth and auth would have the same ids, so one of them uses other numbers.
        iteration=100 + 3 * number if PRDS[number * 3 // 2 % 5] == "Auth" else 0,
        status=parts.STATUSES[number % 4],
        timestamp=f"2026-02-{28 - number // 3 % 20:02d}T10:00:00Z",
        observations=observations(number),
    )


@pytest.fixture(scope="module")
def document() -> JournalDocument:
    """Return the journal with its texts."""
    diary = Diary()
    at = "2026-02-01T10:00:00Z"
    for number in range(48):
        diary.do(RecordEntry(entry=made(number)), at=at)
    for number in range(24):
        kind = parts.LEARNING_TYPES[number % 8]
        diary.do(AddLearning(learning=learned(str(number), type=kind)), at=at)
    for number in (1, 5, 9, 13, 24):
        diary.do(RetireLearning(learning_id=f"learning-{number:04d}"))
    for number in range(12):
        kind = parts.PATTERN_TYPES[number % 5]
        certain = parts.CONFIDENCES[number % 3]
        found = pattern(str(number), type=kind, confidence=certain)
        diary.do(DiscoverPattern(pattern=found), at=at)
    return diary.document


def titles(found: list[Observation]) -> list[str]:
    """Return the titles of observations."""
    return [observation.title for observation in found]


def expected(numbers: list[int]) -> list[str]:
    """Return the titles of all that was noticed in the entries of some numbers."""
    return [o.title for number in numbers for o in observations(number)]


@pytest.mark.parametrize("count", [-1, 0, 1, 2, 7, 47, 48, 49, 1000])
def test_recent_observations(document: JournalDocument, count: int) -> None:
    """Recent observations are those of the last entries recorded, not of the latest."""
    last = list(range(48))[48 - count if 0 <= count <= 48 else 48 if count < 0 else 0 :]
    found = queries.recent_observations(document, count)
    assert titles(found) == expected(last)


@pytest.mark.parametrize("prd_id", [*PRDS, "AUTH", ""])
def test_observations_by_prd(document: JournalDocument, prd_id: str) -> None:
    """All observations of a PRD by exactly its id, of every iteration."""
    numbers = [number for number in range(48) if PRDS[number * 3 // 2 % 5] == prd_id]
    assert titles(queries.observations_of(document, prd_id)) == expected(numbers)


def test_blockers(document: JournalDocument) -> None:
    """Every blocker of every entry, including completed ones."""
    blocked = [
        o.title for number in range(48) for o in observations(number) if o.type == "blocker"
    ]
    assert titles(queries.blockers(document)) == blocked
    completed = [e for e in document.entries if e.status == "completed"]
    assert any(o.type == "blocker" for e in completed for o in e.observations)


@pytest.mark.parametrize("type_", [*parts.LEARNING_TYPES, "x"])
def test_learnings_by_type(document: JournalDocument, type_: str) -> None:
    """Learnings of a type, without retired ones."""
    valid = [n for n in range(24) if n + 1 not in (1, 5, 9, 13, 24)]
    expected = [str(n) for n in valid if parts.LEARNING_TYPES[n % 8] == type_]
    found = queries.learnings_of_type(document, type_)
    assert [learning.content for learning in found] == expected


@pytest.mark.parametrize("type_", [*parts.PATTERN_TYPES, "x"])
def test_patterns_by_type(document: JournalDocument, type_: str) -> None:
    """Patterns of a type, with any confidence."""
    expected = [str(n) for n in range(12) if parts.PATTERN_TYPES[n % 5] == type_]
    found = queries.patterns_of_type(document, type_)
    assert [one.name for one in found] == expected


@pytest.mark.parametrize("prd_id", [*PRDS, "AUTH"])
def test_attempts_and_last_entry(document: JournalDocument, prd_id: str) -> None:
    """All entries of a PRD count; the last one is the one recorded last."""
    numbers = [number for number in range(48) if PRDS[number * 3 // 2 % 5] == prd_id]
    assert queries.attempts(document, prd_id) == len(numbers)
    last = queries.last_entry(document, prd_id)
    assert last == (document.entries[numbers[-1]] if numbers else None)


def test_the_last_entry_is_not_the_latest(document: JournalDocument) -> None:
    """Here the entry recorded last is earlier than others of its PRD, and still last."""
    last = queries.last_entry(document, "auth")
    assert last is not None
    assert any(
        other.timestamp > last.timestamp for other in queries.entries_of(document, "auth")
    )


def test_failure_patterns(document: JournalDocument) -> None:
    """Categories are counted over failed and blocked entries, not partial ones."""
    counts: dict[str, int] = {}
    for number in range(48):
        if parts.STATUSES[number % 4] in ("failed", "blocked"):
            for observation in observations(number):
                if observation.category:
                    counts[observation.category] = counts.get(observation.category, 0) + 1
    assert queries.failure_patterns(document) == counts
    assert len(set(counts.values())) < len(counts), "some of them tie"


def test_an_empty_journal_answers_with_nothing() -> None:
    """With an empty journal, every query returns an empty answer."""
    empty = JournalDocument()
    assert queries.recent_observations(empty, 5) == queries.blockers(empty) == []
    assert queries.learnings_of_type(empty, "tool-usage") == []
    assert queries.attempts(empty, "auth") == 0
    assert queries.last_entry(empty, "auth") is None
    assert queries.failure_patterns(empty) == {}
