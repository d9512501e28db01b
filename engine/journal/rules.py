"""The commands of the journal: what may be recorded, and the events that record it.

An event that a user wants to record is converted into the command that causes it.
"""

from typing import TypeVar

from msgspec.structs import replace

from ..command import Command, Events, JournalCommand, command_from_event
from ..errors import NotFoundError, RefusedError
from ..log.event import Event, event_of
from . import events as f
from . import foreign, parts
from .fold import fold
from .state import NUMBER_MAX, Journal, entry_id, pack, unpack

Part = TypeVar("Part", bound=parts.ClosedObject)
Numbered = TypeVar("Numbered", parts.Learning, parts.Pattern)

BY_TAG = {event.type: event for event in f.JOURNAL_EVENTS}

_PARTS: dict[type[Event], tuple[str, type[parts.ClosedObject]]] = {
    f.EntryRecorded: ("entry", parts.Entry),
    f.LearningAdded: ("learning", parts.Learning),
    f.PatternDiscovered: ("pattern", parts.Pattern),
}


class DraftJournal:
    """A copy of a journal with unrecorded events, used to decide further commands."""

    def __init__(self, journal: Journal, at: str) -> None:
        self.journal = unpack(pack(journal))
        self.events: list[Event] = []
        self._at = at

    def take(self, *events: Event) -> None:
        """Add events without handling a command."""
        for event in events:
            fold(self.journal, [(self.journal.version + 1, self._at, event)])
            self.events.append(event)

    def decide(self, command: JournalCommand) -> list[Event]:
        """Handle a command, and add the resulting events."""
        events = command.decide(self.journal, self._at)
        self.take(*events)
        return events


class OpenJournal(JournalCommand, frozen=True):
    """Open the journal, as the first record does automatically.

    If the journal is already open, change the path of its file.
    """

    project_name: str = ""
    place: str = ""
    worktree: str = ""
    created_at: str = ""
    """The creation time; defaults to the current time."""

    def decide(self, journal: Journal, at: str) -> list[Event]:
        """Return the events that this command records."""
        name, place, worktree = self.project_name, self.place, self.worktree
        if journal.exists:
            if name in ("", journal.project_name):
                is_there = (place, worktree) == (journal.place, journal.worktree)
                return [f.JournalMoved(place, worktree)] if place and not is_there else []
            named = journal.project_name or "not named"
            problem = f"the journal is already open for project {named}"
            raise parts.refuse("project_name", problem)
        began = self.created_at or at
        return [f.JournalOpened(began, name, worktree=worktree, place=place or f.PLACE)]


class RecordEntry(JournalCommand, frozen=True):
    """Record how an iteration of a PRD ended.

    By default, the iteration number is the PRD's highest number plus 1.
    """

    entry: parts.Entry

    def decide(self, journal: Journal, at: str) -> list[Event]:
        """Return the events that this command records."""
        entry = self.entry
        iteration = entry.iteration or journal.next_iteration(entry.prd_id)
        entry = replace(
            entry,
            iteration=iteration,
            id=entry.id or entry_id(entry.prd_id, iteration),
            timestamp=entry.timestamp or at,
        )
        parts.check(entry, "entry")
        if entry.id != entry_id(entry.prd_id, entry.iteration):
            why = "does not follow from the PRD and the iteration; omit it"
            raise parts.refuse("entry.id", f"{entry.id[:60]} {why}")
        if entry.id in journal.entries:
            why = "is already recorded, and an entry is never replaced"
            hint = "specify the iteration; use --key to make a command safe to repeat"
            raise parts.refuse("entry.id", f"{entry.id} {why}", hint)
        for index, observation in enumerate(entry.observations):
            if observation.related_learning_id:
                field = f"entry.observations[{index}].related_learning_id"
                journal.check_learning(observation.related_learning_id, field=field)
        return [f.EntryRecorded(entry)]


class AddLearning(JournalCommand, frozen=True):
    """Record a learning; with `observation`, link it to that observation in its entry."""

    learning: parts.Learning
    observation: int = 0

    def decide(self, journal: Journal, at: str) -> list[Event]:
        """Return the events that this command records."""
        learning = _completed(self.learning, journal.next_learning_id, created_at=at)
        if (source := learning.source_entry_id) and source not in journal.entries:
            raise NotFoundError(
                f"learning.source_entry_id: there is no entry {source[:60]}",
                hint="run `sprintlog journal entry list` to list the entries",
                field="learning.source_entry_id",
            )
        if self.observation:
            _check_link(journal, source, self.observation)
        return [f.LearningAdded(learning, self.observation)]


class ReferenceLearning(JournalCommand, frozen=True):
    """Record the use of a learning."""

    learning_id: str
    prd_id: str = ""
    times: int = 1

    def decide(self, journal: Journal, at: str) -> list[Event]:
        """Return the events that this command records."""
        journal.check_learning(self.learning_id)
        if not journal.learnings[self.learning_id]:
            problem = f"{self.learning_id} was retired and no longer applies"
            raise parts.refuse("learning", problem)
        if self.times < 1:
            raise parts.refuse("times", "must be >= 1")
        return [f.LearningReferenced(self.learning_id, self.prd_id, self.times)]


class HandOverLearnings(JournalCommand, frozen=True):
    """Record that learnings were passed to an iteration."""

    needs_context = True

    learning_ids: tuple[str, ...]
    prd_id: str
    iteration: int

    def decide(self, journal: Journal, at: str) -> list[Event]:
        """Return the events that this command records."""
        entry = entry_id(self.prd_id, self.iteration)
        return [
            f.LearningReferenced(learning_id, self.prd_id, entry_id=entry)
            for learning_id in self.learning_ids
            if journal.learnings.get(learning_id)
        ]


class RetireLearning(JournalCommand, frozen=True):
    """Mark a learning as invalid; it remains readable."""

    learning_id: str
    reason: str | None = None

    def decide(self, journal: Journal, at: str) -> list[Event]:
        """Return the events that this command records."""
        journal.check_learning(self.learning_id)
        if not journal.learnings[self.learning_id]:
            return []
        return [f.LearningRetired(self.learning_id, self.reason)]


class DiscoverPattern(JournalCommand, frozen=True):
    """Record a pattern in the codebase."""

    pattern: parts.Pattern

    def decide(self, journal: Journal, at: str) -> list[Event]:
        """Return the events that this command records."""
        number = journal.next_pattern_id
        return [f.PatternDiscovered(_completed(self.pattern, number, discovered_at=at))]


def to_event(tag: str, data: object) -> Event:
    """Return the event for a tag, given its data as decoded from JSON.

    Ids, iterations and times may be missing, because they are filled in. Raise a
    `RefusedError` that names a field that is missing, unknown or of the wrong type.
    """
    kind = BY_TAG[tag]
    if isinstance(data, dict):
        if kind is f.JournalOpened:
            data = {"created_at": "", **data}
        name, shape = _PARTS.get(kind, ("", parts.ClosedObject))
        if name in data:
            data = {**data, name: part_of(shape, data[name], field=f"data.{name}")}
    return event_of(kind, data)


def part_of(kind: type[Part], data: object, *, field: str) -> Part:
    """Return an entry, observation, learning or pattern made from a user's data."""
    part = foreign.shape_of(kind, data, field=field)
    inner: list[parts.ClosedObject] = [part]
    if isinstance(part, parts.Entry):
        inner += [*part.observations, *filter(None, [part.context])]
    for one in inner:
        for name in one.extra:
            known = ", ".join(n for n in type(one).__struct_fields__ if n != "extra")
            raise parts.refuse(field, f"there is no field {name[:40]!r}; allowed: {known}")
    return part


def command_of(event: Event) -> Command:
    """Return the command that causes an event; raise `RefusedError` if there is none."""
    made = CAUSED.get(type(event))
    if made is None or (isinstance(event, f.LearningReferenced) and event.entry_id):
        why = event.only_caused or "it is not an event of the journal"
        raise RefusedError(
            f"{event.type} cannot be recorded directly: {why}", command=event.type
        )
    return command_from_event(event, made)


def _completed(part: Numbered, next_id: str | None, **times: str) -> Numbered:
    """Return a learning or pattern with the next id and its missing times filled in."""
    word = type(part).__name__.lower()
    if next_id is None:
        last = f"{word}-{NUMBER_MAX}"
        raise parts.refuse(f"{word}.id", f"{last} was the last possible id")
    missing = {name: at for name, at in times.items() if not getattr(part, name)}
    part = replace(part, id=part.id or next_id, **missing)
    parts.check(part, word)
    if part.id != next_id:
        raise parts.refuse(f"{word}.id", f"{part.id[:60]} is not the next id; omit it")
    return part


def _check_link(journal: Journal, source: str, observation: int) -> None:
    """Raise `RefusedError` unless the observation exists and is not linked yet."""
    count = journal.entries.get(source, 0)
    if not 1 <= observation <= count:
        why = f"{source or 'no entry'} has no observation {observation}; it has {count}"
        hint = "run `sprintlog journal entry show ENTRY` to see the numbers"
        raise parts.refuse("observation", why, hint)
    if observation in journal.linked.get(source, ()):
        why = f"{observation} of {source} already has a learning"
        raise parts.refuse("observation", why)


def _opens(event: f.JournalOpened) -> OpenJournal:
    if event != f.JournalOpened(event.created_at, event.project_name):
        raise parts.refuse("data", "specify only created_at and project_name")
    return OpenJournal(event.project_name, created_at=event.created_at)


ARCHITECTURE = "architecture"
TYPES = {
    "api-issue": "api-convention",
    "test-failure": "test-pattern",
    "tooling-friction": "tool-usage",
    "dependency": "dependency-quirk",
    ARCHITECTURE: "architecture-constraint",
}
"""The type of a learning, by the category of its observation."""

Proposal = tuple[int, parts.Learning]
"""The number of an observation, from 1, and the learning proposed for it."""


def extract(entry: parts.Entry) -> list[Proposal]:
    """Return learnings for an entry's observations that do not name a learning."""
    return [
        (number, _learning(entry, observation))
        for number, observation in enumerate(entry.observations, 1)
        if not observation.related_learning_id
        and (
            observation.action_taken == "documented" or observation.category == ARCHITECTURE
        )
    ]


class AddExtractedLearnings(JournalCommand, frozen=True):
    """Add extracted learnings, each with a new id."""

    proposals: list[Proposal]

    def decide(self, journal: Journal, at: str) -> list[Event]:
        """Return the events that this command records."""
        ahead = DraftJournal(journal, at)
        for observation, learning in self.proposals:
            ahead.decide(AddLearning(learning, observation))
        return ahead.events


def _learning(entry: parts.Entry, observation: parts.Observation) -> parts.Learning:
    fixed = observation.action_taken == "fixed"
    otherwise = parts.ERROR_WORKAROUND if fixed else parts.CODEBASE_PATTERN
    return parts.Learning(
        type=TYPES.get(observation.category, otherwise),
        content=observation.description or observation.title,
        context=f"Discovered while working on {entry.prd_id}",
        source_prd_id=entry.prd_id,
        source_entry_id=entry.id,
        still_valid=True,
    )


CAUSED: Events = {
    f.JournalOpened: _opens,
    f.EntryRecorded: RecordEntry,
    f.LearningAdded: AddLearning,
    f.LearningReferenced: ReferenceLearning,
    f.LearningRetired: RetireLearning,
    f.PatternDiscovered: DiscoverPattern,
}
