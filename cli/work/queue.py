"""`sprintlog queue …`: what was found on the way, and what becomes of it."""

from pathlib import Path
from typing import Any

import click
import msgspec

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.sprint.events import (
    InjectionPosition,
    RequestReopened,
    RequestReturned,
)
from sprintlog.engine.sprint.queue import decisions
from sprintlog.engine.sprint.queue.requests import QueueRequests, find_request
from sprintlog.engine.sprint.queue.rules import (
    DEFAULT_RULES,
    DecideByRules,
    Ruling,
    decide_by_rules,
)
from sprintlog.engine.sprint.state.transitions import check_exists
from sprintlog.engine.sprint.state.words import (
    DEFERRALS,
    MODELS,
    PENDING,
    PRIORITIES,
    REQUEST_STATUSES,
    REQUEST_TYPES,
)
from sprintlog.projections.views import queue as views
from sprintlog.projections.views.queue import RequestHistory, RequestWithHistory

from .. import typed
from ..context import ReadOptions, open_workspace, with_reading, with_recording
from ..loop.approval import show_approval, tell_approval
from ..output import hint, print_answer, table, warn
from ..places import source_of
from ..record import UNNAMED, Options, arguments_of, record, recording
from ..screen import times
from .injection import Coming, named, of_workflow, with_position, with_workflow
from .queue_input import name_request, read_asked

REASONING = typed.option("--reasoning", required=True, metavar="TEXT", help="The reason.")
REQUEST = click.argument("request", metavar="ID")


@typed.group("queue")
def command() -> None:
    """Add requests to the operator queue and decide on them.

    A request is pending until somebody approves, rejects or defers it or puts it into the
    backlog. Deferred requests become pending again automatically.
    """


@command.command(
    epilog="Examples: sprintlog queue add 'Crash without an address' --priority high "
    "--type bug\n\nsprintlog queue add --file found.jsonl"
)
@click.argument("title", required=False, metavar="[TITLE]")
@typed.option(
    "--description", may_be_empty=True, metavar="TEXT", help="The details. [the title]"
)
@typed.option("--priority", type=typed.Choice(PRIORITIES), help="Its urgency.")
@typed.option("--type", type=typed.Choice(REQUEST_TYPES), help="Its type.")
@typed.option("--id", "identity", metavar="ID", help="Its id. [req-N, the next number]")
@typed.option(
    "--discovered-in",
    metavar="PATH",
    help="The location, such as 'build > login > check'. [the pointer]",
)
@typed.option("--context", metavar="JSON", help="A JSON object, stored unchanged.")
@typed.option(
    "--file",
    metavar="FILE",
    help="Several at once: a JSON array, or one object a line; - for stdin.",
)
@with_recording
def add(title: str | None, file: str | None, context: str | None, **given: Any) -> None:
    """Add a request to the queue, or all requests of a file at once.

    An object in the file has `title`, `priority` and `type`, and optionally `id`,
    `description`, `created-at`, `discovered-in` and `context`.
    """
    requests, where = read_asked(title, file=file, context=context, given=given)

    try:
        record("queue add", given, QueueRequests(requests))
    except RefusedError as error:
        raise name_request(error, file, where) from error


@command.command("list", epilog="Example: sprintlog queue list --status pending --json")
@typed.option(
    "--status", multiple=True, type=typed.Choice(REQUEST_STATUSES), help="Only these."
)
@typed.option(
    "--priority", multiple=True, type=typed.Choice(PRIORITIES), help="Only these."
)
@typed.option("--type", multiple=True, type=typed.Choice(REQUEST_TYPES), help="Only these.")
@with_reading
def list_(reading: ReadOptions, **wanted: tuple[str, ...]) -> None:
    """List the requests in the order in which they were recorded."""
    with open_workspace() as workspace:
        sprint = reading.sprint(workspace)
        check_exists(sprint)
        found = views.matching(sprint, wanted)
        answer = [views.request(sprint, entry) for entry in found]
        rows = [row_of(entry) for entry in found]
        lines = table(rows, whole={0, 2, 3}, spare=(3,), least=24) or ["no requests"]
        print_answer(answer, lines, as_json=reading.as_json)


@command.command(epilog="Example: sprintlog queue show req-1")
@REQUEST
@with_reading
def show(request: str, reading: ReadOptions) -> None:
    """Show a request and its decisions: who, what and when."""
    with open_workspace() as workspace:
        sprint = reading.sprint(workspace)
        entry = find_request(sprint, request)
        found = views.with_history(sprint, entry, workspace.events(sprint.id))
    print_answer(found, lines_of(found), as_json=reading.as_json)
    if found.status == PENDING and not reading.as_json:
        hint(
            f"`sprintlog queue approve {found.id} --reasoning WHY` puts it into the plan, "
            "and with `--prompt TEXT` what you say of it; reject, defer and backlog do not"
        )


@command.command(
    epilog="Examples: sprintlog queue approve req-1 --reasoning 'people cannot log in'\n\n"
    "sprintlog queue approve req-2 --reasoning 'small' --position end-of-phase"
)
@REQUEST
@REASONING
@typed.option("--prompt", metavar="TEXT", help="The prompt. [title and description]")
@typed.option("--id-prefix", metavar="TEXT", help="Make ids from it. [fix-ID]")
@typed.option("--model", type=typed.Choice(MODELS), help="The model to execute it.")
@with_workflow
@with_position
@typed.option("--dry-run", is_flag=True, help="Show the result, record nothing.")
@with_recording
def approve(
    request: str,
    workflow: str | None,
    workflows: Path | None,
    position: InjectionPosition,
    dry_run: bool,
    **given: Any,
) -> None:
    """Approve a request and insert its work right after the current work.

    Decision and injection are recorded atomically, and a rollback to an earlier point
    discards both. To answer a question, pass the resulting task with --prompt.
    """
    said = {name: given.pop(name) for name in ("reasoning", "prompt", "id_prefix", "model")}
    if workflow is not None and (said["prompt"] is not None or said["model"] is not None):
        raise click.UsageError("--prompt and --model go with one prompt, not --workflow")
    options = Options(given)
    with recording("queue approve", options) as run:
        coming = Coming([])
        typed = ["request", "position", "workflow", *said]
        if workflow is not None:
            coming = of_workflow(workflow, workflows, run.sprint_id)
            typed.append("nodes")
        location = run.workspace.location
        command = options.masked_command(
            decisions.ApproveRequest(
                request,
                position=position,
                workflow=workflow,
                nodes=None if workflow is None else coming.nodes,
                sources=tuple(source_of(location, *read) for read in coming.read),
                **said,
            )
        )
        try:
            if dry_run:
                show_approval(run, command)
                return
            outcome = run.handle_with(command, arguments_of(command, typed))
        except RefusedError as error:
            raise named(error, coming, "phases") from error
        run.answer(outcome)
        tell_approval(run, outcome)
    _who_decided(options)


@command.command(
    epilog="Example: sprintlog queue reject req-3 --reasoning 'as the interface says'"
)
@REQUEST
@REASONING
@typed.option("--reason", metavar="TEXT", help="Why it is rejected. [the reasoning]")
@with_recording
def reject(request: str, reasoning: str, reason: str | None, **given: Any) -> None:
    """Reject a request."""
    command = decisions.RejectRequest(request, reasoning, reason)
    typed = ("request", "reasoning", "reason")
    record("queue reject", given, command, typed=typed)
    _who_decided(Options(given))


@command.command(
    epilog="Example: sprintlog queue defer req-2 --until end-of-phase --reasoning 'not now'"
)
@REQUEST
@REASONING
@typed.option(
    "--until",
    required=True,
    type=typed.Choice(DEFERRALS),
    help="When it becomes pending again.",
)
@with_recording
def defer(request: str, reasoning: str, until: str, **given: Any) -> None:
    """Defer a request; it is pending again once its condition is met.

    end-of-phase is the end of the current top-level phase. end-of-sprint is when no work is
    left. next-sprint is when the next sprint of this log starts, which takes over the
    request.
    """
    command = decisions.DeferRequest(request, reasoning, until)
    typed = ("request", "reasoning", "until")
    record("queue defer", given, command, typed=typed)
    _who_decided(Options(given))


@command.command(
    epilog="Example: sprintlog queue backlog req-4 --reasoning 'nobody waits for it'"
)
@REQUEST
@REASONING
@with_recording
def backlog(request: str, reasoning: str, **given: Any) -> None:
    """Move a request to the backlog."""
    command = decisions.BacklogRequest(request, reasoning)
    record("queue backlog", given, command, typed=("request", "reasoning"))
    _who_decided(Options(given))


@command.command(
    epilog="Example: sprintlog queue reopen req-4 --reason 'people do wait for it'"
)
@REQUEST
@typed.option("--reason", required=True, metavar="TEXT", help="Why it is decided again.")
@with_recording
def reopen(request: str, reason: str, **given: Any) -> None:
    """Revert a decision: the request is pending again, and nothing else changes.

    Work that an approval added to the plan stays there; `phase skip` skips it.
    """
    record("queue reopen", given, decisions.ReopenRequest(request, reason))


@command.command(epilog="Example: sprintlog queue decide --auto --dry-run")
@typed.option("--auto", is_flag=True, help="Let rules decide. Required.")
@typed.file_option("--rules", help="Other rules than sprintlog's own; YAML or JSON.")
@typed.option("--dry-run", is_flag=True, help="Show the decisions, record nothing.")
@with_recording
def decide(auto: bool, rules: Path | None, dry_run: bool, **given: Any) -> None:
    """Apply rules to every pending request, in one append.

    The first matching rule decides. Without --rules, critical or high bugs and security
    requests are approved after the current work, low docs go into the backlog, and all
    others are deferred to the end of the phase.
    """
    if not auto:
        raise click.UsageError("rules decide only when they are asked to: give --auto")
    options = Options(given)
    chosen = list(DEFAULT_RULES)
    if rules is not None:
        from ..intake.files import read_bytes
        from ..intake.queue import read_rules

        chosen = read_rules(read_bytes(rules), file=str(rules))
    with recording("queue decide", options) as run:
        sprint = run.workspace.sprint(run.sprint_id)
        at = options.at or run.workspace.now()
        check_exists(sprint)
        rulings = decide_by_rules(sprint, rules=chosen, at=at)
        if dry_run:
            lines = table([ruling_row(ruling) for ruling in rulings])
            answer = [*map(views.ruling, rulings)]
            print_answer(answer, lines or ["nothing is pending"], as_json=options.as_json)
            return
        arguments = {"rules": msgspec.to_builtins(chosen)}
        outcome = run.handle_with(DecideByRules(tuple(chosen)), arguments)
        for ruling in rulings:
            if ruling.problem is not None and not outcome.duplicate:
                warn(f"{ruling.request} stays pending: {ruling.problem}")
        run.answer(outcome)


def _who_decided(options: Options) -> None:
    """Tell a person that nobody will know who decided."""
    if options.actor == UNNAMED[0] and not options.as_json:
        hint("`--actor operator:NAME` says which person decides; this was by the machine")


def ruling_row(ruling: Ruling) -> list[str]:
    """Return what a rule decides as a row for people."""
    problem = f"refused: {ruling.problem}" if ruling.problem else ""
    by = f"by rule {ruling.rule}" if ruling.rule else ""
    return [ruling.request, ruling.decision or "no rule fits", by, problem]


def row_of(entry: dict[str, Any]) -> list[str]:
    """Return a request as a row of the list."""
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
        what = f"came back, {said.until} was reached"
    elif said.type == RequestReopened.type:
        what = f"reopened: {said.reason}"
    voided = "" if said.in_force else "  (rolled back)"
    return f"  {times.when(said.at)}  version {said.version}  {said.actor}  {what}{voided}"
