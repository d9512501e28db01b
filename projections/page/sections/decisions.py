"""The decisions: who, when, on what evidence, and what followed."""

import re

from sprintlog.engine.log.envelope import RecordedEvent

from ...history.decisions import LOSS, Decision
from ...text.decision_sentences import decided
from ..facts import Facts
from ..markup import Markup, command, row, section, table, tag, text, without
from ..numbers import time, version_link

TEXT_CHARS_MAX = 300
_NAMED = re.compile(r"(?<=: )[a-z]+(?:-[a-z]+)+")
_BAD = {"block", "rollback", LOSS}


def decisions(facts: Facts) -> Markup:
    """Return the decisions, the newest first."""
    found = facts.decisions
    if not found:
        return without("decisions", "Decisions", "Nothing was decided yet.")
    head = ("version", "when", "who", "what and why", "then")
    shown = found[-facts.limits.decisions :]
    rows = [_row(one, facts.event(one.version)) for one in reversed(shown)]
    earlier = len(found) - len(rows)
    more = f"{earlier:,} earlier ones" if earlier else "all with their kinds"
    line = command(f"sprintlog audit{facts.named}")
    made = table(head, rows, label="decisions", class_="wide filtered stacked")
    note = [f"the newest first; {more}: ", line]
    return section("decisions", "Decisions", made, note=note)


def _row(one: Decision, recorded: RecordedEvent) -> Markup:
    told = decided(recorded, one)
    observed = " (observed)" if one.observed else ""
    # The kind is what a filter looks for.
    what = tag(
        "b", text(told.what, TEXT_CHARS_MAX), class_="bad" if one.kind in _BAD else None
    )
    why = tag("div", "because: ", text(told.why, TEXT_CHARS_MAX)) if told.why else ""
    # In words: the name of an event has hyphens.
    then = _NAMED.sub(lambda found: found[0].replace("-", " "), one.followed)
    return row(
        [
            tag("td", version_link(one.version)),
            tag("td", time(one.at)),
            tag("td", text(f"{one.actor}{observed}")),
            tag("td", what, " ", tag("small", one.kind), why, class_="t"),
            tag("td", text(then, TEXT_CHARS_MAX) if then else "", class_="t"),
        ],
        class_=None if one.in_force else "off",
    )
