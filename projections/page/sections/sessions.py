"""The sessions of agents that worked on the sprint, and their tool calls in figures."""

from ...words.of_sessions import figures
from ..facts import Facts
from ..markup import Markup, command, heading, row, section, table, tag, text
from ..numbers import number, time

FILES_SHOWN = 6


def sessions(facts: Facts) -> Markup:
    """Return a row for each session, the newest first."""
    found = list(reversed(facts.sessions))
    if not found:
        nothing = tag(
            "p", "No session was recorded: ", command("sprintlog hooks install AGENT"),
            " records what agents do.", class_="empty",
        )  # fmt: skip
        return section("sessions", "Sessions of agents", nothing)
    names = ("session", "from", "to", "tool calls", "failed", "what", "files")
    head = [heading(name) for name in names]
    rows = []
    for name, one in found:
        files = ", ".join(one.files_changed[:FILES_SHOWN])
        if len(one.files_changed) > FILES_SHOWN:
            files += f" and {len(one.files_changed) - FILES_SHOWN} more"
        rows.append(
            row([
                tag("td", text(name, 24)),
                tag("td", time(one.started_at)),
                tag("td", time(one.ended_at or one.last_at)),
                tag("td", number(one.tool_calls), class_="num"),
                tag("td", number(one.failed_calls), class_="num"),
                tag("td", text(figures(one, ends=False)), class_="t"),
                tag("td", text(files), class_="t"),
            ])
        )  # fmt: skip
    line = command("sprintlog log --session ID")
    note = tag("p", "every call of one: ", line, class_="note")
    made = table(head, rows, label="sessions", class_="wide")
    return section("sessions", "Sessions of agents", note, made)
