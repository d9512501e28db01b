"""The file of a long journal: new records are added to the existing text."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sprintlog.engine.journal.events import (
    EntryRecorded,
    JournalOpened,
    LearningAdded,
    LearningRetired,
    PatternDiscovered,
)
from sprintlog.engine.journal.parts import Context, Entry, Learning, Observation, Pattern
from sprintlog.engine.log.event import Event
from sprintlog.projections.state_files import journal_file, progress_json
from sprintlog.projections.state_files.journal_file import JournalFile
from sprintlog.projections.state_files.kept_blocks import BLOCKS
from sprintlog.projections.workspace import Workspace

from .test_workspace import make

ENTRIES = 300
AT = "2026-02-01T10:00:00Z"


def entry(number: int, **said: Any) -> Entry:
    """Return a long entry with quotes and line breaks."""
    finding = Observation(type="finding", title='of "that"', description="a\n" * 40)
    given = {"summary": f"Sign-in {number}\n\u00e9", "observations": (finding,), **said}
    return Entry(
        id=f"prd-{number}-1", prd_id=f"prd-{number}", iteration=1, timestamp=AT, **given
    )


def record(workspace: Workspace, *events: Event) -> None:
    """Append events unchanged, and update the file."""
    workspace.handle_on_journal(lambda journal, at: [*events])
    workspace.refresh_journal()


def content_of(workspace: Workspace) -> bytes:
    """Return the file's bytes, which must equal a completely generated text."""
    file = JournalFile(workspace)
    state = workspace.journal()
    content = (workspace.location.root / (file.path(state) or "")).read_bytes()
    assert content == file.render(state)
    return content


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Provide a workspace with a long journal and its written file."""
    with make("sqlite", tmp_path) as workspace:
        record(workspace, *(EntryRecorded(entry(number)) for number in range(ENTRIES)))
        assert len(content_of(workspace)) > journal_file.LONG_BYTES
    with Workspace.open(tmp_path) as workspace:
        yield workspace


@pytest.fixture
def decoded(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Provide the versions whose payloads were read for the file."""
    found: list[int] = []
    scan = workspace.log.scan

    def counting(*given: Any, **bounds: Any) -> Iterator[Any]:
        for page in scan(*given, **bounds):
            found.extend(page.versions)
            yield page

    monkeypatch.setattr(workspace.log, "scan", counting)
    return found


def test_only_the_new_entry_is_decoded(workspace: Workspace, decoded: list[int]) -> None:
    """Earlier entries are taken from the file, even in the next process."""
    workspace.journal()
    decoded.clear()
    record(workspace, EntryRecorded(entry(ENTRIES)))
    assert len(decoded) <= 2
    found = msgspec.json.decode(content_of(workspace))
    assert [one["id"] for one in found["entries"]][-1] == f"prd-{ENTRIES}-1"


def test_only_the_new_entry_is_laid_out(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The current text is extended."""
    before = content_of(workspace)
    laid_out: list[int] = []
    with_entries = journal_file.with_entries

    def counting(before: bytes, end: int, entries: list[Entry]) -> tuple[bytes, int]:
        laid_out.append(len(entries))
        return with_entries(before, end, entries)

    monkeypatch.setattr(journal_file, "with_entries", counting)
    monkeypatch.delattr(progress_json, "render")
    record(workspace, EntryRecorded(entry(ENTRIES)))
    monkeypatch.undo()
    assert laid_out == [1]
    assert content_of(workspace).startswith(before[: before.rindex(b"\n  ]")])


def test_what_is_not_an_entry_makes_the_whole_text(
    workspace: Workspace, decoded: list[int]
) -> None:
    """A learning may change an existing entry."""
    learning = Learning(
        id="learn-1",
        source_entry_id="prd-3-1",
        content="c",
        still_valid=True,
        created_at=AT,
    )
    record(workspace, LearningAdded(learning, observation=1))
    assert len(decoded) > ENTRIES
    found = msgspec.json.decode(content_of(workspace))
    linked = found["entries"][3]["observations"][0]
    assert linked["related_learning_id"] == "learn-1"


@pytest.mark.parametrize("harm", ["gone", "flipped", "older"])
def test_a_wrong_mark_does_no_harm(workspace: Workspace, harm: str) -> None:
    """The stored text is a cache: without it, the text is generated completely."""
    (kept,) = (workspace.location.folder / BLOCKS).iterdir()
    older = kept.read_bytes()
    record(workspace, EntryRecorded(entry(ENTRIES)))
    if harm == "gone":
        kept.unlink()
    elif harm == "flipped":
        kept.write_bytes(kept.read_bytes()[:-1] + b"\0")
    else:
        kept.write_bytes(older)
    with Workspace.open(workspace.location.root) as next_one:
        record(next_one, EntryRecorded(entry(ENTRIES + 1)))
        content_of(next_one)


def test_a_text_of_another_history_is_not_gone_on_with(tmp_path: Path) -> None:
    """If the log was restored, entries in the file that it lacks are not reused."""
    sides = []
    for name in ("mine", "other"):
        with make("sqlite", tmp_path / name) as workspace:
            record(
                workspace, *(EntryRecorded(entry(n, summary=name)) for n in range(ENTRIES))
            )
            sides.append(workspace.location)
    mine, other = (side.root / ".ralph" / "progress.json" for side in sides)
    content = mine.read_bytes()
    with Workspace.open(sides[1].root) as workspace:
        spans = {b"x" * 32 + bytes([journal_file.LAYOUT]): (ENTRIES, 10)}
        digest = workspace.files.digest(".ralph/progress.json", content)
        workspace.files.digests.know(".ralph/progress.json", digest, version=ENTRIES)
        workspace.files.blocks.keep(".ralph/progress.json", digest, spans)
        other.write_bytes(content)
        record(workspace, EntryRecorded(entry(ENTRIES)))
        assert b'"mine"' not in content_of(workspace)


def test_any_journal_is_what_the_whole_text_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file equals a complete text after any events, with or without later fields."""
    monkeypatch.setattr(journal_file, "LONG_BYTES", 0)
    for seed in range(4):
        chance = random.Random(seed)
        with make("sqlite", tmp_path / str(seed)) as workspace:
            record(workspace, *_opening(chance))
            for number in range(25):
                record(workspace, *(_event(chance, number) for _ in range(1)))
                content_of(workspace)


def _opening(chance: random.Random) -> list[Event]:
    extra = {"later": [1, {"x": []}]} if chance.random() < 0.5 else {}
    return [JournalOpened(AT, extra=extra)] if extra else []


def _event(chance: random.Random, number: int) -> Event:
    kind = chance.random()
    if kind < 0.7:
        context = Context(retry_count=number) if number % 2 else None
        extra = {"more": {"a": "\n"}} if number % 3 == 0 else {}
        observations = () if number % 4 == 0 else entry(0).observations
        return EntryRecorded(
            entry(number, context=context, extra=extra, observations=observations)
        )
    if kind < 0.8:
        return PatternDiscovered(
            Pattern(id=f"pat-{number}", name="n", description="d", discovered_at=AT)
        )
    if kind < 0.9:
        return LearningRetired("learn-1")
    return LearningAdded(
        Learning(
            id="learn-1",
            source_entry_id="prd-1-1",
            content="c",
            still_valid=True,
            created_at=AT,
        )
    )
