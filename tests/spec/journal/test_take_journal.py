"""Importing a progress.json: new parts, differences and refusals."""

from copy import deepcopy
from typing import Any

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.journal import events as f
from sprintlog.engine.journal.foreign import remarks, schema_version, take_document
from sprintlog.engine.journal.rules import ReferenceLearning, RetireLearning

from .journaled import AT, Diary

FILE: dict[str, Any] = {
    "version": "1.0",
    "created_at": "2026-01-01T12:00:00+02:00",
    "project_name": "shop",
    "entries": [
        {
            "id": "auth-1",
            "timestamp": "2026-01-02T10:00:00.123456789Z",
            "prd_id": "auth",
            "iteration": 1.0,
            "status": "failed",
            "summary": "",
            "observations": [
                {"type": "finding", "title": "x", "related_learning_id": "learning-0001"}
            ],
            "git_commits": [],
            "context": {"retry_count": 0, "blocker_valid": False},
        }
    ],
    "learnings": [
        {
            "id": "learning-0001",
            "type": "tool-usage",
            "content": "use it",
            "source_prd_id": "auth",
            "source_entry_id": "auth-1",
            "created_at": "2026-01-02T10:00:00Z",
            "times_referenced": 2,
        }
    ],
    "patterns": [
        {
            "id": "pattern-0001",
            "name": "one way",
            "type": "api-pattern",
            "discovered_at": "2026-01-02T10:00:00Z",
        }
    ],
}


def taken(diary: Diary, file: Any) -> list[str]:
    """Import a file; return its differences."""
    found = take_document(diary.document, file)
    diary.happen(*found.events)
    return found.problems


@pytest.fixture
def diary() -> Diary:
    """Return a journal that imported the file."""
    diary = Diary()
    assert taken(diary, FILE) == []
    return diary


def changed(path: str, value: object) -> Any:
    """Return the file with a value somewhere else; None removes it."""
    file = deepcopy(FILE)
    *way, last = path.split(".")
    place: Any = file
    for step in way:
        place = place[int(step) if step.isdigit() else step]
    place[int(last) if last.isdigit() else last] = value
    return file


def test_takes_everything_as_it_came(diary: Diary) -> None:
    """The output equals the input, except for empty fields."""
    expected = deepcopy(FILE)
    entry = expected["entries"][0]
    del entry["summary"], entry["git_commits"], entry["context"]["retry_count"]
    expected["learnings"][0]["still_valid"] = True
    assert diary.data == expected
    assert diary.events[0] == f.JournalOpened(FILE["created_at"], "shop")
    assert list(remarks(diary.document)) == []


def test_takes_the_same_once(diary: Diary) -> None:
    """The same file again adds nothing, and neither does our output of it."""
    assert take_document(diary.document, FILE) == ([], [])
    assert take_document(diary.document, diary.data) == ([], [])


def test_takes_what_came_later(diary: Diary) -> None:
    """A later version adds new entries, references and retirements."""
    later = changed("learnings.0.times_referenced", 5)
    later["learnings"][0]["still_valid"] = False
    later["entries"].insert(0, {**FILE["entries"][0], "id": "auth-2", "iteration": 2})
    assert taken(diary, later) == []
    assert [type(event) for event in diary.events[4:]] == [
        f.EntryRecorded,
        f.LearningReferenced,
        f.LearningRetired,
    ]
    assert diary.data["learnings"][0]["times_referenced"] == 5
    assert [entry["id"] for entry in diary.data["entries"]] == ["auth-1", "auth-2"]
    assert take_document(diary.document, later).events == []


def test_tells_what_differs_and_keeps_what_was_recorded(diary: Diary) -> None:
    """An entry is never replaced, a count never decreases, a file never restarts."""
    diary.do(ReferenceLearning(learning_id="learning-0001"))
    diary.do(RetireLearning(learning_id="learning-0001"))
    other = changed("entries.0.status", "completed")
    other |= {"created_at": AT, "project_name": "other"}
    other["patterns"][0]["name"] = "another way"
    other["learnings"][0]["content"] = "leave it"
    before = diary.data
    problems = taken(diary, other)
    assert diary.data == before
    assert [problem.partition(":")[0] for problem in problems] == [
        "created_at",
        "project_name",
        "entries[0].status",
        "learnings[0].content",
        "learnings[0].times_referenced",
        "learnings[0].still_valid",
        "patterns[0].name",
    ]


def test_takes_ids_that_are_there_twice() -> None:
    """Duplicate ids from another tool are accepted and reported, and matched in order."""
    file = deepcopy(FILE)
    for name in ("entries", "learnings", "patterns"):
        file[name].append(deepcopy(file[name][0]))
    file["learnings"][1]["content"] = "something else"
    diary = Diary()
    assert taken(diary, file) == []
    assert take_document(diary.document, file) == ([], [])
    assert [problem.partition(":")[0] for problem in remarks(diary.document)] == [
        "entries[1].id",
        "learnings[1].id",
        "patterns[1].id",
    ]


def test_reports_what_our_commands_refuse() -> None:
    """Links that lead nowhere and ids by another rule are accepted and reported."""
    file = changed("entries.0.id", "login-07")
    file["entries"][0]["observations"][0]["related_learning_id"] = "learning-0009"
    diary = Diary()
    assert taken(diary, file) == []
    assert list(remarks(diary.document)) == [
        "entries[0].id: login-07 would be auth-1 by PRD and iteration",
        "entries[0].observations[0].related_learning_id: "
        "there is no learning learning-0009",
        "learnings[0].source_entry_id: there is no entry auth-1",
    ]


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("entries.0.timestamp", "0001-01-01T00:00:00Z", "entries[0].timestamp"),
        ("entries.0.prd_id", "", "entries[0].prd_id"),
        ("entries.0.observations.0.title", "", "entries[0].observations[0].title"),
        ("learnings.0.created_at", "soon", "learnings[0].created_at"),
        ("learnings.0.content", "", "learnings[0].content"),
        ("patterns.0.name", "", "patterns[0].name"),
        ("created_at", "0001-01-01T00:00:00Z", "created_at"),
        ("version", "2.0", "version"),
    ],
)
def test_refuses_naming_the_field(path: str, value: object, field: str) -> None:
    """Values that the schema accepts but the structs refuse are refused by their path."""
    with pytest.raises(RefusedError) as refused:
        take_document(Diary().document, changed(path, value))
    assert refused.value.fields["field"] == field
    assert refused.value.message.startswith(f"{field}: ")


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.10", "01.00"])
def test_reads_the_first_generation(version: str) -> None:
    """Versions are compared as numbers: every 1.x is read."""
    assert schema_version(version)[0] == 1


@pytest.mark.parametrize(
    "version", ["0.9", "2.0", "10.0", "1", "2.0.1", "v1.0", "", "1.0\n", "\u0661.\u0660"]
)
def test_refuses_other_generations(version: str) -> None:
    """Older, newer and malformed versions are refused."""
    with pytest.raises(RefusedError, match="version: "):
        schema_version(version)


def test_keeps_fields_of_a_later_version() -> None:
    """Fields of a later 1.x are preserved and written after the known ones."""
    file = changed("version", "1.3")
    file["mood"] = {"today": ["good"]}
    file["entries"][0]["cost"] = 7
    file["entries"][0]["observations"][0]["line"] = 12
    file["entries"][0]["context"]["model"] = "opus"
    file["learnings"][0]["owner"] = None
    file["patterns"][0]["seen"] = 1.5
    diary = Diary()
    assert taken(diary, file) == []
    data = diary.data
    assert (data["version"], data["mood"]) == ("1.3", {"today": ["good"]})
    assert list(data["entries"][0])[-1] == "cost"
    assert data["entries"][0]["observations"][0]["line"] == 12
    assert data["entries"][0]["context"] == {"blocker_valid": False, "model": "opus"}
    assert data["learnings"][0]["owner"] is None
    assert data["patterns"][0]["seen"] == 1.5
    assert take_document(diary.document, data) == ([], [])


def test_is_raised_to_a_later_version(diary: Diary) -> None:
    """A later schema version is adopted with the file; an older one is not."""
    later = {**FILE, "version": "1.2", "mood": "good"}
    assert taken(diary, later) == []
    assert diary.events[-1] == f.JournalRaised("1.2", {"mood": "good"})
    assert taken(diary, FILE) == []
    assert (diary.data["version"], diary.data["mood"]) == ("1.2", "good")
    assert diary.journal.schema == "1.2"
