"""The `sprintlog queue` commands that decide on requests, such as `approve` and `defer`."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.events import Injection, InjectionPosition
from sprintlog.engine.sprint.plan.injection import addresses
from sprintlog.engine.sprint.queue import decisions
from sprintlog.engine.sprint.queue import rules as queue_rules
from sprintlog.engine.sprint.queue.decisions import ApproveRequest
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.transitions import check_exists
from sprintlog.engine.sprint.state.tree import takes_part
from sprintlog.engine.sprint.state.words import DEFERRALS, MODELS
from sprintlog.projections.views import queue as views
from sprintlog.projections.views.back import decoded
from sprintlog.projections.workspace import Handled

from .. import context, places, typed
from ..intake.files import read_bytes
from ..output import fitting, hint, print_answer, print_text, table, warn
from ..record import UNNAMED, Options, Recording, arguments_of, record, recording
from .injection import Coming, named, of_workflow, with_position, with_workflow
from .queue import REQUEST

APPROVE = "approve"


def show_approval(run: Recording, command: ApproveRequest) -> None:
    """Show the work that an approval would add to the plan, without recording it."""
    sprint, at = run.workspace.sprint(run.sprint_id), run.options.at
    events = run.workspace.preview(command, sprint_id=run.sprint_id, at=at)
    would = queue_rules.Ruling(command.request, None, APPROVE, events)
    lines = [*_coming(sprint, events)] or ["nothing to do"]
    print_answer(views.ruling(would), lines, as_json=run.options.as_json)


def tell_approval(run: Recording, outcome: Handled[Sprint]) -> None:
    """Print the work that an approval added to the plan."""
    if not run.options.as_json:
        print_text(*_coming(outcome.state, decoded(outcome.events)))


def _coming(sprint: Sprint, events: Iterable[Event]) -> Iterator[str]:
    first = ", before it goes on towards its goal" if sprint.plan.is_ralph else ""
    for injection in events:
        if not isinstance(injection, Injection):
            continue
        nodes = filter(takes_part, injection.nodes)
        for address, node in zip(addresses(injection), nodes, strict=True):
            asked = str(node.get("prompt") or "").partition("\n")[0]
            said = f": {asked}" if asked else ""
            yield fitting(f"the loop works on phase {address}{first}{said}")


REASONING = typed.option("--reasoning", required=True, help="The reason.")


@typed.command()
@REQUEST
@REASONING
@typed.option("--prompt", help="The prompt. [title and description]")
@typed.option("--id-prefix", help="Derive ids from this prefix. [fix-ID]")
@typed.choice_option("--model", of=MODELS, help="The model to execute it.")
@with_workflow
@with_position
@typed.flag("--dry-run", help="Show the result without recording it.")
@context.with_recording
def approve(
    request: str,
    workflow: str | None,
    workflows: Path | None,
    position: InjectionPosition,
    dry_run: bool,
    **given: Any,
) -> None:
    """Approve a request and insert its work right after the current work.

    The decision and the injection are recorded atomically, and a rollback to an earlier
    point discards both. To answer a question, pass the resulting task with --prompt.

    Examples: sprintlog queue approve req-1 --reasoning 'people cannot log in'

    sprintlog queue approve req-2 --reasoning 'small' --position end-of-phase
    """
    said = {name: given.pop(name) for name in ("reasoning", "prompt", "id_prefix", "model")}
    if workflow is not None and (said["prompt"] is not None or said["model"] is not None):
        raise click.UsageError("--prompt and --model cannot be combined with --workflow")
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
                sources=tuple(places.source_of(location, *read) for read in coming.read),
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


@typed.command()
@REQUEST
@REASONING
@typed.option("--reason", help="Why it is rejected. [the reasoning]")
@context.with_recording
def reject(request: str, reasoning: str, reason: str | None, **given: Any) -> None:
    """Reject a request.

    Example: sprintlog queue reject req-3 --reasoning 'as the interface says'
    """
    record("queue reject", given, decisions.RejectRequest(request, reasoning, reason))
    _who_decided(Options(given))


@typed.command()
@REQUEST
@REASONING
@typed.choice_option(
    "--until", of=DEFERRALS, required=True, help="When the request becomes pending again."
)
@context.with_recording
def defer(request: str, reasoning: str, until: str, **given: Any) -> None:
    """Defer a request; it becomes pending again once its condition is met.

    end-of-phase is the end of the current top-level phase. end-of-sprint is when no work is
    left. next-sprint is when the next sprint in this log starts; that sprint takes over the
    request.

    Example: sprintlog queue defer req-2 --until end-of-phase --reasoning 'not now'
    """
    record("queue defer", given, decisions.DeferRequest(request, reasoning, until))
    _who_decided(Options(given))


@typed.command()
@REQUEST
@REASONING
@context.with_recording
def backlog(request: str, reasoning: str, **given: Any) -> None:
    """Move a request to the backlog.

    Example: sprintlog queue backlog req-4 --reasoning 'nobody waits for it'
    """
    record("queue backlog", given, decisions.BacklogRequest(request, reasoning))
    _who_decided(Options(given))


@typed.command()
@REQUEST
@typed.option("--reason", required=True, help="Why it is decided again.")
@context.with_recording
def reopen(request: str, reason: str, **given: Any) -> None:
    """Revert a decision: the request becomes pending again, and nothing else changes.

    Work that an approval added to the plan stays there; use `phase skip` to skip it.

    Example: sprintlog queue reopen req-4 --reason 'people do wait for it'
    """
    record("queue reopen", given, decisions.ReopenRequest(request, reason))


@typed.command()
@typed.flag("--auto", help="Let rules decide; required.")
@typed.file_option("--rules", help="Use other rules than sprintlog's; YAML or JSON.")
@typed.flag("--dry-run", help="Show the decisions without recording them.")
@context.with_recording
def decide(auto: bool, rules: Path | None, dry_run: bool, **given: Any) -> None:
    """Apply rules to all pending requests in one append.

    The first matching rule decides. Without --rules, critical or high bugs and security
    requests are approved and inserted after the current work, low docs requests are moved
    to the backlog, and all others are deferred to the end of the phase.

    Example: sprintlog queue decide --auto --dry-run
    """
    if not auto:
        raise click.UsageError("missing option --auto")
    options = Options(given)
    chosen = list(queue_rules.DEFAULT_RULES)
    if rules is not None:
        from ..intake.queue import read_rules

        chosen = read_rules(read_bytes(rules), file=str(rules))
    with recording("queue decide", options) as run:
        sprint = run.workspace.sprint(run.sprint_id)
        at = options.at or run.workspace.now()
        check_exists(sprint)
        rulings = queue_rules.decide_by_rules(sprint, rules=chosen, at=at)
        if dry_run:
            lines = table([ruling_row(ruling) for ruling in rulings])
            answer = [*map(views.ruling, rulings)]
            print_answer(answer, lines or ["nothing is pending"], as_json=options.as_json)
            return
        arguments = {"rules": msgspec.to_builtins(chosen)}
        outcome = run.handle_with(queue_rules.DecideByRules(tuple(chosen)), arguments)
        for ruling in rulings:
            if ruling.problem is not None and not outcome.duplicate:
                warn(f"{ruling.request} stays pending: {ruling.problem}")
        run.answer(outcome)


def _who_decided(options: Options) -> None:
    """Print a hint that the decision is recorded without a person's name."""
    if options.actor == UNNAMED[0] and not options.as_json:
        hint("use `--actor operator:NAME` to name the person; this decision names nobody")


def ruling_row(ruling: queue_rules.Ruling) -> list[str]:
    """Return a rule's decision as a row for people."""
    problem = f"refused: {ruling.problem}" if ruling.problem else ""
    by = f"by rule {ruling.rule}" if ruling.rule else ""
    return [ruling.request, ruling.decision or "no rule fits", by, problem]
