"""`append` calls the command behind a journal event, so the same rules apply."""

from typing import Any

import pytest

from sprintlog.engine.command import decided
from sprintlog.engine.errors import RefusedError
from sprintlog.engine.journal import events as f
from sprintlog.engine.journal import rules
from sprintlog.engine.journal.rules import command_of, to_event
from sprintlog.engine.log.event import Event

from .journaled import AT, Diary, entry, learned, pattern

ENTRY = {"prd_id": "auth", "status": "failed", "observations": []}
LEARNING = {"type": "tool-usage", "content": "use it", "source_prd_id": "auth"}
PATTERN = {"name": "one way", "type": "api-pattern"}
HISTORY = (f.JournalOpened(AT), f.LearningAdded(learned(id="learning-0001")))

CASES: list[tuple[str, Any, Any, dict[str, Any]]] = [
    ("entry-recorded", {"entry": ENTRY}, rules.RecordEntry,
     {"entry": entry(status="failed")}),
    ("learning-added", {"learning": LEARNING}, rules.AddLearning,
     {"learning": learned()}),
    ("learning-referenced", {"learning_id": "learning-0001", "prd_id": "auth"},
     rules.ReferenceLearning, {"learning_id": "learning-0001", "prd_id": "auth"}),
    ("learning-retired", {"learning_id": "learning-0001", "reason": "x"},
     rules.RetireLearning, {"learning_id": "learning-0001", "reason": "x"}),
    ("pattern-discovered", {"pattern": PATTERN}, rules.DiscoverPattern,
     {"pattern": pattern()}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tag", "data", "rule", "arguments"), CASES, ids=[c[0] for c in CASES]
)
def test_decides_what_the_command_decides(
    tag: str, data: Any, rule: Any, arguments: dict[str, Any]
) -> None:
    """An event given by its type results in the events of its command."""
    diary = Diary().happen(*HISTORY)
    expected = diary.decide(rule(**arguments))
    assert expected
    assert decided(command_of(to_event(tag, data)), diary.journal, AT) == expected


def test_opens_the_journal() -> None:
    """A journal is opened by its event's type, now or at the event's time."""
    for created_at in ("", "2026-01-01T00:00:00Z"):
        data = {
            "project_name": "shop",
            **({"created_at": created_at} if created_at else {}),
        }
        event = to_event("journal-opened", data)
        found = decided(command_of(event), Diary().journal, AT)
        assert found == [f.JournalOpened(created_at or AT, "shop")]


def test_opens_by_the_first_schema_alone() -> None:
    """Only a file can introduce a later version of the schema, not a command."""
    event = to_event("journal-opened", {"version": "1.7"})
    with pytest.raises(RefusedError, match="specify only created_at"):
        decided(command_of(event), Diary().journal, AT)


def test_covers_every_event() -> None:
    """Every event of the journal is tried here, or is only ever caused by a command."""
    tried = {case[0] for case in CASES} | {"journal-opened"}
    assert tried | {"journal-raised", "journal-moved", "journal-corrected"} == {
        event.type for event in f.JOURNAL_EVENTS
    }
    with pytest.raises(RefusedError, match="import journal"):
        decided(command_of(f.JournalRaised("1.1")), Diary().journal, AT)


@pytest.mark.parametrize(
    ("tag", "data", "field"),
    [
        ("entry-recorded", {"entry": {**ENTRY, "mood": "x"}}, "data.entry"),
        ("entry-recorded", {"entry": {**ENTRY, "extra": {}}}, "data.entry"),
        ("entry-recorded", {"entry": {**ENTRY, "context": {"x": 1}}}, "data.entry"),
        ("entry-recorded", {"entry": {**ENTRY, "iteration": "1"}}, "data.entry.iteration"),
        (
            "entry-recorded",
            {"entry": {**ENTRY, "observations": [{"type": "finding"}]}},
            "data.entry.observations[0]",
        ),
        ("entry-recorded", {}, "data"),
        ("learning-added", {"learning": [1]}, "data.learning"),
        ("learning-retired", {"learning_id": 7}, "data.learning_id"),
        ("pattern-discovered", {"pattern": PATTERN, "x": 1}, "data.x"),
        ("pattern-discovered", [], "data"),
    ],
)
def test_refuses_data_naming_the_field(tag: str, data: Any, field: str) -> None:
    """Data that is missing, unknown or of the wrong type is refused by its path."""
    with pytest.raises(RefusedError) as refused:
        to_event(tag, data)
    assert refused.value.fields["field"] == field


def test_no_event_is_ever_voided() -> None:
    """Learnings remain, whatever sprint is rolled back."""
    kinds: list[type[Event]] = list(f.JOURNAL_EVENTS)
    assert {event.kind.value for event in kinds} == {"knowledge"}
