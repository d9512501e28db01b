"""The briefing for an iteration, before it starts (JRN-090 to JRN-095)."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ..journal import parts
from .document import JournalDocument
from .parts import Entry, Learning, Pattern
from .queries import failure_patterns, last_entry, learnings_of_type, next_iteration

FRICTION = "tooling-friction"
FRICTION_MAX = 3
LINE_CHARS_MAX = 500
"""The maximum length of a learning in a prompt."""
CUT = "…"
"""The mark at the end of a truncated text."""
FRICTION_WARNING = "High tooling friction detected - consider fixing infrastructure first"


class Prepared(Struct, frozen=True):
    """The briefing for the next iteration of a PRD."""

    prd_id: str
    iteration: int
    retry_count: int
    previous_failure_reason: str
    """The summary of the previous entry, unless that entry was completed."""
    previous_observations: list[str]
    """The titles of the previous entry's blockers, or else of its findings."""
    learnings: list[Learning]
    patterns: list[Pattern]
    left_out: int
    """The number of learnings and patterns that did not fit."""
    warnings: list[str]


class Room(NamedTuple):
    """The space available for a briefing."""

    budget: int
    """The maximum number of characters."""
    length: Callable[[Prepared], int]
    """Returns the length of a briefing in characters."""

    def holds(self, prepared: Prepared) -> bool:
        """Return whether a briefing fits into the available space."""
        return self.length(prepared) <= self.budget


def prepare(
    document: JournalDocument, prd_id: str, *, room: Room | None = None
) -> Prepared:
    """Return the briefing for the next iteration of a PRD, shortened to fit `room`.

    Raise `RefusedError` if it does not fit even without learnings and patterns.
    """
    last = last_entry(document, prd_id)
    failed = last if last is not None and last.status != parts.COMPLETED else None
    retries = failed.context.retry_count if failed and failed.context else 0
    frictions = failure_patterns(document).get(FRICTION, 0)
    whole = Prepared(
        prd_id=prd_id,
        iteration=next_iteration(document, prd_id),
        retry_count=retries + 1 if failed else 0,
        previous_failure_reason=failed.summary if failed else "",
        previous_observations=_titles(failed) if failed else [],
        learnings=[
            *learnings_of_type(document, parts.CODEBASE_PATTERN),
            *learnings_of_type(document, parts.ERROR_WORKAROUND),
        ],
        patterns=list(document.patterns),
        left_out=0,
        warnings=[FRICTION_WARNING] if frictions > FRICTION_MAX else [],
    )
    if room is None or room.holds(whole):
        return whole
    left_out = len(whole.learnings) + len(whole.patterns)
    bare = replace(whole, learnings=[], patterns=[], left_out=left_out)
    return _filled(_shortened(bare, room), whole, room)


def lines_within(learnings: Iterable[Learning], budget: int) -> list[str]:
    """Return learnings as lines that fit into a number of characters, including newlines.

    The most used learnings have priority; among equally used learnings, the newest one has.
    The lines are in the order of `learnings`.
    """
    said = {
        one.id: _line(one) for one in learnings if one.still_valid and one.content.strip()
    }
    left, handed = budget, set()
    for one in _by_use(learnings):
        cost = len(said.get(one.id, "")) + 1
        if one.id in said and cost <= left:
            left -= cost
            handed.add(one.id)
    return [line for identity, line in said.items() if identity in handed]


def _line(learning: Learning) -> str:
    """Return a learning as a single line, so that its text cannot form a heading."""
    content, where = (" ".join(t.split()) for t in (learning.content, learning.context))
    if len(content) > LINE_CHARS_MAX:
        content = f"{content[: LINE_CHARS_MAX - 1]}{CUT}"
    return f"{content} ({where})" if where else content


def _by_use(learnings: Iterable[Learning]) -> list[Learning]:
    """Return learnings sorted by use, then by id, both in descending order."""
    newest = sorted(learnings, key=lambda learning: learning.id, reverse=True)
    return sorted(newest, key=lambda learning: -learning.times_referenced)


def _titles(entry: Entry) -> list[str]:
    for type_ in (parts.BLOCKER, parts.FINDING):
        if found := [o.title for o in entry.observations if o.type == type_]:
            return found
    return []


def _shortened(bare: Prepared, room: Room) -> Prepared:
    """Return a shortened briefing, with fewer titles and then a shorter reason.

    Raise `RefusedError` if the rest does not fit.
    """
    while bare.previous_observations and not room.holds(bare):
        bare = replace(bare, previous_observations=bare.previous_observations[:-1])
    reason = bare.previous_failure_reason
    kept, over = 0, len(reason) + 1
    while not room.holds(bare) and kept < over - 1:
        # The length of the longest prefix that fits is between these two.
        middle = (kept + over) // 2
        shorter = replace(bare, previous_failure_reason=f"{reason[:middle]}{CUT}")
        kept, over = (middle, over) if room.holds(shorter) else (kept, middle)
    if reason and not room.holds(bare):
        bare = replace(bare, previous_failure_reason=f"{reason[:kept]}{CUT}")
    if not room.holds(bare):
        bare = replace(bare, warnings=[])
    if (least := room.length(bare)) > room.budget:
        problem = f"must be at least {least} characters"
        raise parts.refuse("budget", problem, "raise the budget, or omit it")
    return bare


def _filled(bare: Prepared, whole: Prepared, room: Room) -> Prepared:
    """Return the briefing with the learnings and patterns that fit.

    Learnings are added in order of use, then patterns in order of confidence; among equals,
    the highest number comes first. Parts that do not fit are skipped, so that shorter parts
    can fit.
    """
    sure = {word: place for place, word in enumerate(parts.CONFIDENCES)}
    used = _by_use(whole.learnings)
    known = sorted(whole.patterns, key=lambda pattern: pattern.id, reverse=True)
    known.sort(key=lambda pattern: sure.get(pattern.confidence, len(sure)))
    least = room.length(bare)
    left = room.budget - least
    handed = set()
    for part, alone in (
        *((part, replace(bare, learnings=[part])) for part in used),
        *((part, replace(bare, patterns=[part])) for part in known),
    ):
        # One more character may be needed as a separator.
        if (cost := room.length(alone) - least + 1) <= left:
            left -= cost
            handed.add(id(part))
    return replace(
        bare,
        learnings=[part for part in whole.learnings if id(part) in handed],
        patterns=[part for part in whole.patterns if id(part) in handed],
        left_out=bare.left_out - len(handed),
    )
