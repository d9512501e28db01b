"""Sections with recorded decisions, requests, learnings and events."""

import re

from sprintlog.events import RecordedEvent
from sprintlog.facts import Decision, SprintFacts

from . import limits
from .markup import Markup, command, row, section, table, tag, text, without
from .numbers import time, version_link

EVENT_CHARS_MAX = 180
DATA_CHARS_MAX = 400


def events(facts: SprintFacts) -> Markup:
    """Return the newest events, newest first."""
    shown = list(reversed(facts.event_lines(limits.EVENTS)))
    rows = [
        _event_row(*one, has_data=at < limits.EVENTS_WITH_DATA)
        for at, one in enumerate(shown)
    ]
    before = facts.version - len(shown)
    told = f"; {before:,} earlier ones" if before else ""
    note = [f"the newest first{told}: ", command(f"sprintlog log{facts.named}")]
    head = ("version", "when", "who", "what")
    made = table(head, rows, label="events", class_="wide filtered stacked")
    return section("events", "Events", made, note=note)


def _event_row(
    recorded: RecordedEvent, said: str, is_quiet: bool, *, has_data: bool
) -> Markup:
    data = ""
    if has_data and recorded.payload is not None:
        payload = recorded.payload.decode(errors="replace")
        data = tag("code", text(payload, DATA_CHARS_MAX), class_="data")
    return row(
        [
            tag("td", version_link(recorded.version)),
            tag("td", time(recorded.at)),
            tag("td", text(recorded.actor, 60)),
            tag("td", text(said, EVENT_CHARS_MAX), data, class_="t"),
        ],
        class_="q" if is_quiet else None,
        id=f"v{recorded.version}",
    )


REQUESTS_MAX = 100
REQUEST_CHARS_MAX = 240


def queue(facts: SprintFacts) -> Markup:
    """Return the requests, with pending requests first."""
    found = sorted(facts.queue, key=lambda one: one.status != "pending")
    if not found:
        return without("queue", "Queue", "There are no requests.")
    waiting = sum(one.status == "pending" for one in found)
    head = ("request", "status", "priority", "type", "title", "why")
    rows = [
        row([
            tag("td", text(one.id, 60)),
            tag("td", tag("b", text(one.status))),
            tag("td", text(one.priority)),
            tag("td", text(one.type)),
            tag("td", text(one.title, REQUEST_CHARS_MAX), class_="t"),
            tag("td", text(why, REQUEST_CHARS_MAX), class_="t"),
        ])
        for one in found[:REQUESTS_MAX]
        for why in [one.reasoning or one.rejection_reason]
    ]  # fmt: skip
    left = len(found) - REQUESTS_MAX
    more = f"; {left:,} more are not shown" if left > 0 else ""
    line = command(f"sprintlog queue list{facts.named}")
    made = table(head, rows, label="queue", class_="filtered")
    note = [f"{waiting} of {len(found)} wait{more}: ", line]
    return section("queue", "Queue", made, note=note)


LEARNINGS_MAX = 60
LEARNING_CHARS_MAX = 400


def learnings(facts: SprintFacts) -> Markup:
    """Return the learnings, newest first; retired learnings are marked."""
    found = [] if facts.journal is None else list(reversed(facts.journal.learnings))
    if not found:
        return without("learnings", "Learnings", "The journal has no learnings.")
    items = [
        tag(
            "li",
            tag("b", one.type or "learning"), " ", text(one.content, LEARNING_CHARS_MAX),
            tag("small", " ", one.id, ", ", time(one.created_at),
                f", used {one.times_referenced} times" if one.times_referenced else "",
                "" if one.still_valid else ", retired"),
            class_=None if one.still_valid else "off",
        )
        for one in found[:LEARNINGS_MAX]
    ]  # fmt: skip
    more = len(found) - LEARNINGS_MAX
    note = [f"the newest first; {more:,} more are not shown"] if more > 0 else []
    return section("learnings", "Learnings", tag("ul", *items, class_="cards"), note=note)


DECISION_CHARS_MAX = 300
_NAMED = re.compile(r"(?<=: )[a-z]+(?:-[a-z]+)+")
_BAD = {"block", "rollback", "loss"}


def decisions(facts: SprintFacts) -> Markup:
    """Return the decisions, newest first."""
    found = facts.decisions
    if not found:
        return without("decisions", "Decisions", "Nothing was decided yet.")
    head = ("version", "when", "who", "what and why", "then")
    rows = [_decision_row(facts, one) for one in reversed(found[-limits.DECISIONS :])]
    earlier = len(found) - len(rows)
    more = f"{earlier:,} earlier ones" if earlier else "all with their kinds"
    line = command(f"sprintlog audit{facts.named}")
    made = table(head, rows, label="decisions", class_="wide filtered stacked")
    note = [f"the newest first; {more}: ", line]
    return section("decisions", "Decisions", made, note=note)


def _decision_row(facts: SprintFacts, one: Decision) -> Markup:
    told = facts.decision_words(one)
    observed = " (observed)" if one.observed else ""
    # Filters match the kind.
    what = tag(
        "b", text(told.what, DECISION_CHARS_MAX), class_="bad" if one.kind in _BAD else None
    )
    why = tag("div", "because: ", text(told.why, DECISION_CHARS_MAX)) if told.why else ""
    # Event names contain hyphens, which are replaced by spaces.
    then = _NAMED.sub(lambda found: found[0].replace("-", " "), one.followed)
    return row(
        [
            tag("td", version_link(one.version)),
            tag("td", time(one.at)),
            tag("td", text(f"{one.actor}{observed}")),
            tag("td", what, " ", tag("small", one.kind), why, class_="t"),
            tag("td", text(then, DECISION_CHARS_MAX) if then else "", class_="t"),
        ],
        class_=None if one.in_force else "off",
    )
