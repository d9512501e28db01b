"""The sessions of agents that worked on the sprint, and their tool calls in figures."""

from sprintlog.facts import SprintFacts

from ..markup import Markup, command, row, section, table, tag, text, without
from ..numbers import number, time

FILES_SHOWN = 6


def sessions(facts: SprintFacts) -> Markup:
    """Return a row for each session, the newest first."""
    found = list(reversed(facts.sessions))
    if not found:
        installs = command("sprintlog hooks install AGENT")
        told = ("No session was recorded: ", installs, " records what agents do.")
        return without("sessions", "Sessions of agents", *told)
    head = ("session", "from", "to", "tool calls", "failed", "what", "files")
    rows = []
    for name, one, figures in found:
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
                tag("td", text(figures), class_="t"),
                tag("td", text(files), class_="t"),
            ])
        )  # fmt: skip
    made = table(head, rows, label="sessions", class_="wide")
    note = ["every call of one: ", command("sprintlog log --session ID")]
    return section("sessions", "Sessions of agents", made, note=note)
