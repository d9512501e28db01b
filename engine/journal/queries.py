"""Queries on a journal (JRN-080 to JRN-085), and the recovery proposed after a failure.

Results are in the order of recording. A recovery is to retry with guidance that helped
before, or to ask a person; other actions are recorded only if a person chose them
(JRN-107).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

from ..journal import parts
from .document import JournalDocument
from .parts import Entry, Learning, Observation, Pattern
from .state import iteration_reached

FAILURES_MAX = 3
"""The number of unsuccessful entries after which a person must review the PRD."""
NOTHING_FOUND = "No automated recovery found"
ALIKE = Fraction(1, 2)
"""The minimum similarity of texts about the same problem."""
SHARED_MIN = 2
"""The minimum number of common words; fewer are not significant."""

_WORD = re.compile(r"[^\W_]{3,}")


class Recovery(NamedTuple):
    """A proposed recovery, and its source."""

    action: str
    """`retry` or `manual`."""
    guidance: str
    failures: int
    """The number of unsuccessful entries since the last completed entry."""
    entry: str = ""
    """The entry with a similar blocker that was resolved later."""
    learning: str = ""
    """The learning with the guidance."""
    similarity: Fraction = Fraction(0)


def recent_observations(document: JournalDocument, count: int) -> list[Observation]:
    """Return all observations in the last `count` entries."""
    return _observations(document.entries[-count:] if count > 0 else [])


def observations_of(document: JournalDocument, prd_id: str) -> list[Observation]:
    """Return all observations about a PRD, from every iteration."""
    return _observations(entries_of(document, prd_id))


def entries_of(document: JournalDocument, prd_id: str) -> list[Entry]:
    """Return the entries for a PRD."""
    return [entry for entry in document.entries if entry.prd_id == prd_id]


def blockers(document: JournalDocument) -> list[Observation]:
    """Return every blocker, resolved or not."""
    return [o for o in _observations(document.entries) if o.type == parts.BLOCKER]


def learnings_of_type(document: JournalDocument, type_: str) -> list[Learning]:
    """Return the valid learnings of a type."""
    return [x for x in document.learnings if x.type == type_ and x.still_valid]


def patterns_of_type(document: JournalDocument, type_: str) -> list[Pattern]:
    """Return the patterns of a type, with any confidence."""
    return [pattern for pattern in document.patterns if pattern.type == type_]


def attempts(document: JournalDocument, prd_id: str) -> int:
    """Return the number of attempts at a PRD: its entries, completed or not."""
    return len(entries_of(document, prd_id))


def next_iteration(document: JournalDocument, prd_id: str) -> int:
    """Return a PRD's next iteration number: the highest plus 1, even if there are gaps."""
    found = entries_of(document, prd_id)
    taken = (iteration_reached(e.id, e.prd_id, e.iteration) for e in found)
    return max(taken, default=0) + 1


def last_entry(document: JournalDocument, prd_id: str) -> Entry | None:
    """Return the last recorded entry for a PRD, regardless of its time."""
    found = entries_of(document, prd_id)
    return found[-1] if found else None


def failure_patterns(document: JournalDocument) -> dict[str, int]:
    """Return the number of observations by category in failed or blocked entries."""
    failed = [e for e in document.entries if e.status in (parts.FAILED, parts.BLOCKED)]
    return dict(Counter(o.category for o in _observations(failed) if o.category))


def _observations(entries: Iterable[Entry]) -> list[Observation]:
    return [observation for entry in entries for observation in entry.observations]


def recover(document: JournalDocument, prd_id: str, *, failure: str) -> Recovery:
    """Return the recovery to propose after a failure of a PRD."""
    if (failures := unsuccessful(document, prd_id)) >= FAILURES_MAX:
        said = f"PRD {prd_id} has failed {failures} times - needs human review"
        return Recovery(parts.MANUAL, said, failures)
    found = [
        *_by_blocker(document, failure, failures),
        *(
            Recovery(parts.RETRY, one.content, failures, learning=one.id, similarity=near)
            for one in learnings_of_type(document, parts.ERROR_WORKAROUND)
            if (near := similarity(f"{one.content}\n{one.context}", failure)) >= ALIKE
        ),
    ]
    # Of several equally similar parts, use the latest: it is most likely still valid.
    for kind in ("entry", "learning"):
        alike = [recovery for recovery in found if getattr(recovery, kind)]
        if alike:
            best = max(recovery.similarity for recovery in alike)
            return [recovery for recovery in alike if recovery.similarity == best][-1]
    return Recovery(parts.MANUAL, NOTHING_FOUND, failures)


def unsuccessful(document: JournalDocument, prd_id: str) -> int:
    """Return the number of entries for a PRD after the last completed entry."""
    count = 0
    for entry in entries_of(document, prd_id):
        count = 0 if entry.status == parts.COMPLETED else count + 1
    return count


def failure_of(document: JournalDocument, prd_id: str) -> str:
    """Return the failure described in a PRD's last entry; empty if it was completed."""
    if (last := last_entry(document, prd_id)) is None or last.status == parts.COMPLETED:
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
            if (alike := similarity(observation.title, failure)) < ALIKE:
                continue
            if guidance := _workaround(document, index, observation):
                yield Recovery(
                    parts.RETRY, guidance, failures, entry=entry.id, similarity=alike
                )


def _workaround(document: JournalDocument, index: int, blocker: Observation) -> str:
    """Return the resolution of a blocker; empty unless its PRD was completed later.

    The first of these that exists is used: the learning that the blocker names, the
    guidance in the completed entry, a learning from that entry, or its summary.
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
    own = (x for x in document.learnings if x.source_entry_id == resolved.id)
    return next((x.content for x in own if x.still_valid), "") or resolved.summary


def similarity(one: str, other: str) -> Fraction:
    """Return the similarity of two texts, from 0 to 1.

    A word is a run of three or more letters and digits, case-folded. The similarity is the
    fraction of the words in the text with fewer words that the other text also contains.
    """
    ours, theirs = (frozenset(_WORD.findall(text.casefold())) for text in (one, other))
    if (shared := len(ours & theirs)) < SHARED_MIN:
        return Fraction(0)
    return Fraction(shared, min(len(ours), len(theirs)))
