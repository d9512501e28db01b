"""What to do after a failure: try again with what helped before, or ask a person.

No other action is proposed; others are recorded when somebody chose them (JRN-107).
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from ..document import JournalDocument
from ..state import words
from ..state.shapes import Entry, Observation
from .queries import entries_of, last_entry, learnings_of_type

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
        return Recovery(words.MANUAL, said, failures)
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
    return Recovery(words.MANUAL, NOTHING_FOUND, failures)


def unsuccessful(document: JournalDocument, prd_id: str) -> int:
    """Return how many entries of a PRD followed the last one that was completed."""
    count = 0
    for entry in entries_of(document, prd_id):
        count = 0 if entry.status == words.COMPLETED else count + 1
    return count


def failure_of(document: JournalDocument, prd_id: str) -> str:
    """Return what the last entry of a PRD says of its failure; empty for a success."""
    last = last_entry(document, prd_id)
    if last is None or last.status == words.COMPLETED:
        return ""
    blocked = [o.title for o in last.observations if o.type == words.BLOCKER]
    return "\n".join([last.summary, *blocked])


def _by_blocker(
    document: JournalDocument, failure: str, failures: int
) -> Iterator[Recovery]:
    for index, entry in enumerate(document.entries):
        for observation in entry.observations:
            if observation.type != words.BLOCKER:
                continue
            alike = similarity(observation.title, failure)
            if alike < ALIKE:
                continue
            guidance = _workaround(document, index, observation)
            if guidance:
                yield Recovery(
                    words.RETRY, guidance, failures, entry=entry.id, similarity=alike
                )


def _workaround(document: JournalDocument, index: int, blocker: Observation) -> str:
    """Return what resolved a blocker: its PRD was completed later on.

    In this order: the learning it names, the guidance of the entry that was completed, a
    learning of that entry, its summary.
    """
    prd_id = document.entries[index].prd_id
    later = (x for x in document.entries[index + 1 :] if x.prd_id == prd_id)
    resolved = next((x for x in later if x.status == words.COMPLETED), None)
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
    for learning in learnings_of_type(document, words.ERROR_WORKAROUND):
        alike = similarity(f"{learning.content}\n{learning.context}", failure)
        if alike >= ALIKE:
            yield Recovery(
                words.RETRY,
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
