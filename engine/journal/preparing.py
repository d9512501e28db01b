"""What an iteration should know before it begins (R233 to R238)."""

from typing import NamedTuple

from . import words
from .document import Document
from .queries import failure_patterns, last_entry, learnings_of_type, next_iteration
from .shapes import Entry, Learning, Pattern

FRICTION = "tooling-friction"
FRICTION_MAX = 3
FRICTION_WARNING = "High tooling friction detected - consider fixing infrastructure first"


class Prepared(NamedTuple):
    """What is handed to the next iteration of a PRD."""

    prd_id: str
    iteration: int
    retry_count: int
    previous_failure_reason: str
    """The summary of the entry before, if that was not completed."""
    previous_observations: list[str]
    """The titles of its blockers, or else of its findings (P23)."""
    learnings: list[Learning]
    patterns: list[Pattern]
    left_out: list[str]
    """Ids of learnings and patterns for which there was no room."""
    warnings: list[str]


def prepare(document: Document, prd_id: str, *, budget: int | None = None) -> Prepared:
    """Return what the next iteration of a PRD should know.

    With a budget the texts of learnings and patterns have that many characters at most.
    """
    learnings = [
        *learnings_of_type(document, words.CODEBASE_PATTERN),
        *learnings_of_type(document, words.ERROR_WORKAROUND),
    ]
    patterns = list(document.patterns)
    handed = {id(part) for part in _within(learnings, patterns, budget)}
    last = last_entry(document, prd_id)
    failed = last if last is not None and last.status != words.COMPLETED else None
    frictions = failure_patterns(document).get(FRICTION, 0)
    return Prepared(
        prd_id=prd_id,
        iteration=next_iteration(document, prd_id),
        retry_count=_retry_count(failed),
        previous_failure_reason=failed.summary if failed else "",
        previous_observations=_titles(failed) if failed else [],
        learnings=[x for x in learnings if id(x) in handed],
        patterns=[x for x in patterns if id(x) in handed],
        left_out=[
            *(x.id for x in learnings if id(x) not in handed),
            *(x.id for x in patterns if id(x) not in handed),
        ],
        warnings=[FRICTION_WARNING] if frictions > FRICTION_MAX else [],
    )


def _retry_count(failed: Entry | None) -> int:
    if failed is None:
        return 0
    return (failed.context.retry_count if failed.context else 0) + 1


def _titles(entry: Entry) -> list[str]:
    for type_ in (words.BLOCKER, words.FINDING):
        if found := [o.title for o in entry.observations if o.type == type_]:
            return found
    return []


def _within(
    learnings: list[Learning], patterns: list[Pattern], budget: int | None
) -> list[Learning | Pattern]:
    """Return what fits: learnings by how often they were used, then patterns.

    Patterns by how sure they are; among equals the higher number goes first. What does not
    fit is passed over for what is shorter.
    """
    if budget is None:
        return [*learnings, *patterns]
    sure = {word: place for place, word in enumerate(words.CONFIDENCES)}
    used = sorted(learnings, key=lambda learning: learning.id, reverse=True)
    used.sort(key=lambda learning: -learning.times_referenced)
    known = sorted(patterns, key=lambda pattern: pattern.id, reverse=True)
    known.sort(key=lambda pattern: sure.get(pattern.confidence, len(sure)))
    ranked: list[Learning | Pattern] = [*used, *known]
    handed: list[Learning | Pattern] = []
    for part in ranked:
        if (length := _length(part)) <= budget:
            budget -= length
            handed.append(part)
    return handed


def _length(part: Learning | Pattern) -> int:
    if isinstance(part, Learning):
        return len(part.content) + len(part.context)
    return len(part.name) + len(part.description) + sum(map(len, part.examples))
