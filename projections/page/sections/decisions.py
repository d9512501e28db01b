"""The decisions: who, when, on what evidence, and what followed."""

import re

from sprintlog.engine.log.envelope import RecordedEvent

from ...history.decisions import LOSS, Decision
from ...words.decided import decided
from ..facts import Facts
from ..markup import (
    NOTHING,
    Markup,
    classes,
    command,
    heading,
    row,
    section,
    table,
    tag,
    text,
)
from ..numbers import time, version_link

TEXT_CHARS_MAX = 300
_NAMED = re.compile(r"(?<=: )[a-z]+(?:-[a-z]+)+")
_BAD = {"block", "rollback", LOSS}


def decisions(facts: Facts) -> Markup:
    """Return the decisions, the newest first."""
    found = facts.decisions
    if not found:
        nothing = tag("p", "Nothing was decided yet.", class_="empty")
        return section("decisions", "Decisions", nothing)
    head = [heading(name) for name in ("version", "when", "who", "what and why", "then")]
    shown = found[-facts.limits.decisions :]
    rows = [_row(one, facts.event(one.version)) for one in reversed(shown)]
    note = tag(
        "p",
        f"the newest first; {len(found) - len(rows):,} earlier ones: "
        if len(found) > len(rows)
        else "the newest first; all with their kinds: ",
        command(f"sprintlog audit{facts.named}"),
        class_="note",
    )
    made = table(
        head, rows, label="decisions", class_=classes("wide", "filtered", "stacked")
    )
    return section("decisions", "Decisions", note, made)


def _row(one: Decision, recorded: RecordedEvent) -> Markup:
    told = decided(recorded, one)
    observed = " (observed)" if one.observed else ""
    # The kind is what a filter looks for.
    what = tag("b", text(told.what, TEXT_CHARS_MAX), class_="bad" if _is_bad(one) else None)
    why = tag("div", "because: ", text(told.why, TEXT_CHARS_MAX)) if told.why else ""
    return row(
        [
            tag("td", version_link(one.version)),
            tag("td", time(one.at)),
            tag("td", text(f"{one.actor}{observed}")),
            tag("td", what, " ", tag("small", one.kind), why, class_="t"),
            tag("td", _then(one.followed), class_="t"),
        ],
        class_=None if one.in_force else "off",
    )


def _is_bad(one: Decision) -> bool:
    return one.kind in _BAD


def _then(followed: str) -> Markup:
    """Return what came of it, in words; the name of an event without its hyphens."""
    said = _NAMED.sub(lambda found: found[0].replace("-", " "), followed)
    return text(said, TEXT_CHARS_MAX) if said else NOTHING
