"""Queries of a journal, with results in the order of recording (JRN-080 to JRN-085)."""

from collections import Counter
from collections.abc import Iterable

from ..document import JournalDocument
from ..state import words
from ..state.ids import iteration_reached
from ..state.shapes import Entry, Learning, Observation, Pattern


def recent_observations(document: JournalDocument, count: int) -> list[Observation]:
    """Return all observations of the last `count` entries."""
    return _observations(document.entries[-count:] if count > 0 else [])


def observations_of(document: JournalDocument, prd_id: str) -> list[Observation]:
    """Return all observations of a PRD, of every iteration."""
    return _observations(entries_of(document, prd_id))


def entries_of(document: JournalDocument, prd_id: str) -> list[Entry]:
    """Return the entries of a PRD."""
    return [entry for entry in document.entries if entry.prd_id == prd_id]


def blockers(document: JournalDocument) -> list[Observation]:
    """Return every observation that says it blocked, resolved or not."""
    return [o for o in _observations(document.entries) if o.type == words.BLOCKER]


def learnings_of_type(document: JournalDocument, type_: str) -> list[Learning]:
    """Return the learnings of a type that still hold."""
    return [x for x in document.learnings if x.type == type_ and x.still_valid]


def patterns_of_type(document: JournalDocument, type_: str) -> list[Pattern]:
    """Return the patterns of a type, however confident."""
    return [pattern for pattern in document.patterns if pattern.type == type_]


def attempts(document: JournalDocument, prd_id: str) -> int:
    """Return how often a PRD was tried: its entries, completed ones too."""
    return len(entries_of(document, prd_id))


def next_iteration(document: JournalDocument, prd_id: str) -> int:
    """Return the next iteration of a PRD: after the highest, whatever lacks before."""
    found = entries_of(document, prd_id)
    taken = (iteration_reached(e.id, e.prd_id, e.iteration) for e in found)
    return max(taken, default=0) + 1


def last_entry(document: JournalDocument, prd_id: str) -> Entry | None:
    """Return the entry of a PRD that was recorded last, whatever its time says."""
    found = entries_of(document, prd_id)
    return found[-1] if found else None


def failure_patterns(document: JournalDocument) -> dict[str, int]:
    """Return how often each category was observed in entries failed or blocked."""
    failed = [e for e in document.entries if e.status in (words.FAILED, words.BLOCKED)]
    return dict(Counter(o.category for o in _observations(failed) if o.category))


def _observations(entries: Iterable[Entry]) -> list[Observation]:
    return [observation for entry in entries for observation in entry.observations]
