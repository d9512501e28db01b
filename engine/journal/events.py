"""The events of the journal, which rollbacks do not affect."""

from operator import attrgetter
from typing import Any, ClassVar

import msgspec

from ..log.event import Event, Kind, Reach, Subject, events_of
from .parts import Entry, Learning, Pattern, event_time

OF_ENTRY = (
    *("id", "timestamp", "prd_id", "status", "observations.type"),
    *("observations.category", "observations.severity", "observations.action_taken"),
    *("observations.related_learning_id", "context.recovery_action"),
    "context.dependencies_completed",
)
"""The fields that remain when the texts of an entry are erased."""
OF_LEARNING = ("id", "type", "source_prd_id", "source_entry_id", "created_at")
OF_PATTERN = ("id", "type", "discovered_at", "source_prd_id", "confidence")
PLACE = ".ralph/progress.json"
"""The default path of the journal's file."""


def _in(field: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths of fields inside another field."""
    return tuple(f"{field}.{name}" for name in names)


class JournalEvent(Event, frozen=True):
    """An event of the journal."""

    kind = Kind.KNOWLEDGE
    subject = Subject("journal")
    reach = Reach.WHOLE
    moment: ClassVar[str] = ""
    """The field with the time of the event, if any."""

    def own_time(self) -> str | None:
        """Return the time stated in the event, in the log's format, or None."""
        if not self.moment:
            return None
        return event_time(attrgetter(self.moment)(self), field=self.moment)


class JournalOpened(JournalEvent, frozen=True):
    """The journal was opened."""

    stays = ("created_at", "version", "worktree", "place")
    moment = "created_at"
    reach = Reach.TOP
    created_at: str
    """The creation time in RFC 3339, as given."""
    project_name: str = ""
    version: str = "1.0"
    """The schema version of the journal's file."""
    worktree: str = ""
    """The linked Git work tree that contains the file; empty for the main work tree."""
    extra: dict[str, Any] = msgspec.field(default_factory=dict)
    """Fields from a later version of the schema, unchanged."""
    place: str = PLACE
    """The path of the file, relative to the work tree's root."""


class JournalMoved(JournalEvent, frozen=True):
    """The journal's file was moved to another path."""

    stays = ("place", "worktree")
    reach = Reach.NOTHING
    only_caused = "`sprintlog journal open --place PATH` causes it"
    place: str
    """The path of the file, relative to the work tree's root."""
    worktree: str = ""
    """The linked Git work tree that contains the file; empty for the main work tree."""


class JournalRaised(JournalEvent, frozen=True):
    """The journal's file was imported with a later schema version."""

    stays = ("version",)
    reach = Reach.TOP
    only_caused = "`sprintlog import journal FILE` causes it by a later version"
    version: str
    """The schema version of the journal's file."""
    extra: dict[str, Any] = msgspec.field(default_factory=dict)
    """Fields from a later version of the schema, unchanged."""


class JournalCorrected(JournalEvent, frozen=True):
    """Recorded parts were corrected manually; the event contains their new values."""

    stays = (
        *_in("entries", OF_ENTRY),
        *_in("learnings", OF_LEARNING),
        *_in("patterns", OF_PATTERN),
    )
    only_caused = "`sprintlog adopt --journal` causes it by an edit of the file"
    entries: tuple[Entry, ...] = ()
    """The entries that replace those with the same ids."""
    learnings: tuple[Learning, ...] = ()
    """The learnings that replace those with the same ids."""
    patterns: tuple[Pattern, ...] = ()
    """The patterns that replace those with the same ids."""


class EntryRecorded(JournalEvent, frozen=True):
    """An iteration of work on a PRD ended."""

    stays = _in("entry", OF_ENTRY)
    moment = "entry.timestamp"
    subject = Subject("entry", ("entry.id",), is_told=True)
    entry: Entry
    """The recorded entry."""


class LearningAdded(JournalEvent, frozen=True):
    """A learning was added."""

    stays = _in("learning", OF_LEARNING)
    moment = "learning.created_at"
    subject = Subject("learning", ("learning.id",), is_told=True)
    learning: Learning
    """The added learning."""
    observation: int = 0
    """The entry's observation (from 1) that led to the learning and names it."""


class LearningReferenced(JournalEvent, frozen=True):
    """A learning was used."""

    stays = ("learning_id", "prd_id", "entry_id")
    subject = Subject("learning", ("learning_id",))
    reach = Reach.NODE
    only_caused = "with an entry_id `sprintlog prepare PRD` causes it"
    learning_id: str
    """The id of the learning."""
    prd_id: str = ""
    """The PRD for which the learning was used."""
    times: int = 1
    """The number of uses."""
    entry_id: str = ""
    """The id that the entry using the learning will get; each entry is counted once."""


class LearningRetired(JournalEvent, frozen=True):
    """A learning was marked as invalid; it remains readable."""

    stays = ("learning_id",)
    subject = Subject("learning", ("learning_id",))
    reach = Reach.NODE
    learning_id: str
    """The id of the learning."""
    reason: str | None = None


class PatternDiscovered(JournalEvent, frozen=True):
    """A pattern in the codebase was discovered."""

    stays = _in("pattern", OF_PATTERN)
    moment = "pattern.discovered_at"
    subject = Subject("pattern", ("pattern.id",), is_told=True)
    pattern: Pattern
    """The discovered pattern."""


JOURNAL_EVENTS = events_of(__name__)
