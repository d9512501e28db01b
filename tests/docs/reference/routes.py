"""The page of what the live page's server answers."""

from typing import cast

from sprintlog.cli.web.actions import ACTIONS
from sprintlog.cli.web.app import SEND_SECONDS_MAX, STREAMS_MAX, Server, routes_of
from sprintlog.cli.web.followed_log import KEPT_MAX
from sprintlog.projections.questions import EVENTS_MAX, QUESTIONS
from sprintlog.projections.text.openmetrics import METRICS
from sprintlog.projections.views.events import SAID_CHARS_MAX, EventLine

HEAD = """\
# The server of the live page

{note}

What [`sprintlog serve`](cli.md#sprintlog-serve) answers
([how to view a loop live](../how-to/view-a-loop.md#live-in-a-browser)). Every address but
`/healthz` needs the token: in the cookie that the first address sets, or as
`Authorization: Bearer TOKEN`."""

FIELDS = ", ".join(f"`{name}`" for name in EventLine.__struct_fields__)
EVENTS = f"""\
Each event of the log comes as a message whose `id` is its position; its `data` has
{FIELDS} (what it is about, in at most {SAID_CHARS_MAX}
characters). `?after=N` begins after a position, else with what comes; `Last-Event-ID` does
the same and counts more, as browsers send it by themselves. The message `reset` says that
this is another log than before.

At most {STREAMS_MAX} streams are open; one more gets `503`. The newest {KEPT_MAX:,} events
are kept for all of them: who falls further behind, or reads nothing for {SEND_SECONDS_MAX}
seconds, is let go and comes again."""

API = f"""\
The words of a command are the path, its options are parameters, and the answer is that of
its `--json`, by [the same schema](answers.md). `log` answers at most {EVENTS_MAX:,} events;
`after` is the version after which it goes on, or with `stream=` (empty: the whole log) the
position. An error is an object with `error`, `message` and `hint`: 400 for what is wrong,
404 for what is not there, 409 where somebody was first, 422 where a rule says no, 500 for
a log that cannot be read."""

ACT = """\
With `--write` alone. `do` names the command; the fields are those below, `sprint`, and
`form`, the token of the page's forms. Without `version` the answer shows what would be
recorded; with the version that it shows it is recorded."""


def routes_page(note: str) -> str:
    """Return the page: every address, then what those with more to say are."""
    # Nothing is asked of it: only what it would answer.
    routes = routes_of(cast(Server, _Nobody()))
    parts = [HEAD.format(note=note), "## Addresses"]
    rows = ["| address | method | answers |", "|---|---|---|"]
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
    parts += ["\n".join(rows), "A field with `?` may be left out.", "## `/metrics`"]
    parts.append("[OpenMetrics](https://openmetrics.io). What nobody knows has no sample.")
    rows = ["| metric | kind | of each sprint |", "|---|---|---|"]
    for metric in METRICS:
        rows.append(f"| `sprintlog_{metric.name}` | {metric.kind} | {metric.help} |")
    rows.append("| `sprintlog_log_events` | counter | Once: events in the log. |")
    return "\n\n".join([*parts, "\n".join(rows)]) + "\n"


class _Nobody:
    """Stands for a server of which only the methods are looked at."""

    def __getattr__(self, name: str) -> object:
        return getattr(Server, name)


def _said(endpoint: object) -> str:
    text = " ".join((getattr(endpoint, "__doc__", "") or "").split())
    return text.removeprefix("Answer with ").removeprefix("Answer ").partition(".")[0]
