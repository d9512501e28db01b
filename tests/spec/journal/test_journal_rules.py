"""The rules for journal entries and their ids."""

from typing import Any

import pytest

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.journal import events as f
from sprintlog.engine.journal.briefing import prepare
from sprintlog.engine.journal.parts import Context
from sprintlog.engine.journal.rules import (
    AddLearning,
    DiscoverPattern,
    OpenJournal,
    RecordEntry,
    ReferenceLearning,
    RetireLearning,
)
from sprintlog.engine.journal.state import entry_id

from .journaled import AT, Diary, entry, learned, noticed, pattern


def test_gives_entries_their_iteration_and_id() -> None:
    """An entry gets the next iteration of its PRD, which determine its id."""
    diary = Diary()
    for prd in ("auth", "Auth Login", "auth"):
        diary.do(RecordEntry(entry=entry(prd)), at=AT)
    found = [(e.id, e.prd_id, e.iteration, e.timestamp) for e in diary.document.entries]
    assert found == [
        ("auth-1", "auth", 1, AT),
        ("auth-login-1", "Auth Login", 1, AT),
        ("auth-2", "auth", 2, AT),
    ]


@pytest.mark.parametrize(
    ("prd_id", "made"),
    [
        ("auth-login", "auth-login-3"),
        ("Auth_Login", "auth-login-3"),
        ("läß/x.y", "l---x-y-3"),
        ("-", "--3"),
    ],
)
def test_entry_ids_fit_their_pattern(prd_id: str, made: str) -> None:
    """The id is in lower case, and every other character becomes a hyphen."""
    assert entry_id(prd_id, 3) == made


def test_counts_on_from_a_given_iteration() -> None:
    """A given iteration is used; the next one follows the highest."""
    diary = Diary()
    for iteration in (2, 0, 5, 1, 0):
        diary.do(RecordEntry(entry=entry(iteration=iteration)), at=AT)
    assert [e.iteration for e in diary.document.entries] == [2, 3, 5, 1, 6]
    assert prepare(diary.document, "auth").iteration == 7


def test_passes_over_iterations_that_foreign_ids_name() -> None:
    """The iteration in another tool's id also counts, so ids are unique."""
    taken = entry(iteration=1, id="auth-4", timestamp=AT)
    diary = Diary().happen(f.JournalOpened(AT), f.EntryRecorded(taken))
    assert prepare(diary.document, "auth").iteration == 5
    diary.do(RecordEntry(entry=entry()), at=AT)
    assert diary.document.entries[-1].id == "auth-5"


def test_refuses_an_entry_that_is_there() -> None:
    """An entry is never replaced: an existing id is refused."""
    diary = Diary().do(RecordEntry(entry=entry("a b")), at=AT)
    error = diary.refusal(RecordEntry(entry=entry("a-b")), at=AT)
    assert error.fields["field"] == "entry.id"
    assert error.message.startswith("entry.id: a-b-1 is already recorded")
    error = diary.refusal(RecordEntry(entry=entry("a b", iteration=1)), at=AT)
    assert error.fields["field"] == "entry.id"


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"prd_id": ""}, "entry.prd_id", "field is required"),
        ({"iteration": -1}, "entry.iteration", "must be >= 1"),
        ({"iteration": 2**63}, "entry.iteration", "must be 0 to"),
        ({"status": "done"}, "entry.status", 'invalid value "done"; allowed: completed'),
        ({"status": ""}, "entry.status", "field is required"),
        ({"duration_seconds": -1}, "entry.duration_seconds", "must be 0 to"),
        ({"timestamp": "yesterday"}, "entry.timestamp", "invalid time 'yesterday'"),
        ({"timestamp": "2026-02-30T10:00:00Z"}, "entry.timestamp", "invalid time"),
        ({"timestamp": "0001-01-01T00:00:00Z"}, "entry.timestamp", "field is required"),
        ({"timestamp": "0001-01-01T00:00:00+05:00"}, "entry.timestamp", "invalid time"),
        ({"id": "mine-1"}, "entry.id", "does not follow from the PRD"),
        (
            {"observations": (noticed("bug"),)},
            "entry.observations[0].type",
            'invalid value "bug"; allowed: blocker, finding, completion',
        ),
        (
            {"observations": (noticed(), noticed(title=""))},
            "entry.observations[1].title",
            "field is required",
        ),
        (
            {"observations": (noticed(category="x"),)},
            "entry.observations[0].category",
            'invalid value "x"',
        ),
        (
            {"observations": (noticed(severity="x"),)},
            "entry.observations[0].severity",
            'invalid value "x"',
        ),
        (
            {"observations": (noticed(action_taken="x"),)},
            "entry.observations[0].action_taken",
            'invalid value "x"',
        ),
        (
            {"observations": (noticed(related_learning_id="learning-0007"),)},
            "entry.observations[0].related_learning_id",
            "there is no learning learning-0007",
        ),
        ({"context": Context(retry_count=-1)}, "entry.context.retry_count", "must be 0"),
        (
            {"context": Context(recovery_action="x")},
            "entry.context.recovery_action",
            'invalid value "x"; allowed: retry, fix-state',
        ),
    ],
)
def test_refuses_entries_naming_the_field(fields: Any, field: str, said: str) -> None:
    """An invalid entry is refused, with its field first."""
    error = Diary().refusal(RecordEntry(entry=entry(**fields)), at=AT)
    assert error.fields["field"] == field
    assert error.message.startswith(f"{field}: ")
    assert said in error.message


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"type": "x"}, "learning.type"),
        ({"content": ""}, "learning.content"),
        ({"source_prd_id": ""}, "learning.source_prd_id"),
        ({"times_referenced": -1}, "learning.times_referenced"),
        ({"created_at": "x"}, "learning.created_at"),
        ({"id": "learning-0002"}, "learning.id"),
        ({"source_entry_id": "auth-9"}, "learning.source_entry_id"),
    ],
)
def test_refuses_learnings_naming_the_field(fields: Any, field: str) -> None:
    """An invalid learning is refused, with its field first."""
    error = Diary().refusal(AddLearning(learning=learned(**fields)), at=AT)
    assert error.fields["field"] == field
    assert error.message.startswith(f"{field}: ")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": ""}, "pattern.name"),
        ({"type": "x"}, "pattern.type"),
        ({"confidence": "x"}, "pattern.confidence"),
        ({"discovered_at": "x"}, "pattern.discovered_at"),
        ({"id": "pattern-0002"}, "pattern.id"),
    ],
)
def test_refuses_patterns_naming_the_field(fields: Any, field: str) -> None:
    """An invalid pattern is refused, with its field first."""
    error = Diary().refusal(DiscoverPattern(pattern=pattern(**fields)), at=AT)
    assert error.fields["field"] == field
    assert error.message.startswith(f"{field}: ")


def test_counts_learnings_and_patterns() -> None:
    """The next id is the highest number ever allotted plus one."""
    diary = Diary().happen(f.LearningAdded(learned(id="learning-0000")))
    assert diary.journal.next_learning_id == "learning-0001"
    for _ in range(2):
        diary.do(AddLearning(learning=learned()), at=AT)
        diary.do(DiscoverPattern(pattern=pattern()), at=AT)
    ids = [learning.id for learning in diary.document.learnings]
    assert ids == ["learning-0000", "learning-0001", "learning-0002"]
    assert diary.journal.next_pattern_id == "pattern-0003"
    diary.happen(f.LearningAdded(learned(id="learning-0100")))
    assert diary.journal.next_learning_id == "learning-0101"


def test_ids_end_at_four_digits() -> None:
    """After learning-9999 the next one is refused before anything is written."""
    diary = Diary().happen(f.LearningAdded(learned(id="learning-9998")))
    diary.do(AddLearning(learning=learned()), at=AT)
    assert diary.document.learnings[-1].id == "learning-9999"
    error = diary.refusal(AddLearning(learning=learned()), at=AT)
    assert error.fields["field"] == "learning.id"
    diary.happen(f.PatternDiscovered(pattern(id="pattern-9999")))
    error = diary.refusal(DiscoverPattern(pattern=pattern()), at=AT)
    assert error.fields["field"] == "pattern.id"


def test_a_learning_and_its_observation_name_each_other() -> None:
    """A learning from an observation sets both ends of the link."""
    diary = Diary().do(
        RecordEntry(entry=entry(observations=(noticed(), noticed(title="y")))), at=AT
    )
    from_it = learned(source_entry_id="auth-1")
    diary.do(AddLearning(learning=from_it, observation=2), at=AT)
    first, second = diary.document.entries[0].observations
    assert (first.related_learning_id, second.related_learning_id) == ("", "learning-0001")
    assert diary.document.learnings[0].source_entry_id == "auth-1"
    for observation, said in ((2, "already has a learning"), (3, "has no observation 3")):
        error = diary.refusal(AddLearning(learning=from_it, observation=observation), at=AT)
        assert said in error.message
        assert error.fields["field"] == "observation"


def test_an_observation_recorded_with_its_learning_is_taken() -> None:
    """An observation may only name an existing learning."""
    diary = Diary().do(AddLearning(learning=learned()), at=AT)
    named = noticed(related_learning_id="learning-0001")
    diary.do(RecordEntry(entry=entry(observations=(named,))), at=AT)
    error = diary.refusal(
        AddLearning(learning=learned(source_entry_id="auth-1"), observation=1), at=AT
    )
    assert "already has a learning" in error.message


def test_counts_references_and_retires() -> None:
    """References are counted; a retired learning stays readable and is used no more."""
    diary = Diary().do(AddLearning(learning=learned()), at=AT)
    for _ in range(2):
        diary.do(ReferenceLearning(learning_id="learning-0001", prd_id="auth"))
    diary.do(RetireLearning(learning_id="learning-0001", reason="gone"))
    learning = diary.document.learning("learning-0001")
    assert learning is not None
    assert (learning.times_referenced, learning.still_valid) == (2, False)
    assert diary.decide(RetireLearning(learning_id="learning-0001")) == []
    error = diary.refusal(ReferenceLearning(learning_id="learning-0001"))
    assert "was retired" in error.message


@pytest.mark.parametrize("rule", [ReferenceLearning, RetireLearning])
def test_refuses_a_learning_that_is_not_there(rule: Any) -> None:
    """An unknown learning is not found."""
    error = Diary().refusal(rule(learning_id="learning-0001"))
    assert isinstance(error, NotFoundError)
    assert error.fields["field"] == "learning"


def test_opens_once() -> None:
    """Opening again changes nothing; a different name is refused."""
    diary = Diary().do(OpenJournal(project_name="shop"))
    assert diary.decide(OpenJournal(project_name="shop")) == []
    error = diary.refusal(OpenJournal(project_name="other"))
    assert error.fields["field"] == "project_name"
