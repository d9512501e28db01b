"""`run --notify …`: whom a loop tells, and of what."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import click

from sprintlog.engine.service.loop.notices import Notices
from sprintlog.engine.sprint.agent.notices import NOTICES
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import Function, environment

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
        # Imported here: most loops have nobody to tell.
        from sprintlog.engine.adapters.processes.gate_script import environment_of

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
