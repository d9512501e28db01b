"""The `sprintlog queue` commands: add, list and show operator queue requests."""

from collections.abc import Mapping
from typing import Any

import click
import msgspec

from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.sprint.events import RequestReopened, RequestReturned
from sprintlog.engine.sprint.queue import requests as asking
from sprintlog.engine.sprint.state import transitions, words
from sprintlog.projections.views import queue as views
from sprintlog.projections.views.queue import RequestHistory, RequestWithHistory

from .. import typed
from ..context import ReadOptions, with_reading, with_recording
from ..intake.files import read_text
from ..output import hint, print_answer, table
from ..record import record
from ..screen import times

OF_ONE = ("description", "priority", "type", "identity", "discovered_in")


def read_asked(
    title: str | None, *, file: str | None, context: str | None, given: Mapping[str, Any]
) -> tuple[list[asking.SubmittedRequest], list[int] | None]:
    """Return the given requests and, for a file, their line numbers."""
    if file is None:
        return [_asked(title, context, given)], None
    if title or context is not None or any(given[name] for name in OF_ONE):
        raise click.UsageError("--file cannot be combined with other options")
    from ..intake.queue import read_requests

    return read_requests(read_text(file), file=file)


def _asked(
    title: str | None, context: str | None, given: Mapping[str, Any]
) -> asking.SubmittedRequest:
    if not title:
        raise click.UsageError("specify a TITLE or a --file")
    asked = asking.SubmittedRequest(
        title,
        given["priority"] or "medium",
        given["type"] or "improvement",
        description=given["description"],
        request=given["identity"],
        discovered_in=given["discovered_in"],
    )
    if context is None:
        return asked
    from ..intake.queue import read_context

    return msgspec.structs.replace(asked, context=read_context(context, field="--context"))


def name_request(
    error: RefusedError, file: str | None, lines: list[int] | None
) -> RefusedError:
    """Return an error that names the option, or the file and line."""
    field = str(error.fields.get("field") or "")
    index, _, name = field.removeprefix("requests[").partition("].")
    if not field.startswith("requests["):
        return error
    problem = error.message.removeprefix(f"{field}: ")
    if file is None:
        option = "TITLE" if name == "title" else f"--{name}"
        return InvalidInputError(problem, field=option, hint=error.hint)
    if lines is None:
        return InvalidInputError(problem, file=file, field=field, hint=error.hint)
    line = lines[int(index)]
    return InvalidInputError(problem, file=file, line=line, field=name, hint=error.hint)


REQUEST = typed.argument("request", metavar="ID")
DECISIONS = ("approve", "backlog", "decide", "defer", "reject", "reopen")


@typed.group("queue", lazy={name: f"work.queue_decisions:{name}" for name in DECISIONS})
def command() -> None:
    """Add requests to the operator queue and decide on them.

    A request is pending until it is approved, rejected, deferred or moved to the backlog.
    Deferred requests become pending again automatically.
    """


@command.command()
@typed.argument("title", required=False, metavar="[TITLE]")
@typed.option("--description", may_be_empty=True, help="Details. [the title]")
@typed.choice_option("--priority", of=words.PRIORITIES, help="The priority. [medium]")
@typed.choice_option("--type", of=words.REQUEST_TYPES, help="The type. [improvement]")
@typed.option("--id", "identity", metavar="ID", help="The id. [req-N, the next number]")
@typed.option(
    "--discovered-in",
    metavar="PATH",
    help="The location, such as 'build > login > check'. [the pointer]",
)
@typed.option("--context", metavar="JSON", help="A JSON object to store unchanged.")
@typed.option(
    "--file",
    metavar="FILE",
    help="Add several from a file: a JSON array, or one object per line; - for stdin.",
)
@with_recording
def add(title: str | None, file: str | None, context: str | None, **given: Any) -> None:
    """Add a request to the queue, or all requests in a file at once.

    Each object in the file has `title`, `priority` and `type`, and optionally `id`,
    `description`, `created-at`, `discovered-in` and `context`.

    Examples: sprintlog queue add 'Crash without an address' --priority high --type bug

    sprintlog queue add --file found.jsonl
    """
    requests, where = read_asked(title, file=file, context=context, given=given)

    try:
        record("queue add", given, asking.QueueRequests(requests))
    except RefusedError as error:
        raise name_request(error, file, where) from error


@command.command("list")
@typed.choice_option(
    "--status", of=words.REQUEST_STATUSES, multiple=True, help="Only this state."
)
@typed.choice_option(
    "--priority", of=words.PRIORITIES, multiple=True, help="Only this priority."
)
@typed.choice_option(
    "--type", of=words.REQUEST_TYPES, multiple=True, help="Only this type."
)
@with_reading
def list_(reading: ReadOptions, **wanted: tuple[str, ...]) -> None:
    """List the requests in the order in which they were recorded.

    Example: sprintlog queue list --status pending --json
    """
    with reading.opened() as (_, sprint):
        transitions.check_exists(sprint)
        found = views.matching(sprint, wanted)
        answer = [views.request(sprint, entry) for entry in found]
        rows = [row_of(entry) for entry in found]
        lines = table(rows, whole={0, 2, 3}, spare=(3,), least=24) or ["no requests"]
        print_answer(answer, lines, as_json=reading.as_json)


@command.command()
@REQUEST
@with_reading
def show(request: str, reading: ReadOptions) -> None:
    """Show a request and its decisions: who decided what, and when.

    Example: sprintlog queue show req-1
    """
    with reading.opened() as (workspace, sprint):
        entry = asking.find_request(sprint, request)
        found = views.with_history(sprint, entry, workspace.events(sprint.id))
    print_answer(found, lines_of(found), as_json=reading.as_json)
    if found.status == words.PENDING and not reading.as_json:
        hint(
            f"`sprintlog queue approve {found.id} --reasoning WHY` adds it to the plan, "
            "with your own `--prompt TEXT` if given; reject, defer and backlog do not"
        )


def row_of(entry: dict[str, Any]) -> list[str]:
    """Return a request as a row in the list."""
    status, until = str(entry["status"]), entry.get("deferred-until")
    said = f"{status} ({until})" if until and status == "deferred" else status
    rest = [str(entry.get(key) or "") for key in ("priority", "type", "title")]
    return [entry["id"], said, *rest]


def lines_of(request: RequestWithHistory) -> list[str]:
    """Return a request as lines for people."""
    lines = [f"{request.id}  {request.status}  {request.priority} {request.type}"]
    lines.append(f"  {request.title}")
    if request.description not in (None, request.title):
        lines += [f"  {line}" for line in str(request.description).split("\n")]
    if request.asked_by is not None:
        at = f"in iteration {request.asked_in}, " if request.asked_in else ""
        lines.append(f"  asked: {at}by {request.asked_by}")
    for name in _SHOWN:
        if (value := getattr(request, name)) is not None:
            shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            lines.append(f"  {name.replace('_', ' ')}: {shown}")
    return [*lines, *map(_line, request.history)]


_SHOWN = (
    *("created_at", "discovered_in", "taken_over_from", "context", "decided_at"),
    *("decision", "reasoning", "rule", "injection", "rejection_reason", "deferred_until"),
    "came_back_from",
)


def _line(said: RequestHistory) -> str:
    what = said.type
    if said.decision:
        by = f" by rule {said.rule}" if said.rule else ""
        what = f"{said.decision}{by}: {said.reasoning}"
    elif said.type == RequestReturned.type:
        what = f"pending again: {said.until} was reached"
    elif said.type == RequestReopened.type:
        what = f"reopened: {said.reason}"
    voided = "" if said.in_force else "  (rolled back)"
    return f"  {times.when(said.at)}  version {said.version}  {said.actor}  {what}{voided}"
