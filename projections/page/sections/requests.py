"""The operator queue: what was asked for, and what was decided of it."""

from ...views.queue import RequestAnswer
from ..facts import Facts
from ..markup import Markup, command, heading, row, section, table, tag, text

ROWS_MAX = 100
TEXT_CHARS_MAX = 240


def queue(facts: Facts) -> Markup:
    """Return the requests, those that wait first."""
    found = sorted(facts.queue, key=lambda one: one.status != "pending")
    if not found:
        nothing = tag("p", "Nobody asked for anything.", class_="empty")
        return section("queue", "Queue", nothing)
    waiting = sum(one.status == "pending" for one in found)
    head = [heading(x) for x in ("request", "status", "priority", "type", "title", "why")]
    rows = [
        row([
            tag("td", text(one.id, 60)),
            tag("td", tag("b", text(one.status))),
            tag("td", text(one.priority)),
            tag("td", text(one.type)),
            tag("td", text(one.title, TEXT_CHARS_MAX), class_="t"),
            tag("td", text(_why(one), TEXT_CHARS_MAX), class_="t"),
        ])
        for one in found[:ROWS_MAX]
    ]  # fmt: skip
    more = (
        f"; {len(found) - ROWS_MAX:,} more are not shown" if len(found) > ROWS_MAX else ""
    )
    line = command(f"sprintlog queue list{facts.named}")
    note = tag("p", f"{waiting} of {len(found)} wait{more}: ", line, class_="note")
    made = table(head, rows, label="queue", class_="filtered")
    return section("queue", "Queue", note, made)


def _why(one: RequestAnswer) -> object:
    return one.reasoning or one.rejection_reason
