"""The `sprintlog sprint` commands: create a sprint and manage its lifecycle."""

import re
from contextlib import nullcontext, suppress
from pathlib import Path
from shlex import quote
from typing import Any

import click

from sprintlog.engine.errors import InvalidInputError, NotFoundError
from sprintlog.engine.sprint.agent.actions import STOP
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.events import Place
from sprintlog.engine.sprint.iterations.loop import LimitIterations
from sprintlog.engine.sprint.phases import lifecycle
from sprintlog.engine.sprint.plan.create import CreateSprint, check_sprint_id
from sprintlog.engine.sprint.state.document_fields import HOOKS, mapping_of, ralph_fields
from sprintlog.engine.sprint.state.queue import counts
from sprintlog.engine.sprint.state.times import from_milliseconds
from sprintlog.engine.sprint.state.transitions import check_id
from sprintlog.engine.sprint.state.words import MODES, PENDING
from sprintlog.projections.views.work import SprintRow
from sprintlog.projections.workspace import wall_clock

from .. import context, settings, typed
from ..intake.files import naming, read_bytes
from ..named_sprint import told
from ..output import counted, hint, print_json, print_text, table, warn
from ..places import place_in, source_of
from ..record import Options, record, recording

REASON = typed.option("--reason", help="Why.")


_OF_GOAL = ("mode", "goal", "idle_threshold", "min_iterations", "hooks")


@typed.group("sprint")
def command() -> None:
    """Create, start, pause, resume or complete a sprint."""


@command.command()
@typed.argument("new_id", metavar="ID")
@typed.file_option("--plan", help="A compiled plan.")
@typed.folder_option(
    "--sprint-dir", help="The folder for PROGRESS.yaml. [the plan's, else the current one]"
)
@typed.flag("--strict", help="Reject unknown keys in the plan.")
@typed.number_option(
    "--max-iterations", least=0, help="Iteration limit, 0 for none. [100 with a goal]"
)
@typed.choice_option("--mode", of=MODES, help="The mode: ralph works towards a goal.")
@typed.option("--goal", help="The goal, in Ralph mode.")
@typed.number_option(
    "--idle-threshold", least=1, help="Idle iterations before a reflection. [3]"
)
@typed.number_option(
    "--min-iterations", least=1, help="First iteration that can reach the goal. [0]"
)
@typed.number_option(
    "--max-failures", least=0, help="Consecutive failures tolerated with a goal. [3]"
)
@typed.option(
    "--until",
    metavar="COND",
    help="Complete the goal only if a measurement meets this condition, such as "
    "`tests_failed=0 and coverage>=80`.",
)
@typed.list_option(
    "--hook",
    "hooks",
    metavar="id=ID,workflow=NAME,…",
    help="Run a hook after each iteration; parallel=true and command=TEXT are optional.",
)
@context.with_envelope
@context.packed(dict, _OF_GOAL, "ralph")
def create(
    new_id: str,
    plan: Path | None,
    sprint_dir: Path | None,
    strict: bool,
    max_iterations: int | None,
    max_failures: int | None,
    until: str | None,
    ralph: dict[str, Any],
    **given: Any,
) -> None:
    """Create a sprint from a goal, or from a compiled plan without any progress.

    Without a plan or a goal, the sprint is for your own loop, like the sprints that `wrap`
    creates, and you can set rules before the first run.

    The plan is a YAML file that you write (`sprintlog help plan` shows an example) or a
    PROGRESS.yaml. A goal needs no plan: steps are added during the work.

    Examples: sprintlog sprint create auth --plan plan.yaml

    sprintlog sprint create auth --goal 'People can log in' --max-iterations 40
    """
    check_sprint_id(new_id, field="ID")
    fields = _goal_fields(**ralph)
    is_loop = plan is None and not fields
    if is_loop and new_id.endswith((".yaml", ".yml")):
        hinted = f"`sprintlog sprint create ID --plan {quote(new_id)}`"
        raise InvalidInputError(f"{new_id} is a file", field="ID", hint=hinted)
    if plan is None and not is_loop and "goal" not in fields:
        raise click.UsageError("specify --plan or --goal")
    if max_iterations is None:
        with_goal = settings.setting("budget.iterations") if "goal" in fields else None
        max_iterations = 0 if is_loop else with_goal
    document: dict[str, Any] = {}
    content, ending = b"", {"until": until} if until else {}
    if plan is not None:
        from ..intake.progress import read_plan

        content = read_bytes(plan)
        document, remarks = read_plan(content, file=str(plan), is_strict=strict)
        for remark in remarks:
            warn(f"{plan}: {remark}")
    document = {**fields, **document, **fields}
    if max_failures is not None:
        document["retry"] = {**mapping_of(document, "retry"), "maxFailures": max_failures}
    options = Options(given)
    options.tell_masked(document, of=str(plan or "the goal"))
    with recording("sprint create", options) as run:
        location = run.workspace.location
        place: Place | None = place_in(location, sprint_dir, plan)
        if is_loop:
            # Imported here: it imports the decoders of agent output.
            from sprintlog.engine.service.wrap import loop_fields

            document = loop_fields(run.workspace)
            place = place if sprint_dir is not None else None
        sources = (source_of(location, plan, content),) if plan else ()
        command = CreateSprint(document, place, sources, max_iterations, until)
        arguments = {"id": new_id, "plan": document, "max": max_iterations, **ending}
        with naming(str(plan), only_fields=True) if plan else nullcontext():
            outcome = run.handle_with(command, arguments, sprint_id=new_id)
        run.answer(outcome)
        several = len(run.workspace.sprints()) > 1
    if not run.options.as_json and not outcome.duplicate:
        _tell_next(new_id, place, several=several)


def _goal_fields(
    mode: str | None, goal: str | None, hooks: tuple[str, ...], **limits: int | None
) -> dict[str, Any]:
    """Return the options about the goal and its hook tasks as document fields."""
    if goal is not None and mode != "standard":
        return ralph_fields(goal, hooks=[*map(hook_from, hooks)], **limits)
    if mode == "ralph" or goal or any(limits.values()):
        raise click.UsageError("Ralph mode requires --goal, and its options --mode ralph")
    return {HOOKS: [*map(hook_from, hooks)]} if hooks else {}


def _tell_next(new_id: str, place: Place | None, *, several: bool) -> None:
    """Print a hint with the command that starts a new sprint."""
    if place is None:
        hint(f"run `sprintlog wrap --sprint {quote(new_id)} -- COMMAND` to record a run")
        return
    typed_next = "`sprintlog sprint start`"
    if several:
        typed_next = f"`sprintlog sprint start --sprint {quote(new_id)}`"
    hint(f"run {typed_next} to start the sprint; its state file is {place.path}")


@command.command()
@context.with_recording
def start(**given: Any) -> None:
    """Start the sprint.

    Example: sprintlog sprint start
    """
    record("sprint start", given, lifecycle.StartSprint())


@command.command()
@context.with_recording
def heartbeat(**given: Any) -> None:
    """Record that the loop is alive.

    Example: sprintlog sprint heartbeat
    """
    record("sprint heartbeat", given, lifecycle.RecordHeartbeat())


@command.command()
@REASON
@context.with_recording
def pause(reason: str | None, **given: Any) -> None:
    """Pause the sprint at the request of a person.

    Example: sprintlog sprint pause --reason 'lunch'
    """
    record("sprint pause", given, lifecycle.PauseSprint(reason))


@command.command()
@REASON
@context.with_recording
def interrupt(reason: str | None, **given: Any) -> None:
    """Record that the loop was stopped from outside.

    Example: sprintlog sprint interrupt --reason SIGTERM
    """
    record("sprint interrupt", given, lifecycle.InterruptSprint(reason))


@command.command()
@typed.option("--by", metavar="WHO", help="Who resolved it. [the actor, if operator:WHO]")
@typed.option("--why", help="Why it can continue.")
@typed.option("--done", help="The action taken.")
@typed.flag("--retry", help="Repeat failed or blocked work.")
@context.with_recording
def resume(
    by: str | None, why: str | None, done: str | None, retry: bool, **given: Any
) -> None:
    """Resume after a pause, a breakpoint, an interruption or a block.

    After `blocked` or `needs-human`, specify who resolved it (--by) and why. Any further
    action needed to continue is printed, unless --retry performs it.

    Example: sprintlog sprint resume --by ana --why 'pinned foo'
    """
    actor = str(given["actor"])
    who = by or (actor.removeprefix("operator:") if actor.startswith("operator:") else None)
    command = lifecycle.ResumeSprint(who, why, done, retry)
    sprint = record("sprint resume", given, command)
    action = next_action(sprint, now=from_milliseconds(wall_clock()))
    if action.do == STOP:
        where = f"phase {action.phase}: " if action.phase else ""
        why = action.why or "something else is in the way"
        warn(f"cannot continue yet: {'' if why.startswith('phase ') else where}{why}")
        hint(told(action).hint)


@command.command()
@typed.option("--reason", required=True, help="Why.")
@context.with_recording
def block(reason: str, **given: Any) -> None:
    """Mark the sprint as blocked.

    Example: sprintlog sprint block --reason 'no credentials'
    """
    record("sprint block", given, lifecycle.BlockSprint(reason))


@command.command("needs-human")
@typed.option("--reason", required=True, help="What a person must decide.")
@typed.option("--details", help="Details for the decision.")
@typed.option("--error", help="The underlying error. [the reason]")
@typed.option("--phase", metavar="ADDRESS", help="The affected leaf. [the pointer's]")
@context.with_recording
@context.packed(lifecycle.NeedHuman, lifecycle.NeedHuman.__struct_fields__, "wanted")
def needs_human(wanted: lifecycle.NeedHuman, **given: Any) -> None:
    """Mark the sprint as needing a person to resolve a problem with a leaf.

    Example: sprintlog sprint needs-human --reason 'which key?'
    """
    record("sprint needs-human", given, wanted)


@command.command()
@typed.option("--summary", may_be_empty=True, help="A summary of the result.")
@typed.flag("--abandon-goal", help="Abandon a goal that has not been reached.")
@typed.option("--reason", help="Why the goal is abandoned.")
@context.with_recording
def complete(
    summary: str | None, abandon_goal: bool, reason: str | None, **given: Any
) -> None:
    """Complete the sprint once every leaf is completed or skipped.

    The sprint stays open while its goal is not reached or while critical or high requests
    are undecided; other requests stay pending in its operator queue.

    Example: sprintlog sprint complete --summary 'merged'
    """
    command = lifecycle.CompleteSprint(summary, abandon_goal, reason)
    sprint = record("sprint complete", given, command)
    if waiting := counts(sprint.queue).get(PENDING):
        warn(
            f"{counted(waiting, 'request')} in the operator queue without a decision: use "
            "`sprintlog queue defer ID --until next-sprint --reasoning TEXT` to defer one"
        )


@command.command()
@REASON
@context.with_recording
def reopen(reason: str | None, **given: Any) -> None:
    """Reopen a completed sprint.

    Example: sprintlog sprint reopen --sprint auth
    """
    record("sprint reopen", given, lifecycle.ReopenSprint(reason))


@command.command()
@typed.argument("max_iterations", type=click.IntRange(0), metavar="ITERATIONS")
@context.with_recording
def limit(max_iterations: int, **given: Any) -> None:
    """Set the limit on iterations; all iterations ever started count towards it.

    0 means no limit. The default is 100 for a sprint with a goal and no limit otherwise.

    Example: sprintlog sprint limit 40
    """
    record("sprint limit", given, LimitIterations(max_iterations))


@command.command("list")
@context.with_point
def list_(at: str | None, as_json: bool) -> None:
    """List the sprints in this log.

    Example: sprintlog sprint list --json
    """
    with context.open_workspace() as workspace:
        if at is None:
            found = [
                (name, workspace.status_of(name, version), version)
                for name, version in workspace.sprints().items()
            ]
        else:
            found = []
            for name in workspace.sprints():
                with suppress(NotFoundError):
                    sprint = workspace.sprint(name, at=at)
                    found.append((name, sprint.plan.status, sprint.version))
    rows = [SprintRow(*row) for row in found]
    if as_json:
        print_json(rows)
    elif rows:
        print_text(*table([[*map(str, row)] for row in found]))
    else:
        when = "yet" if at is None else "at that point"
        raise NotFoundError(f"there is no sprint in this log {when}")


_HOOK_KEYS = ("id", "workflow", "prompt", "command", "parallel", "enabled")
_NEXT_KEY = f",(?=(?:{'|'.join(_HOOK_KEYS)})=)"


def hook_from(text: str) -> dict[str, Any]:
    """Parse a hook given as `id=…,workflow=…`; raise `click.UsageError` if it is invalid.

    The value of `command=` or `prompt=` extends to the next key: a comma in it is part of
    the value unless a key and `=` follow.
    """
    given: dict[str, Any] = {}
    for part in re.split(_NEXT_KEY, text):
        key, _, value = part.partition("=")
        if key not in _HOOK_KEYS:
            raise _wrong(text, f"{key[:40]!r} is unknown")
        if not value or key in given:
            raise _wrong(text, f"{key} is empty or given twice")
        given[key] = value
    check_id(given.get("id"), field="--hook id")
    if given.keys().isdisjoint(("workflow", "prompt", "command")):
        raise _wrong(text, "it names nothing to run")
    given = {"parallel": "false", "enabled": "true", **given}
    for key in ("parallel", "enabled"):
        if given[key] not in ("true", "false"):
            raise _wrong(text, f"{key} must be true or false")
        given[key] = given[key] == "true"
    return {key: given[key] for key in _HOOK_KEYS if key in given}


def _wrong(text: str, problem: str) -> click.UsageError:
    return click.UsageError(
        f"--hook {text[:60]!r}: {problem}; use id=ID,workflow=NAME,parallel=true"
    )
