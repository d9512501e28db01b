"""Import of a progress.txt: its parsed parts, and the complete text."""

from typing import Any

import pytest

from sprintlog.engine.journal import events as f
from sprintlog.engine.journal.progress_text import (
    CONTEXT,
    LEGACY,
    TakeText,
    came_from,
    parse_text,
)

from .journaled import AT, Diary

TEXT = """\
# Ralph Progress Log
Started: Tue Feb 17 06:48:31 JST 2026

## Codebase Patterns
- Run tests: `make test`
- Handlers live in `app/`
  and call services

---

## [2026-02-17 06:57:07 JST] - US-001
Thread: https://example.org/1
- Made the login work
- Added a form
- Files changed: `app/login.py`, tests/test_login.py (new), 2 more files
- **Learnings for future iterations:**
  - Gotchas encountered: URLs end with a slash
  - Keys are read once
---
## 2026-02-18 - US-002: Log out (blocked)
- Waits for a key

**Learnings:**
- Keys are read once
"""


def taken(diary: Diary, text: str) -> list[Any]:
    """Import a text; return the resulting events."""
    decided = TakeText(text, diary.document).decide(diary.journal, AT)
    diary.happen(*decided)
    return decided


def test_takes_entries_learnings_and_patterns() -> None:
    """Parts in the known format become parts of the journal, each with its time."""
    diary = Diary()
    taken(diary, TEXT)
    entries = [
        (e.id, e.timestamp, e.status, e.summary, e.files_modified)
        for e in diary.document.entries
    ]
    files = ("app/login.py", "tests/test_login.py")
    assert entries == [
        (
            "us-001-1",
            "2026-02-17T06:57:07+09:00",
            "completed",
            "Made the login work",
            files,
        ),
        (
            "us-002-1",
            "2026-02-18T00:00:00Z",
            "blocked",
            "Log out (blocked): Waits for a key",
            (),
        ),
    ]
    learned = [(x.type, x.content, x.source_entry_id) for x in diary.document.learnings[1:]]
    assert learned == [
        ("error-workaround", "URLs end with a slash", "us-001-1"),
        ("codebase-pattern", "Keys are read once", "us-001-1"),
        ("codebase-pattern", "Keys are read once", "us-002-1"),
    ]
    patterns = [(x.name, x.type, x.description) for x in diary.document.patterns]
    assert patterns == [
        ("Run tests", "test-pattern", "Run tests: `make test`"),
        ("Handlers live in `app/` and call services", "file-structure", ""),
    ]


def test_keeps_the_whole_beside_its_parts() -> None:
    """The full text is one learning, which is not used where its parts are."""
    diary = Diary()
    taken(diary, TEXT)
    whole = diary.document.learnings[0]
    assert (whole.id, whole.content, whole.context) == (LEGACY, TEXT, CONTEXT)
    assert not whole.still_valid
    other = Diary()
    taken(other, "only words\n")
    assert [x.still_valid for x in other.document.learnings] == [True]


def test_the_same_text_again_brings_nothing() -> None:
    """A text is identified by its content; a longer one adds its new parts."""
    diary = Diary()
    taken(diary, TEXT)
    assert taken(diary, TEXT) == []
    longer = TEXT + "---\n## 2026-02-19 - US-001\n- Again\n"
    tags = [event.type for event in taken(diary, longer)]
    assert tags == ["learning-added", "entry-recorded"]
    assert diary.document.entries[-1].id == "us-001-2"
    assert came_from(diary.document, TEXT)
    assert came_from(diary.document, longer)


def test_is_taken_into_a_journal_that_is_open() -> None:
    """A journal created without the text imports it nevertheless."""
    diary = Diary().happen(f.JournalOpened(AT))
    assert taken(diary, TEXT)[0] != f.JournalOpened(AT)
    assert len(diary.document.entries) == 2


def test_an_empty_text_becomes_no_learning() -> None:
    """A progress.txt without text creates an empty journal."""
    assert taken(Diary(), " \n") == [f.JournalOpened(AT)]


def test_names_that_share_an_id_are_taken() -> None:
    """Two PRDs whose names result in the same id are accepted."""
    diary = Diary()
    taken(diary, "## 2026-01-01 - A/b\n- x\n## 2026-01-02 - a_b\n- y\n")
    assert [e.id for e in diary.document.entries] == ["a-b-1", "a-b-2"]


@pytest.mark.parametrize(
    "text",
    ["", "words\n", "## 2026-02-30 - US-001\n- x\n", "## US-001\n- x\n", "- x\n---\n- y\n"],
)
def test_nothing_is_made_up(text: str) -> None:
    """Parts in another format are no entries: they are in the complete text."""
    assert parse_text(text)[:2] == ([], [])


@pytest.mark.parametrize(
    ("heading", "said"),
    [
        ("[2026-02-17 06:57] - X", "2026-02-17T06:57:00Z"),
        ("2026-02-17T6:57:01Z - X", "2026-02-17T06:57:01Z"),
        ("[2026-02-17 06:57:07 PST] - X", "2026-02-17T06:57:07-08:00"),
        ("2026-02-17 06:57 +0530: X", "2026-02-17T06:57:00+05:30"),
        ("2026-02-17 06:57 XYZ - X", "2026-02-17T06:57:00Z"),
    ],
)
def test_reads_the_times_that_loops_write(heading: str, said: str) -> None:
    """Known time zones are used; otherwise the time is considered UTC."""
    (told,) = parse_text(f"## {heading}\n").entries
    assert (told.timestamp, told.prd_id) == (said, "X")


@pytest.mark.parametrize(
    "text", ["- x\n" + " y\n" * 200_000, "#" * 500_000, "## 2026-01-01 - " + "-" * 500_000]
)
def test_long_texts_are_read_in_one_go(text: str) -> None:
    """For any text, the number of steps is proportional to its length."""
    assert parse_text(f"## Codebase Patterns\n{text}").entries is not None
