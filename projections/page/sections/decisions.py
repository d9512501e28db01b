"""The decisions: who, when, on what evidence, and what followed."""

import re

from sprintlog.facts import Decision, SprintFacts

from ..limits import limits_of
from ..markup import Markup, command, row, section, table, tag, text, without
from ..numbers import time, version_link

TEXT_CHARS_MAX = 300
_NAMED = re.compile(r"(?<=: )[a-z]+(?:-[a-z]+)+")
_BAD = {"block", "rollback", "loss"}


def decisions(facts: SprintFacts) -> Markup:
    """Return the decisions, the newest first."""
    found = facts.decisions
    if not found:
        return without("decisions", "Decisions", "Nothing was decided yet.")
    head = ("version", "when", "who", "what and why", "then")
    shown = found[-limits_of(facts).decisions :]
    rows = [_row(facts, one) for one in reversed(shown)]
    earlier = len(found) - len(rows)
    more = f"{earlier:,} earlier ones" if earlier else "all with their kinds"
    line = command(f"sprintlog audit{facts.named}")
    made = table(head, rows, label="decisions", class_="wide filtered stacked")
    note = [f"the newest first; {more}: ", line]
    return section("decisions", "Decisions", made, note=note)


def _row(facts: SprintFacts, one: Decision) -> Markup:
    told = facts.decision_words(one)
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
