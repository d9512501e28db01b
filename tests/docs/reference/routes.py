"""The page of the addresses of the live page's server."""

from typing import cast

from sprintlog.cli.web.actions import ACTIONS
from sprintlog.cli.web.app import SEND_SECONDS_MAX, STREAMS_MAX, Server, routes_of
from sprintlog.cli.web.followed_log import KEPT_MAX
from sprintlog.projections.questions import EVENTS_MAX, QUESTIONS
from sprintlog.projections.text.openmetrics import METRICS
from sprintlog.projections.views.events import SAID_CHARS_MAX, EventLine

HEAD = """\
# Live page

{note}

This page lists the addresses of the server [`sprintlog serve`](cli.md#sprintlog-serve)
([how to view a loop live](../how-to/view-a-loop.md#live-in-a-browser)). All except
`/healthz` require the token: in the cookie that the first address sets, or as
`Authorization: Bearer TOKEN`.

If several logs are served, the addresses of a log begin with `/log/NAME`, such as
`/log/api/sprint?id=auth`; `/` and `/events` without a name are those of all logs."""

FIELDS = ", ".join(f"`{name}`" for name in EventLine.__struct_fields__)
EVENTS = f"""\
Each event of the log is a message whose `id` is its position; its `data` has {FIELDS} (a
description of at most {SAID_CHARS_MAX} characters). `?after=N` begins after a position,
otherwise with new events; `Last-Event-ID`, which browsers send, overrides it. The message
`reset` means that the log was replaced.

The stream of all logs counts the changes since the start of the server; its
`data` has `position`, `log` (the name) and `event`, which is null if the log became
readable or unreadable.

At most {STREAMS_MAX} streams are open; another one gets `503`. The newest {KEPT_MAX:,}
events are buffered for all: a client that is further behind, or reads nothing for
{SEND_SECONDS_MAX} seconds, is disconnected and reconnects."""

API = f"""\
The path consists of the words of a command, its options are parameters, and the answer is
its [JSON answer](answers.md). `log` returns at most {EVENTS_MAX:,} events; `after` is a
version or, with `stream=` (empty: the whole log), a position. An error is an object with
`error`, `message` and `hint`: 400 for invalid input, 404 for not found, 409 for a
conflict, 422 for a refusal, 500 for an unreadable log."""

ACT = """\
Only with `--write`. `do` names the command; the fields are those below, `sprint`, and
`form`, the token of the page's forms. Without `version` the answer previews the events;
with the version from the preview they are recorded."""


def routes_page(note: str) -> str:
    """Return the page: every address, then details of some."""
    # Only the routes are read; no request is made.
    routes = routes_of(cast(Server, _Nobody()))
    parts = [HEAD.format(note=note), "## Addresses"]
    rows = ["| address | method | answer |", "|---|---|---|"]
    for route in routes:
        method = "POST" if "POST" in (route.methods or ()) else "GET"
        path = route.path.replace("{command:path}", "…").replace("{name}", "…")
        rows.append(f"| `{path}` | {method} | {_said(route.endpoint)} |")
    parts += ["\n".join(rows), "## `/events`", EVENTS, "## `/api/…`", API]
    rows = ["| address | parameters |", "|---|---|"]
    for command, asked in QUESTIONS.items():
        takes = ", ".join(f"`{name}`" for name in asked.takes)
        rows.append(f"| `/api/{command.replace(' ', '/')}` | {takes} |")
    parts += ["\n".join(rows), "## `/act`", ACT]
    rows = ["| `do` | fields |", "|---|---|"]
    for action in ACTIONS.values():
        fields = [f"`{one.name}`{'' if one.is_needed else '?'}" for one in action.fields]
        rows.append(f"| `{action.command}` | {', '.join(fields)} |")
    parts += ["\n".join(rows), "Fields with `?` are optional.", "## `/metrics`"]
    parts.append("[OpenMetrics](https://openmetrics.io). Unknown values have no sample.")
    rows = ["| metric | kind | of each sprint |", "|---|---|---|"]
    for metric in METRICS:
        rows.append(f"| `sprintlog_{metric.name}` | {metric.kind} | {metric.help} |")
    rows.append("| `sprintlog_log_events` | counter | Once: events in the log. |")
    return "\n\n".join([*parts, "\n".join(rows)]) + "\n"


class _Nobody:
    """A stand-in for a server, used only for its methods."""

    def __getattr__(self, name: str) -> object:
        return getattr(Server, name)


def _said(endpoint: object) -> str:
    text = " ".join((getattr(endpoint, "__doc__", "") or "").split())
    return text.removeprefix("Return ").partition(".")[0]
