"""The options of `run` that become rules, notices, or options of the command to repeat."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from sprintlog.engine.adapters.processes.programs import environment_of
from sprintlog.engine.errors import RefusedError
from sprintlog.engine.judging.loop_rules import LoopRules
from sprintlog.engine.service.driver.agent import Means
from sprintlog.engine.service.driver.notices import Notices
from sprintlog.engine.service.work_tree.snapshot import store_of
from sprintlog.engine.sprint.agent.notices import NOTICES
from sprintlog.engine.sprint.iterations.follow_up import loop_rules
from sprintlog.projections.workspace import Workspace

from ...cli import settings, typed
from ..context import Function, environment
from ..iterations import loop_rules as options

_NAMES = frozenset(
    {"timeout", "hook_command", "stops_on_request", "rest_seconds", "prompt_file"}
    | {"idle_timeout", "fallback"}
    | {"notify", "notify_of", "notify_wait", "no_wait", "actor", "no_mask"}
)
"""What is said of one run alone. How it judges is a rule; budgets are recorded as such."""


def typed_again(context: click.Context) -> tuple[str, ...]:
    """Return what was typed of these, as words of a command line."""
    words: list[str] = []
    for option in context.command.params:
        if option.name not in _NAMES or not isinstance(option, click.Option):
            continue
        if context.get_parameter_source(option.name) is not ParameterSource.COMMANDLINE:
            continue
        name, given = option.opts[-1], context.params[option.name]
        for one in given if option.multiple else (given,):
            words.extend((name,) if option.is_flag else (name, _text(one)))
    return (*words,)


def _text(value: object) -> str:
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


WAIT_SECONDS = 600


class Notifying(NamedTuple):
    """What was said of notices."""

    command: str | None
    of: tuple[str, ...]
    """Words of `NOTICES`; all of them where none was named."""
    wait_seconds: float

    def notices(self, workspace: Workspace, tell: Callable[[str], None]) -> Notices | None:
        """Return what runs the command; None without one."""
        if self.command is None:
            return None
        own = {"SPRINTLOG_ACTOR": "agent:notify"}
        return Notices(
            self.command,
            folder=workspace.location.root,
            environment=environment_of(environment(), **own),
            tell=tell,
            of=self.of or tuple(NOTICES),
        )


def with_notify(function: Function) -> Function:
    """Add the options about notices; they arrive as `notifying`."""

    @wraps(function)
    def packed(*args: Any, **given: Any) -> Any:
        told = Notifying(*(given.pop(f"notify{x}") for x in ("", "_of", "_wait")))
        return function(*args, notifying=told, **given)

    options = typed.several(
        typed.option(
            "--notify",
            setting="notify.command",
            metavar="CMD",
            help="Run this when the loop ends, needs a person, regresses or waits for "
            "long, with a JSON object on standard input.",
        ),
        typed.option(
            "--notify-of",
            multiple=True,
            setting="notify.of",
            type=typed.Choice(tuple(NOTICES)),
            help="Report only this kind; can be repeated. [all]",
        ),
        typed.option(
            "--notify-wait",
            type=click.FloatRange(min=0),
            default=WAIT_SECONDS,
            setting="notify.wait",
            metavar="SECONDS",
            help=f"Report waits longer than this. [{WAIT_SECONDS}]",
        ),
    )
    return options(packed)  # type: ignore[return-value]


def with_rules(
    workspace: Workspace, sprint_id: str, judged: options.JudgingOptions, means: Means
) -> Means:
    """Put what was typed in force; return means that know what is to be measured.

    Raise `RefusedError` for what cannot be done, before any agent was asked.
    """
    measure = options.measure_rules(judged, root=workspace.location.root)
    if measure is None and not judged.measures_not and settings.setting("agent.measure"):
        measure = options.measure_rules(options.measured_by_file(), root=None)
        if measure is None:
            raise RefusedError(
                f"agent.measure: {settings.NAME} says nothing of what to measure",
                hint="write `[measure]` with `run` and `reports` into it",
            )
    change = options.change_of(judged, measure)
    loop = loop_rules(workspace.sprint(sprint_id))
    if change is not None and change.loop is not None:
        loop = change.loop.of(loop)
    _check(judged, loop)
    if loop.keeps_files:
        # Without git it ends here and not in the night.
        _ = store_of(workspace).git.program
    if change is not None:
        workspace.handle(change, sprint_id=sprint_id, actor=means.actor, masks=means.masks)
    return means._replace(measure=measure)


def _check(judged: options.JudgingOptions, loop: LoopRules) -> None:
    """Raise `RefusedError` for what needs measurements that nobody asks for."""
    if loop.measure is None and (judged.on_regression or judged.selects):
        named = "--on-regression" if judged.on_regression else "--select"
        raise RefusedError(
            f"{named} goes with --measure: nothing is measured",
            hint="`sprintlog run --measure CMD --report FILE -- COMMAND`",
        )
