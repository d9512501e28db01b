"""Queries of a journal, with results in the order of recording (JRN-080 to JRN-085)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

from ..journal import parts
from .document import JournalDocument
from .parts import Entry, Learning, Observation, Pattern
from .state import iteration_reached


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
    return [o for o in _observations(document.entries) if o.type == parts.BLOCKER]


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
    failed = [e for e in document.entries if e.status in (parts.FAILED, parts.BLOCKED)]
    return dict(Counter(o.category for o in _observations(failed) if o.category))


def _observations(entries: Iterable[Entry]) -> list[Observation]:
    return [observation for entry in entries for observation in entry.observations]


FAILURES_MAX = 3
"""After so many unsuccessful entries a person has to look."""
NOTHING_FOUND = "No automated recovery found"
ALIKE = Fraction(1, 2)
"""From here on two texts are about the same."""
SHARED_MIN = 2
"""Fewer words in common than this say nothing."""

_WORD = re.compile(r"[^\W_]{3,}")


class Recovery(NamedTuple):
    """What is proposed, and by what."""

    action: str
    """`retry` or `manual`."""
    guidance: str
    failures: int
    """Unsuccessful entries since the last one that was completed."""
    entry: str = ""
    """The entry whose blocker was alike and was resolved later."""
    learning: str = ""
    """The learning that says what to do."""
    similarity: Fraction = Fraction(0)


def recover(document: JournalDocument, prd_id: str, *, failure: str) -> Recovery:
    """Return what to do about a failure of a PRD."""
    failures = unsuccessful(document, prd_id)
    if failures >= FAILURES_MAX:
        said = f"PRD {prd_id} has failed {failures} times - needs human review"
        return Recovery(parts.MANUAL, said, failures)
    found = [
        *_by_blocker(document, failure, failures),
        *_by_learning(document, failure, failures),
    ]
    # Of several alike the later one: what was learned last is likely to hold still.
    for kind in ("entry", "learning"):
        alike = [recovery for recovery in found if getattr(recovery, kind)]
        if alike:
            best = max(recovery.similarity for recovery in alike)
            return [recovery for recovery in alike if recovery.similarity == best][-1]
    return Recovery(parts.MANUAL, NOTHING_FOUND, failures)


def unsuccessful(document: JournalDocument, prd_id: str) -> int:
    """Return how many entries of a PRD followed the last one that was completed."""
    count = 0
    for entry in entries_of(document, prd_id):
        count = 0 if entry.status == parts.COMPLETED else count + 1
    return count


def failure_of(document: JournalDocument, prd_id: str) -> str:
    """Return what the last entry of a PRD says of its failure; empty for a success."""
    last = last_entry(document, prd_id)
    if last is None or last.status == parts.COMPLETED:
        return ""
    blocked = [o.title for o in last.observations if o.type == parts.BLOCKER]
    return "\n".join([last.summary, *blocked])


def _by_blocker(
    document: JournalDocument, failure: str, failures: int
) -> Iterator[Recovery]:
    for index, entry in enumerate(document.entries):
        for observation in entry.observations:
            if observation.type != parts.BLOCKER:
                continue
            alike = similarity(observation.title, failure)
            if alike < ALIKE:
                continue
            guidance = _workaround(document, index, observation)
            if guidance:
                yield Recovery(
                    parts.RETRY, guidance, failures, entry=entry.id, similarity=alike
                )


def _workaround(document: JournalDocument, index: int, blocker: Observation) -> str:
    """Return what resolved a blocker: its PRD was completed later on.

    In this order: the learning it names, the guidance of the entry that was completed, a
    learning of that entry, its summary.
    """
    prd_id = document.entries[index].prd_id
    later = (x for x in document.entries[index + 1 :] if x.prd_id == prd_id)
    resolved = next((x for x in later if x.status == parts.COMPLETED), None)
    if resolved is None:
        return ""
    named = document.learning(blocker.related_learning_id)
    if named is not None and named.still_valid:
        return named.content
    if resolved.context is not None and resolved.context.recovery_guidance:
        return resolved.context.recovery_guidance
    return _learned(document, resolved) or resolved.summary


def _learned(document: JournalDocument, entry: Entry) -> str:
    own = (x for x in document.learnings if x.source_entry_id == entry.id)
    return next((x.content for x in own if x.still_valid), "")


def _by_learning(
    document: JournalDocument, failure: str, failures: int
) -> Iterator[Recovery]:
    for learning in learnings_of_type(document, parts.ERROR_WORKAROUND):
        alike = similarity(f"{learning.content}\n{learning.context}", failure)
        if alike >= ALIKE:
            yield Recovery(
                parts.RETRY,
                learning.content,
                failures,
                learning=learning.id,
                similarity=alike,
            )


def similarity(one: str, other: str) -> Fraction:
    """Return how alike two texts are, from 0 to 1; anybody can check it by hand.

    A word is a run of three or more letters and digits, in small letters. The measure is
    how many of the words of the text that has fewer of them stand in the other one as well.
    """
    ours, theirs = (frozenset(_WORD.findall(text.casefold())) for text in (one, other))
    shared = len(ours & theirs)
    if shared < SHARED_MIN:
        return Fraction(0)
    return Fraction(shared, min(len(ours), len(theirs)))
