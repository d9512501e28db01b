"""The events, in three densities: what matters, one line each, and with their data."""

from sprintlog.events import RecordedEvent
from sprintlog.facts import SprintFacts

from ..limits import limits_of
from ..markup import Markup, command, row, section, table, tag, text
from ..numbers import time, version_link

TEXT_CHARS_MAX = 180
DATA_CHARS_MAX = 400


def events(facts: SprintFacts) -> Markup:
    """Return the newest events, the newest first."""
    limits = limits_of(facts)
    shown = list(reversed(facts.event_lines(limits.events)))
    rows = [_row(*one, has_data=at < limits.data) for at, one in enumerate(shown)]
    before = facts.version - len(shown)
    told = f"; {before:,} earlier ones" if before else ""
    note = [f"the newest first{told}: ", command(f"sprintlog log{facts.named}")]
    head = ("version", "when", "who", "what")
    made = table(head, rows, label="events", class_="wide filtered stacked")
    return section("events", "Events", made, note=note)


def _row(recorded: RecordedEvent, said: str, is_quiet: bool, *, has_data: bool) -> Markup:
    data = ""
    if has_data and recorded.payload is not None:
        payload = recorded.payload.decode(errors="replace")
        data = tag("code", text(payload, DATA_CHARS_MAX), class_="data")
    return row(
        [
            tag("td", version_link(recorded.version)),
            tag("td", time(recorded.at)),
            tag("td", text(recorded.actor, 60)),
            tag("td", text(said, TEXT_CHARS_MAX), data, class_="t"),
        ],
        class_="q" if is_quiet else None,
    )
