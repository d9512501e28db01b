"""The options of `run` for rules and notices, its command line, and its dry run."""

from collections.abc import Callable, Collection
from typing import NamedTuple

import click
from click.core import ParameterSource

from sprintlog.engine.adapters.processes.loop_lock import is_held, lock_of
from sprintlog.engine.adapters.processes.programs import environment_of
from sprintlog.engine.errors import RefusedError
from sprintlog.engine.judging.loop_rules import LoopRules
from sprintlog.engine.service.agents import is_agents
from sprintlog.engine.service.driver.agent import RunSettings
from sprintlog.engine.service.driver.notices import Notices
from sprintlog.engine.service.driver.runs import check_cost_is_known
from sprintlog.engine.service.work_tree.snapshot import store_of
from sprintlog.engine.sprint.agent.actions import ACTIONS, DONE, NOTICES, STOP
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.iterations.follow_up import loop_rules
from sprintlog.projections.views.runs import DryRun, planned
from sprintlog.projections.views.runs import told as answered
from sprintlog.projections.workspace import Envelope, Workspace

from .. import named_sprint, output, settings, stops, typed
from ..context import Function, environment, open_workspace, packed
from ..iterations import loop_rules as options
from ..iterations.budgets import budget_lines, raising_lines
from ..iterations.status_lines import rules_said

WORDS_CHARS_MAX = 200


def print_dry_run(named: str | None, means: RunSettings, *, as_json: bool) -> None:
    """Print the next action of `run` and its settings; raise an error if it is refused."""
    with open_workspace() as workspace:
        sprint, now = workspace.sprint(workspace.choose(named)), workspace.now()
        is_run = is_held(lock_of(workspace.location.folder, sprint.id))
    check_cost_is_known(sprint, means)
    action = named_sprint.told(next_action(sprint, now=now))
    budgets = planned(sprint, means.budgets, now=now)
    if as_json:
        command, left = tuple(means.command), answered(budgets)
        found = DryRun(
            sprint=sprint.id, next=action, command=command, budgets=left, is_run_now=is_run
        )
        output.print_json(found)
        return
    number = f"iteration {action.iteration}" if action.iteration else None
    what = " ".join(filter(None, (action.do, action.phase, number)))
    ends = action.do in (STOP, DONE)
    lines = [f"{sprint.id}: {'it would end at once' if ends else f'next: {what}'}"]
    lines += [f"  {line}" for line in stops.reason_lines(action)]
    lines += [] if action.do == STOP else [f"  {ACTIONS[action.do]}"]
    lines.append(f"with: {' '.join(means.command)[:WORDS_CHARS_MAX]}")
    if is_run:
        lines.append("another process runs it now: this run would be refused")
    if (kept := rules_said(sprint)) is not None:
        lines.append(f"rules: {kept}")
    lines += raising_lines(sprint, means.budgets, now)
    said = [part for line in lines for part in output.wrapped(line, indent="  ")]
    output.print_styled("\n".join([*said, *budget_lines(budgets)]))


_NAMES = frozenset(
    {"timeout", "hook_command", "stops_on_request", "rest_seconds", "prompt_file"}
    | {"idle_timeout", "fallback"}
    | {"notify", "notify_of", "notify_wait", "no_wait", "actor", "no_mask"}
)
"""The options of a single run; options for judging become rules of the sprint."""


def typed_again(
    context: click.Context,
    names: Collection[str | None] = _NAMES,
    sources: Collection[ParameterSource] = (ParameterSource.COMMANDLINE,),
) -> tuple[str, ...]:
    """Return the options given for a single run, as command-line arguments."""
    words: list[str] = []
    for option in context.command.params:
        if option.name not in names or not isinstance(option, click.Option):
            continue
        if context.get_parameter_source(option.name) not in sources:
            continue
        name, given = option.opts[-1], context.params[option.name]
        if option.is_flag and not given:
            name = next(iter(option.secondary_opts), name)
        for one in given if option.multiple else (given,):
            words.extend((name,) if option.is_flag else (name, _text(one)))
    return (*words,)


def _text(value: object) -> str:
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


WAIT_SECONDS = 600


class Notifying(NamedTuple):
    """The notice options."""

    notify: str | None
    notify_of: tuple[str, ...]
    """Names in `NOTICES`; by default all of them."""
    notify_wait: float

    def notices(self, workspace: Workspace, tell: Callable[[str], None]) -> Notices | None:
        """Return the notifier that runs the command, or None without a command."""
        if self.notify is None:
            return None
        own = {"SPRINTLOG_ACTOR": "agent:notify"}
        return Notices(
            self.notify,
            folder=workspace.location.root,
            environment=environment_of(environment(), **own),
            tell=tell,
            of=self.notify_of or tuple(NOTICES),
        )


def with_notify(function: Function) -> Function:
    """Add the notice options, passed as `notifying`."""
    options = typed.several(
        typed.option(
            "--notify",
            setting="notify.command",
            metavar="CMD",
            help="Run this when the loop ends, needs a person, regresses or waits for "
            "long, with a JSON object on standard input.",
        ),
        typed.choice_option(
            "--notify-of",
            of=tuple(NOTICES),
            multiple=True,
            setting="notify.of",
            help="Report only this kind; can be repeated. [all]",
        ),
        typed.seconds_option(
            "--notify-wait",
            default=WAIT_SECONDS,
            setting="notify.wait",
            help=f"Report waits longer than this. [{WAIT_SECONDS}]",
        ),
    )
    return options(packed(Notifying, Notifying._fields, "notifying")(function))


def with_rules(
    workspace: Workspace, sprint_id: str, judged: options.JudgingOptions, means: RunSettings
) -> RunSettings:
    """Record the options as rules; return settings that include the measurement rules.

    Raise `RefusedError` for impossible combinations before any agent is started.
    """
    measure = options.measure_rules(judged, root=workspace.location.root)
    if measure is None and not judged.measures_not and settings.setting("agent.measure"):
        measure = options.measure_rules(options.measured_by_file(), root=None)
        if measure is None:
            raise RefusedError(
                f"agent.measure: {settings.NAME} has no [measure]",
                hint="add `[measure]` with `run` and `reports` to the file",
            )
    change = options.change_of(judged, measure)
    loop = loop_rules(workspace.sprint(sprint_id))
    if change is not None and change.loop is not None:
        loop = change.loop.of(loop)
    _check(judged, loop)
    if (change is not None or loop.measure is not None) and is_agents(workspace, {}):
        raise RefusedError(
            "an agent cannot set the measure of a loop or start a measured loop",
            hint="start `sprintlog run` outside of `run`, `wrap` and agents",
        )
    if loop.keeps_files:
        # Fail now if git is missing, not hours later.
        _ = store_of(workspace).git.program
    if change is not None:
        envelope: Envelope = {"actor": means.actor, "masks": means.masks, "is_loop": True}
        workspace.handle(change, sprint_id=sprint_id, **envelope)
    return means._replace(measure=measure)


def _check(judged: options.JudgingOptions, loop: LoopRules) -> None:
    """Raise `RefusedError` if options require measurements but there are no rules."""
    asked = {**judged._asdict(), "until": loop.until}
    needs = ("on_regression", "on_tamper", "selects", "until")
    named = next((name for name in needs if asked[name]), None)
    if loop.measure is None and named is not None:
        named = f"--{named.removesuffix('s').replace('_', '-')}"
        raise RefusedError(
            f"{named} requires --measure",
            hint="use `sprintlog run --measure CMD --report FILE -- COMMAND`",
        )
