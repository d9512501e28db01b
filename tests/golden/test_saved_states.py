"""What is saved of the stored streams: where it is another thing, so is its format."""

from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

from sprintlog.engine.journal import state as journals
from sprintlog.engine.journal.fold import fold as fold_journal
from sprintlog.engine.journal.state import Journal
from sprintlog.engine.sprint import state as sprints
from sprintlog.engine.sprint.facts import RolledBack
from sprintlog.engine.sprint.fold import Event, fold
from sprintlog.engine.sprint.rollback import path
from sprintlog.engine.sprint.state import Sprint
from sprintlog.projections.catalogue import CODEC

from .test_journals import JOURNALS
from .test_streams import STREAMS, lines, recorded


def of_sprint(events: list[Event]) -> bytes:
    """Return what is saved of a sprint at the end of its events."""
    back = [(version, f.to) for version, _, f in events if isinstance(f, RolledBack)]
    return sprints.pack(fold(Sprint("s"), events, path(back, len(events))))


def of_journal(events: list[Event]) -> bytes:
    """Return what is saved of a journal at the end of its events."""
    return journals.pack(fold_journal(Journal(), events, None))


def meaning(streams: Iterable[Path], saved: Callable[[list[Event]], bytes]) -> str:
    """Return a digest of what is saved of streams at each of their versions."""
    digest = sha256()
    for stream in streams:
        stored = [recorded(line) for line in lines(stream)]
        events = [(event.version, event.at, CODEC.decode(event)) for event in stored]
        for version in range(1, len(events) + 1):
            digest.update(saved(events[:version]))
    return digest.hexdigest()[:12]


def test_states_of_another_meaning_have_another_format() -> None:
    """The format stands for what is saved of every stored stream at every version."""
    found = meaning(STREAMS, of_sprint)
    write = f'write MEANING = "{found}" in engine/sprint/state.py'
    assert found == sprints.MEANING, write


def test_states_of_journals_of_another_meaning_have_another_format() -> None:
    """The same holds for the journal's states."""
    found = meaning(JOURNALS, of_journal)
    write = f'write MEANING = "{found}" in engine/journal/state.py'
    assert found == journals.MEANING, write
