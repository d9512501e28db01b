"""Text erased by one process is not written again by another that read it before."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sprintlog.commands import AddNote
from sprintlog.engine.service.streams.catalogue import EVERY, new_event, sprint_stream
from sprintlog.engine.service.streams.checkpoints import DECISIONS, KeptReading, Reading
from sprintlog.engine.sprint.events import NoteAdded
from sprintlog.projections.facts.past import SprintPast
from sprintlog.projections.facts.sprint_facts import SprintFacts
from sprintlog.projections.page.document import document
from sprintlog.projections.state_files.loop_files import LoopFile, state_files_of
from sprintlog.projections.workspace import Workspace

from ...conftest import Run
from .redacting import PLAN, SECRET

STREAM = sprint_stream("auth")


@pytest.fixture
def told(folder: Path, done: Run) -> Path:
    """Return a work tree with a loop, and a secret in a phase and an iteration."""
    (folder / "plan.yaml").write_text(PLAN)
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    done("sprint", "start")
    done("iteration", "baseline", "--loop-id", "ralph-001", "--metric", "test_count=1")
    done("iteration", "start")
    done("phase", "start")
    done("phase", "complete", "--summary", SECRET)
    done("iteration", "end", "--metric", "test_count=2", "--summary", SECRET)
    return folder


@pytest.fixture
def early(told: Path) -> Iterator[Workspace]:
    """Provide a process that has read everything."""
    with Workspace.open(told) as workspace:
        for number in range(EVERY):
            workspace.handle(AddNote(f"note {number}"), sprint_id="auth")
        yield workspace


def erase(done: Run) -> None:
    """Erase the secret, as another process would."""
    done("redact", "--text", SECRET, "--reason", "leaked", "--yes")


def in_saved_states(workspace: Workspace) -> list[str]:
    """Return where the log stores a state that contains the secret."""
    words = b"opensesame"
    return [*workspace.log.holding([words], ["checkpoints"])]


def test_a_state_from_before_is_not_saved(early: Workspace, done: Run) -> None:
    """A state folded before is not saved, although all its events exist."""
    sprint = early.sprint("auth")
    early.repository.save(sprint)
    assert in_saved_states(early)
    erase(done)
    early.repository.save(sprint)
    assert in_saved_states(early) == []


def test_a_reading_from_before_is_not_kept(early: Workspace, done: Run) -> None:
    """Answers computed from the events are not stored either."""
    kept = KeptReading(early.log, DECISIONS, STREAM, Reading, meaning=0)
    erase(done)
    kept.keep(Reading(5))
    assert kept.load() is None
    later = KeptReading(early.log, DECISIONS, STREAM, Reading, meaning=0)
    later.keep(Reading(5))
    assert later.load() == Reading(5)


def test_what_is_known_is_read_anew(early: Workspace, done: Run) -> None:
    """A resident process forgets the text with its next read, and does not write it."""
    early.refresh("auth")
    erase(done)
    assert SECRET not in repr(early.sprint("auth").document)
    early.handle(AddNote("later"), sprint_id="auth")
    early.refresh("auth")
    assert b"opensesame" not in (early.location.root / "PROGRESS.yaml").read_bytes()
    early.repository.rebuild("auth")
    assert in_saved_states(early) == []


def test_it_is_noticed_after_an_append(early: Workspace, done: Run) -> None:
    """Text erased between the read and the append is unknown afterwards."""
    before = early.sprint("auth")
    erase(done)
    note = NoteAdded("later")
    new = new_event(note, at=early.now(), actor="runtime")
    last = early.log.append(STREAM, [new], expect=before.version)
    after = early.repository.take(before, last.events, [note])
    assert SECRET not in repr(after.document)


def test_a_page_that_is_carried_on_forgets_it(early: Workspace, done: Run) -> None:
    """A live page reads the events again, and the text is nowhere in it."""
    past = SprintPast()
    # The page uses different quotation marks.
    assert "opensesame" in document(SprintFacts(early, "auth", past=past))
    story = past.story
    erase(done)
    assert "opensesame" not in document(SprintFacts(early, "auth", past=past))
    assert past.story is not story


def test_files_of_a_loop_are_made_anew(early: Workspace, done: Run) -> None:
    """Input for several files is read again after an erasure."""
    sprint = early.sprint("auth")
    (true, *_) = state_files_of(early, sprint)
    path, read_before = true.path(sprint), SECRET.encode()
    late = LoopFile(early, path, lambda judged: read_before, [1])
    late.refresh(early.sprint("auth"))
    assert (early.location.root / path).read_bytes() == read_before
    erase(done)
    late.refresh(early.sprint("auth"))
    assert (early.location.root / path).read_bytes() == true.render(early.sprint("auth"))
