"""Hints for a user who specified the sprint; the hinted commands specify it as well.

Otherwise, the current folder would select the sprint, possibly a different one.
"""

import re
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
from msgspec.structs import replace

if TYPE_CHECKING:
    from sprintlog.engine.sprint.agent.actions import Action

_TYPED = r"`((?:sprintlog )?([a-z-]+)(?: ([a-z-]+))?[^`]*)`"
_TAKE_IT = {
    *("phase", "step", "gate", "queue", "goal", "iteration", "hook-task", "list", "note"),
    *("run", "next", "status", "rollback", "undo", "redo", "restore", "adopt"),
    *("log", "audit", "rebuild", "sprint"),
}
_TAKE_NONE = {("sprint", "create"), ("sprint", "list")}


def with_it(hint: str | None) -> str | None:
    """Return a hint whose commands specify the sprint, if the current command did so."""
    if hint is None or (given := _given()) is None:
        return hint
    named = f" --sprint {given}"

    def say(found: re.Match[str]) -> str:
        command, group, verb = found.groups()
        takes = group in _TAKE_IT and (group, verb) not in _TAKE_NONE
        if not takes or "--sprint" in command:
            return found[0]
        # Arguments after `--` belong to another command.
        own, dashes, other = command.partition(" -- ")
        return f"`{own}{named}{dashes}{other}`"

    return re.sub(_TYPED, say, hint)


def _given() -> str | None:
    """Return the sprint specified on the command line, or None."""
    context = click.get_current_context(silent=True)
    if context is None:
        return None
    if context.get_parameter_source("sprint_id") is not ParameterSource.COMMANDLINE:
        return None
    return str(context.params["sprint_id"])


def told(action: "Action") -> "Action":
    """Return the next action with a hint that specifies the sprint."""
    return replace(action, hint=with_it(action.hint))
