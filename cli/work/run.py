"""`sprintlog run -- COMMAND`: the reference loop."""

import shutil
import sys

import click

from sprintlog.engine.adapters.processes.signals import InterruptedBySignal, Signals
from sprintlog.engine.errors import NotFoundError, RefusedError
from sprintlog.engine.service.loop.driver import Driver, Means
from sprintlog.engine.service.loop.lock import hold
from sprintlog.engine.service.loop.runner import Runner
from sprintlog.engine.service.work_tree.snapshot import store_of
from sprintlog.engine.sprint.agent.actions import DONE, Action
from sprintlog.engine.sprint.state.words import PRIORITIES
from sprintlog.projections.views.work import next_answer

from .. import settings, typed
from ..context import environment, open_workspace, with_json, with_sprint
from ..named_sprint import told
from ..output import print_json, print_text, progress
from ..record import check_actor
from ..screen import phrases
from ..stops import run_ends_with

TIMEOUT_SECONDS = 60 * 60
REST_SECONDS = 1


@typed.command(
    context_settings={"ignore_unknown_options": True},
    epilog="Example: sprintlog run -- claude -p --output-format json",
)
@click.argument("agent", nargs=-1, metavar="[COMMAND [ARGUMENT]…]")
@typed.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=TIMEOUT_SECONDS,
    setting="agent.timeout",
    metavar="SECONDS",
    help=f"How long COMMAND may take each time. [{TIMEOUT_SECONDS}]",
)
@typed.option(
    "--hook-command",
    setting="agent.hook-command",
    metavar="COMMAND",
    help="What a shell runs for a per-iteration hook without `command`.",
)
@typed.option(
    "--snapshot",
    "keeps_files",
    is_flag=True,
    setting="agent.snapshot",
    help="Towards a goal: keep the work tree's files at the end of each iteration.",
)
@typed.option(
    "--stop-on-request",
    "stops_on_request",
    type=typed.Choice(PRIORITIES),
    help="Stop at once, not at the end, for an undecided request of this priority or a "
    "higher one.",
)
@typed.option(
    "--rest",
    "rest_seconds",
    type=click.FloatRange(min=0),
    default=REST_SECONDS,
    metavar="SECONDS",
    help="How long to rest after an iteration towards a goal that changed nothing. "
    f"[{REST_SECONDS}]",
)
@typed.option("--no-wait", is_flag=True, help="End where a retry would be waited for.")
@typed.option(
    "--actor",
    envvar="SPRINTLOG_ACTOR",
    default="runtime",
    metavar="WHO",
    help="runtime, agent:… or operator:…. [SPRINTLOG_ACTOR; runtime]",
)
@typed.option("--no-mask", is_flag=True, help="Record secrets in texts as they are.")
@with_sprint
@with_json
def command(
    agent: tuple[str, ...],
    timeout: float,
    hook_command: str | None,
    keeps_files: bool,
    stops_on_request: str | None,
    rest_seconds: float,
    no_wait: bool,
    actor: str,
    no_mask: bool,
    sprint_id: str | None,
    as_json: bool,
) -> None:
    """Drive a sprint: do what `next` answers until it is done or a person is needed.

    COMMAND is given each prompt on its standard input, in the work tree. Exit code 0 and
    words are a success; so is a result of an agent's command line, as JSON or as a stream.
    Its output, tokens and cost are recorded. Killed and started again, it goes on where it
    was.

    It ends with 0 when the sprint is done, else with what made it stop: 20 the limit of
    iterations, 21 a breakpoint, 22 a pause, 23 blocked, 24 a person is needed. Over
    critical and high requests that nobody has decided it finishes no sprint.

    Without COMMAND it works with `agent.command` of sprintlog.toml, once that is trusted.
    """
    check_actor(actor)
    agent = _agent_meant(agent)
    means = Means(
        agent,
        environment(),
        timeout,
        actor=actor,
        waits=not no_wait,
        masks=not no_mask,
        gate_variables=tuple(settings.setting("gate.environment") or ()),
        hook_command=hook_command,
        keeps_files=keeps_files,
        stops_on_request=stops_on_request,
        rest_seconds=rest_seconds,
    )
    with open_workspace() as workspace, Signals() as signals:
        chosen = workspace.choose(sprint_id)
        if keeps_files:
            # Without git it ends here and not in the night.
            _ = store_of(workspace).git.program
        folder = workspace.location.folder
        with hold(folder, chosen, now=workspace.now()) as (lock, before):
            if before is not None:
                progress(
                    f"process {before.process.pid}, which ran it before, is gone: going on"
                )
            runner = Runner(
                Driver(
                    workspace,
                    chosen,
                    means=means,
                    signals=signals,
                    lock=lock,
                    tell=progress,
                )
            )
            try:
                last = runner.run()
            except InterruptedBySignal as signal:
                progress(f"ended by {signal}; the same command goes on from here")
                sys.exit(128 + signal.number)
    _answer(chosen, told(last), as_json=as_json)
    sys.exit(run_ends_with(last))


def _agent_meant(typed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that was typed, else that of the file."""
    if (off := settings.off_by()) is not None:
        # An exit code of 0 would say that the sprint is done.
        raise RefusedError(
            f"nothing is recorded, so nothing can be run: {off}",
            hint=f"`{settings.OFF}=0 sprintlog run` records all the same",
        )
    agent = typed or tuple(settings.setting("agent.command") or ())
    if not agent:
        raise click.UsageError(
            "give what hands a prompt to your agent: `run -- COMMAND`, or `agent.command` "
            f"in {settings.NAME}"
        )
    if shutil.which(agent[0]) is None:
        raise NotFoundError(
            f"{agent[0]}: there is no such command",
            hint="give what hands a prompt to your agent, after `--`",
        )
    return agent


def _answer(sprint_id: str, last: Action, *, as_json: bool) -> None:
    if as_json:
        print_json(next_answer(sprint_id, last))
    elif last.do == DONE:
        print_text(f"{sprint_id}: done")
    else:
        where = f" at {last.phase}" if last.phase else ""
        until = f" until {phrases.when(last.until)}" if last.until else ""
        print_text(f"{sprint_id}: {last.do}{where}{until}: {last.why}")
        if last.hint:
            print_text(f"hint: {last.hint}")
