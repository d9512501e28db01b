"""What was learned, as the journal has it."""

from sprintlog.facts import SprintFacts

from ..markup import Markup, section, tag, text, without
from ..numbers import time

ROWS_MAX = 60
TEXT_CHARS_MAX = 400


def learnings(facts: SprintFacts) -> Markup:
    """Return what was learned, the newest first; what was retired is marked."""
    found = [] if facts.journal is None else list(reversed(facts.journal.learnings))
    if not found:
        return without("learnings", "Learnings", "The journal has no learnings.")
    items = [
        tag(
            "li",
            tag("b", one.type or "learning"), " ", text(one.content, TEXT_CHARS_MAX),
            tag("small", " ", one.id, ", ", time(one.created_at),
                f", used {one.times_referenced} times" if one.times_referenced else "",
                "" if one.still_valid else ", retired"),
            class_=None if one.still_valid else "off",
        )
        for one in found[:ROWS_MAX]
    ]  # fmt: skip
    more = len(found) - ROWS_MAX
    note = [f"the newest first; {more:,} more are not shown"] if more > 0 else []
    return section("learnings", "Learnings", tag("ul", *items, class_="cards"), note=note)
