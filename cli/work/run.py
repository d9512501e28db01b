"""The `sprintlog run -- COMMAND` command: the reference loop."""

import re
import shutil
import sys
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple

import click

from sprintlog.engine import errors
from sprintlog.engine.adapters.processes.loop_lock import hold
from sprintlog.engine.adapters.processes.process import host
from sprintlog.engine.adapters.processes.signals import InterruptedBySignal, Signals
from sprintlog.engine.own_files import keep_ours
from sprintlog.engine.service import wrap
from sprintlog.engine.service.driver.agent import Driver, RunSettings
from sprintlog.engine.service.driver.runner import Runner
from sprintlog.engine.service.driver.runs import check_cost_is_known, recorded
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.sprint.agent.actions import DONE, Action
from sprintlog.engine.sprint.iterations.loop import LimitIterations
from sprintlog.engine.sprint.state.words import COMPLETED, PRIORITIES, missing_json
from sprintlog.projections.views.work import next_answer
from sprintlog.projections.workspace import Workspace

from .. import named_sprint, output, prompt_option, record, settings, stops, typed
from ..agents.reconciliation import compare_lost, compare_sessions
from ..context import environment, open_workspace, packed, with_json, with_sprint
from ..iterations.budgets import budgets_and_price, raising_lines, with_run_budgets
from ..iterations.loop_rules import JudgingOptions, with_judging
from ..screen import times
from ..wrapping.recorder import begin_sprint, open_or_make
from .run_options import Notifying, print_dry_run, typed_again, with_notify, with_rules

_PROGRAM = re.compile(r"[\w./+-]+")
TIMEOUT_SECONDS = 60 * 60
REST_SECONDS = 1


class NewSprint(NamedTuple):
    """The options for a sprint that does not exist yet."""

    goal: str | None
    limit: int | None


class MisplacedOptionError(click.UsageError):
    """Raised for an option of `run` that follows the agent's command."""

    def __init__(self, name: str, word: str, context: click.Context) -> None:
        super().__init__(f"{name} is an option of run and must precede {word}", context)
        self.hint = (
            f"`sprintlog run {name} … -- {word} …`; all words after `--` belong to {word}"
        )


class RunCommand(typed.TypedCommand):
    """The `run` command, whose options must precede the agent's command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raise `MisplacedOptionError` for an option after COMMAND if `--` is missing."""
        given = [*args]
        left = super().parse_args(ctx, args)
        words = ctx.params["agent"]
        known = {name for option in self.get_params(ctx) for name in option.opts}
        if given[: len(given) - len(words)][-1:] != ["--"]:
            for word in takewhile("--".__ne__, words):
                if (name := word.partition("=")[0]) in known:
                    raise MisplacedOptionError(name, words[0], ctx)
        return left


@typed.command(cls=RunCommand, context_settings={"allow_interspersed_args": False})
@typed.argument("agent", nargs=-1, metavar="[COMMAND [ARGUMENT]…]", type=click.UNPROCESSED)
@typed.seconds_option(
    "--timeout",
    takes_zero=False,
    default=TIMEOUT_SECONDS,
    setting="agent.timeout",
    help=f"Timeout of each run of COMMAND. [{TIMEOUT_SECONDS}]",
)
@typed.seconds_option(
    "--idle-timeout",
    setting="agent.idle-timeout",
    help="Timeout without output, 0 for none. [600 for an agent that streams its work and "
    "waits for no tool, otherwise none]",
)
@typed.option(
    "--hook-command",
    setting="agent.hook-command",
    metavar="COMMAND",
    help="Shell command for a per-iteration hook without `command`.",
)
@with_judging(by_file=True)
@typed.choice_option(
    "--stop-on-request",
    "stops_on_request",
    of=PRIORITIES,
    help="Stop immediately, not only at the end, for an undecided request of this "
    "priority or higher.",
)
@typed.seconds_option(
    "--rest",
    "rest_seconds",
    default=REST_SECONDS,
    help=f"Pause after an iteration towards a goal that changed nothing. [{REST_SECONDS}]",
)
@prompt_option.with_prompt_file
@typed.option("--goal", help="The goal, if a sprint must be created.")
@typed.number_option(
    "--max-iterations", "limit", least=0, help="The sprint's iteration limit, 0 for none."
)
@packed(NewSprint, NewSprint._fields, "new")
@with_notify
@typed.option(
    "--fallback",
    setting="agent.fallback",
    metavar="CMD",
    help="While a limit blocks COMMAND, pass the prompts to this command.",
)
@typed.flag("--no-wait", help="Exit instead of waiting for a retry.")
@with_run_budgets
@typed.flag("--dry-run", help="Show the next action and the budgets; change nothing.")
@typed.option(
    "--actor",
    envvar="SPRINTLOG_ACTOR",
    default="runtime",
    metavar="WHO",
    help="The actor: runtime, agent:… or operator:…. [SPRINTLOG_ACTOR; runtime]",
)
@typed.flag("--no-mask", help="Do not mask secrets in recorded texts.")
@with_sprint
@with_json
def command(
    agent: tuple[str, ...],
    timeout: float,
    idle_timeout: float | None,
    judged: JudgingOptions,
    prompt_file: str | None,
    new: NewSprint,
    notifying: Notifying,
    fallback: str | None,
    no_wait: bool,
    actor: str,
    no_mask: bool,
    sprint_id: str | None,
    as_json: bool,
    dry_run: bool,
    **given: Any,
) -> None:
    """Drive a sprint: do what `next` answers until the sprint is done or needs a person.

    COMMAND runs in the work tree and receives each prompt on standard input: position,
    task, failure of the last attempt, learnings and answer format. With --prompt-file it
    receives only that file. With --prompt-file, --goal or --max-iterations, a missing
    sprint is created. Exit code 0 with any output is a success, as is a successful result
    in an agent's output. If `run` is killed, start it again: it continues.

    The exit status is 0 if the sprint is done, otherwise the reason for stopping: 20 limit
    of iterations, 21 breakpoint, 22 pause, 23 blocked, 24 a person is needed, 25 budget. A
    sprint with undecided critical or high requests is not completed. Work in progress may
    exceed a budget; `iteration rules set` sets budgets for all runs together.

    With --measure, each run of COMMAND is measured and judged by rules that apply until
    other rules are set. Exit status 26 means that a measurement stopped the loop. Every
    word after `--` belongs to COMMAND; its default is `agent.command` of a trusted
    sprintlog.toml.

    Example: sprintlog run -- claude -p --output-format json
    """
    record.check_actor(actor)
    budgets, price = budgets_and_price(given)
    means = RunSettings(
        _agent_meant(agent),
        environment(),
        timeout,
        idle_timeout,
        actor=actor,
        waits=not no_wait,
        masks=not no_mask,
        agent_variables=settings.setting("agent.environment"),
        gate_variables=tuple(settings.setting("gate.environment") or ()),
        measure_variables=tuple(settings.setting("measure.environment") or ()),
        show=stops.show_waiting if output.shows_counting() else None,
        budgets=budgets,
        price=price,
        options=typed_again(click.get_current_context()),
        fallback=_fallback_meant(fallback),
        **given,
    )
    if dry_run:
        return print_dry_run(sprint_id, means, as_json=as_json)
    try:
        chosen, last = _drive(means, judged, sprint_id, prompt_file, new, notifying)
    except errors.LostLogError as lost:
        raise errors.LostLogError(_record_loss(sprint_id, actor)) from lost
    _answer(chosen, named_sprint.told(last), as_json=as_json)
    sys.exit(_ends_with(last))


def _record_loss(sprint_id: str | None, actor: str) -> str:
    """Record in a new log that this run's log was deleted; return a message about it."""
    with open_or_make(output.note) as workspace:
        now = workspace.now()
        chosen = wrap.sprint_for(workspace, sprint_id, place=None, actor=actor, at=now)
        return wrap.record_loss(workspace, chosen, actor=actor)


def _drive(
    means: RunSettings,
    judged: JudgingOptions,
    sprint_id: str | None,
    prompt_file: str | None,
    new: NewSprint,
    notifying: Notifying,
) -> tuple[str, Action]:
    """Run the selected sprint; return its id and the action that ended the run."""
    keep_ours()
    # Then neither a plan nor an existing log is required.
    needs_none = prompt_file is not None or new != (None, None)
    log = open_or_make(output.note) if needs_none else open_workspace()
    with log as workspace, Signals() as signals:
        chosen = _sprint_of(workspace, sprint_id, prompt_file, new, means.actor)
        means = means._replace(
            prompt_file=prompt_option.prompt_file_in(workspace, prompt_file),
            notices=notifying.notices(workspace, output.progress),
            told_wait_seconds=notifying.notify_wait,
        )
        folder = workspace.location.folder
        stream, holder = sprint_stream(chosen), f"{host()}:{folder}"
        with (
            hold(folder, chosen, now=workspace.now()) as (lock, before),
            workspace.log.leases.hold(stream, holder=holder, host=host()),
        ):
            check_cost_is_known(workspace.sprint(chosen), means)
            if option := missing_json(means.command):
                output.hint(f"add `{option}` to the agent's command to record its figures")
            means = with_rules(workspace, chosen, judged, means)
            sprint = workspace.sprint(chosen)
            for line in raising_lines(sprint, means.budgets, workspace.now()):
                output.note(line)
            lost = workspace.sprint(chosen).knowledge.loops.open
            if before is not None or (lost is not None and lost.host == host()):
                pid = before.process.pid if before is not None else lost and lost.pid
                output.progress(f"process {pid}, which ran it before, is gone: continuing")
                compare_lost(workspace, chosen, _found, actor=means.actor)
            after = partial(compare_sessions, workspace, tell=_found, actor=means.actor)
            driver = Driver(workspace, chosen, means, signals, lock, output.progress, after)
            try:
                return chosen, recorded(driver, Runner(driver).run, _ends_with)
            except InterruptedBySignal as signal:
                output.progress(f"ended by {signal}; the same command continues")
                sys.exit(_ends_with(signal))


def _sprint_of(
    workspace: Workspace,
    named: str | None,
    prompt_file: str | None,
    new: NewSprint,
    actor: str,
) -> str:
    """Return the sprint to run, with the given limit; create a missing sprint."""
    try:
        chosen = workspace.choose(named)
    except errors.NotFoundError:
        if new == (None, None) and (named is not None or prompt_file is None):
            raise
    else:
        is_open = workspace.sprint(chosen).plan.status != COMPLETED
        if new.limit is not None and is_open:
            limit = LimitIterations(new.limit)
            workspace.handle(limit, sprint_id=chosen, actor=actor, is_loop=True)
        return chosen
    at = workspace.now()
    return begin_sprint(
        workspace, output.note, actor=actor, at=at, named=named, **new._asdict()
    )


def _ends_with(last: Action | BaseException) -> int:
    """Return the exit status for the action or error that ended the run."""
    match last:
        case Action():
            return stops.run_ends_with(last)
        case InterruptedBySignal():
            return 128 + last.number
        case errors.SprintlogError():
            return output.exit_code(last)
        case _:
            return output.REFUSED


def _found(line: str) -> None:
    output.progress(f"       {line}")


def _agent_meant(typed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the given agent command, or else the command in the settings file."""
    if (off := settings.off_by()) is not None:
        # Exit status 0 would mean that the sprint is completed.
        raise errors.RefusedError(
            f"nothing can be run: {off}",
            hint=f"use `{settings.OFF}=0 sprintlog run` to record anyway",
        )
    agent = typed or tuple(settings.setting("agent.command") or ())
    if not agent:
        raise click.UsageError(
            "missing agent command: use `run -- COMMAND`, or set "
            f"`agent.command` in {settings.NAME}"
        )
    check_exists(agent[0], "give what hands a prompt to your agent, after `--`")
    return agent


def check_exists(program: str, hint: str) -> None:
    """Raise `NotFoundError` if a program does not exist."""
    if shutil.which(program) is None:
        raise errors.NotFoundError(f"{program}: command not found", hint=hint)


def _fallback_meant(command: str | None) -> str | None:
    """Return a fallback command line; raise an error if its program does not exist."""
    if command is not None and _PROGRAM.fullmatch(program := command.split()[0]):
        check_exists(program, "`--fallback CMD` names another agent and its options")
    return command


def _answer(sprint_id: str, last: Action, *, as_json: bool) -> None:
    if as_json:
        output.print_json(next_answer(sprint_id, last))
    elif last.do == DONE:
        output.print_text(f"{sprint_id}: done")
    else:
        where = f" at {last.phase}" if last.phase else ""
        until = f" until {times.when(last.until)}" if last.until else ""
        output.print_text(f"{sprint_id}: {last.do}{where}{until}: {last.why}")
        if last.hint:
            output.print_text(f"hint: {last.hint}")
