"""The operator queue: what was asked for, and what was decided of it."""

from sprintlog.facts import SprintFacts

from ..markup import Markup, command, row, section, table, tag, text, without

ROWS_MAX = 100
TEXT_CHARS_MAX = 240


def queue(facts: SprintFacts) -> Markup:
    """Return the requests, those that wait first."""
    found = sorted(facts.queue, key=lambda one: one.status != "pending")
    if not found:
        return without("queue", "Queue", "Nobody asked for anything.")
    waiting = sum(one.status == "pending" for one in found)
    head = ("request", "status", "priority", "type", "title", "why")
    rows = [
        row([
            tag("td", text(one.id, 60)),
            tag("td", tag("b", text(one.status))),
            tag("td", text(one.priority)),
            tag("td", text(one.type)),
            tag("td", text(one.title, TEXT_CHARS_MAX), class_="t"),
            tag("td", text(why, TEXT_CHARS_MAX), class_="t"),
        ])
        for one in found[:ROWS_MAX]
        for why in [one.reasoning or one.rejection_reason]
    ]  # fmt: skip
    left = len(found) - ROWS_MAX
    more = f"; {left:,} more are not shown" if left > 0 else ""
    line = command(f"sprintlog queue list{facts.named}")
    made = table(head, rows, label="queue", class_="filtered")
    note = [f"{waiting} of {len(found)} wait{more}: ", line]
    return section("queue", "Queue", made, note=note)
