"""Migration of a progress.txt: its whole text, and its parts in the known form (JRN-114).

What is there already is known by what it says, so the same text again brings nothing, and
one that has grown what it has more.
"""

from msgspec.structs import replace

from ...command import Commands, JournalCommand
from ...log.event import Event
from .. import events as f
from ..document import JournalDocument
from ..rules import AddLearning, DiscoverPattern, DraftJournal, RecordEntry
from ..state.ids import entry_id
from ..state.journal import Journal
from ..state.shapes import Entry, Learning, Observation, Pattern
from ..state.words import CODEBASE_PATTERN, FINDING
from .progress_text import Habit, Noted, Parsed, Told, parse_text

LEGACY = "learning-0000"
"""The learning that the first text became; no other is ever given this number."""
CONTEXT = "Migrated from progress.txt"
SOURCE = "migration"
"""Stands for the PRD of what is of none."""


class TakeText(JournalCommand, frozen=True):
    """Take a text over that another tool kept; `ours` is what the journal has.

    The whole text is kept as one learning, with its entries, learnings and patterns. A
    journal begins with that; a text that says nothing becomes no learning. Where its
    parts stand by themselves the whole is kept as one that no longer holds, so that
    nobody is handed both.
    """

    text: str
    ours: JournalDocument | None = None


def take_text(journal: Journal, command: TakeText, at: str) -> list[Event]:
    """Decide on `TakeText`."""
    text, document = command.text, command.ours or JournalDocument()
    taking = DraftJournal(journal, at)
    if not journal.exists:
        taking.take(f.JournalOpened(at))
    if not text.strip():
        return taking.events
    parsed = parse_text(text)
    if not came_from(document, text):
        taking.take(_whole(taking.journal, text, parsed, at))
    entry_ids = _take_entries(taking, document, parsed.entries)
    known = {(x.source_entry_id, x.content) for x in document.learnings}
    for source, told in zip(entry_ids, parsed.entries, strict=True):
        for noted in dict.fromkeys(told.noted):
            if (source, noted.content) not in known:
                taking.decide(AddLearning(_learning(noted, told, source)))
    habits = {(x.name, x.description) for x in document.patterns}
    since = parsed.entries[0].timestamp if parsed.entries else at
    for habit in dict.fromkeys(parsed.patterns):
        pattern = _pattern(habit, since)
        if (pattern.name, pattern.description) not in habits:
            taking.decide(DiscoverPattern(pattern))
    return taking.events


COMMANDS: Commands = {TakeText: take_text}


def came_from(document: JournalDocument, text: str) -> bool:
    """Tell whether the whole of a text was taken over before."""
    return any(x.content == text and x.context == CONTEXT for x in document.learnings)


def _record(taking: DraftJournal, entry: Entry) -> str:
    """Take over an entry, which is the next of its PRD; return its id."""
    number = taking.journal.next_iteration(entry.prd_id)
    # PRDs of other names may share their ids: no text is refused for that.
    while entry_id(entry.prd_id, number) in taking.journal.entries:
        number += 1
    (recorded,) = taking.decide(RecordEntry(replace(entry, iteration=number)))
    assert isinstance(recorded, f.EntryRecorded)
    return recorded.entry.id


def _whole(journal: Journal, text: str, parsed: Parsed, at: str) -> Event:
    is_first = LEGACY not in journal.learnings
    return f.LearningAdded(
        Learning(
            id=LEGACY if is_first else journal.next_learning_id or LEGACY,
            type=CODEBASE_PATTERN,
            content=text,
            context=CONTEXT,
            source_prd_id=SOURCE,
            created_at=at,
            still_valid=not (parsed.entries or parsed.patterns),
        )
    )


def _take_entries(
    taking: DraftJournal, document: JournalDocument, entries: list[Told]
) -> list[str]:
    """Take over what is new of the entries; return the id of each."""
    known = {(x.prd_id, x.timestamp, x.summary): x.id for x in document.entries}
    ids = []
    for told in entries:
        key = (told.prd_id, told.timestamp, told.summary)
        if key not in known:
            known[key] = _record(
                taking,
                Entry(
                    timestamp=told.timestamp,
                    prd_id=told.prd_id,
                    status=told.status,
                    summary=told.summary,
                    observations=tuple(
                        Observation(type=FINDING, title=x) for x in told.seen
                    ),
                    files_modified=told.files,
                ),
            )
        ids.append(known[key])
    return ids


def _learning(noted: Noted, told: Told, entry_id: str) -> Learning:
    return Learning(
        type=noted.type,
        content=noted.content,
        source_prd_id=told.prd_id,
        source_entry_id=entry_id,
        created_at=told.timestamp,
        still_valid=True,
    )


def _pattern(habit: Habit, since: str) -> Pattern:
    return Pattern(
        name=habit.name,
        type=habit.type,
        description="" if habit.description == habit.name else habit.description,
        discovered_at=since,
        source_prd_id=SOURCE,
    )
