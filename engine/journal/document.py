"""The journal with all its texts, for progress.json and queries."""

from functools import partial
from typing import Any, ClassVar, TypeVar

import msgspec
from msgspec.structs import replace

from ..log.event import Takers
from . import events as f
from . import fold, state
from .parts import ClosedObject, Entry, Learning, Pattern

Part = TypeVar("Part", Entry, Learning, Pattern)
LISTS: dict[type[ClosedObject], str] = {
    Entry: "entries",
    Learning: "learnings",
    Pattern: "patterns",
}
"""The name of the list for each kind of part, in the order of the file."""


class JournalDocument(msgspec.Struct, eq=False):
    """The full content of a journal at a version of its stream."""

    id: ClassVar[str] = state.JOURNAL
    version: int = 0
    created_at: str = ""
    project_name: str = ""
    schema: str = ""
    extra: dict[str, Any] = {}
    entries: list[Entry] = []
    """The entries; like the other two lists, in the order of recording."""
    learnings: list[Learning] = []
    patterns: list[Pattern] = []
    _entries: dict[str, int] = {}
    _learnings: dict[str, int] = {}

    def entry(self, entry_id: str) -> Entry | None:
        """Return the first entry with the given id, or None."""
        index = self._entries.get(entry_id)
        return None if index is None else self.entries[index]

    def learning(self, learning_id: str) -> Learning | None:
        """Return the current state of the first learning with the given id, or None."""
        index = self._learnings.get(learning_id)
        return None if index is None else self.learnings[index]

    def change_learning(self, learning_id: str, **changes: Any) -> None:
        """Change the fields of a learning, if it exists."""
        if (index := self._learnings.get(learning_id)) is not None:
            self.learnings[index] = replace(self.learnings[index], **changes)

    def link(self, entry_id: str, observation: int, learning_id: str) -> None:
        """Link an observation, counted from 1, to the learning that resulted from it."""
        index = self._entries.get(entry_id)
        if index is None or observation > len(self.entries[index].observations):
            return
        entry = self.entries[index]
        observations = list(entry.observations)
        linked = replace(observations[observation - 1], related_learning_id=learning_id)
        observations[observation - 1] = linked
        self.entries[index] = replace(entry, observations=tuple(observations))


def _opened(document: JournalDocument, event: f.JournalOpened) -> None:
    document.created_at = event.created_at
    document.project_name = event.project_name
    document.schema, document.extra = event.version, event.extra


def _raised(document: JournalDocument, event: f.JournalRaised) -> None:
    document.schema, document.extra = event.version, event.extra


def _corrected(document: JournalDocument, event: f.JournalCorrected) -> None:
    """Replace existing parts with the corrected parts that have the same ids."""
    for entry in event.entries:
        if (index := document._entries.get(entry.id)) is not None:
            document.entries[index] = entry
    for learning in event.learnings:
        if (index := document._learnings.get(learning.id)) is not None:
            document.learnings[index] = learning
    right = {pattern.id: pattern for pattern in reversed(event.patterns)}
    document.patterns = [right.pop(one.id, one) for one in document.patterns]


def _recorded(document: JournalDocument, event: f.EntryRecorded) -> None:
    document._entries.setdefault(event.entry.id, len(document.entries))
    document.entries.append(event.entry)


def _added(document: JournalDocument, event: f.LearningAdded) -> None:
    learning = event.learning
    document._learnings.setdefault(learning.id, len(document.learnings))
    document.learnings.append(learning)
    if event.observation:
        document.link(learning.source_entry_id, event.observation, learning.id)


def _referenced(document: JournalDocument, event: f.LearningReferenced) -> None:
    if (learning := document.learning(event.learning_id)) is not None:
        times = learning.times_referenced + event.times
        document.change_learning(event.learning_id, times_referenced=times)


def _retired(document: JournalDocument, event: f.LearningRetired) -> None:
    document.change_learning(event.learning_id, still_valid=False)


def _discovered(document: JournalDocument, event: f.PatternDiscovered) -> None:
    document.patterns.append(event.pattern)


EVOLVE: Takers = {
    f.JournalOpened: _opened,
    f.JournalRaised: _raised,
    f.JournalCorrected: _corrected,
    f.EntryRecorded: _recorded,
    f.LearningAdded: _added,
    f.LearningReferenced: _referenced,
    f.LearningRetired: _retired,
    f.PatternDiscovered: _discovered,
}
"""The handlers that apply events to the document."""
fold_document = partial(fold.fold_by, EVOLVE)
"""The fold of the full content."""
