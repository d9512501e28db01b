"""The decisions: who, when, on what evidence, and what followed."""

from ...history.decisions import LOSS, Decision
from ..facts import Facts
from ..markup import Markup, command, heading, row, section, table, tag, text
from ..numbers import time, version_link

ROWS_MAX = 80
"""Of more decisions only the last ones are shown."""
TEXT_CHARS_MAX = 200
_BAD = {"block", "rollback", LOSS}


def decisions(facts: Facts) -> Markup:
    """Return the decisions, the newest first."""
    found = facts.decisions
    if not found:
        nothing = tag("p", "Nothing was decided yet.", class_="empty")
        return section("decisions", "Decisions", nothing)
    head = [heading(name) for name in ("version", "when", "who", "what", "on what", "then")]
    rows = [_row(one) for one in reversed(found[-ROWS_MAX:])]
    note = tag(
        "p",
        f"the newest first; {len(found) - len(rows):,} earlier ones: "
        if len(found) > len(rows)
        else "the newest first; all with their kinds: ",
        command(f"sprintlog audit{facts.named}"),
        class_="note",
    )
    made = table(head, rows, label="decisions", class_="wide filtered")
    return section("decisions", "Decisions", note, made)


def _row(one: Decision) -> Markup:
    about = f" {one.about}" if one.about else ""
    said = f": {one.said}" if one.said else ""
    kind = tag("b", one.kind, class_="bad" if one.kind in _BAD else None)
    what = text(f" {one.type}{about}{said}", TEXT_CHARS_MAX)
    observed = " (observed)" if one.observed else ""
    return row(
        [
            tag("td", version_link(one.version)),
            tag("td", time(one.at)),
            tag("td", text(f"{one.actor}{observed}")),
            tag("td", kind, what, class_="t"),
            _long(one.evidence),
            _long(one.followed),
        ],
        class_=None if one.in_force else "off",
    )


def _long(said: str) -> Markup:
    return tag("td", text(said, TEXT_CHARS_MAX) if said else "", class_="t")
