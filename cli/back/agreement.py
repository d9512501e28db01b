"""Consent to changes: the `--dry-run` and `--yes` options and the confirmation prompt."""

from typing import NamedTuple

import click

from sprintlog.engine.errors import RefusedError

from .. import typed
from ..context import Function, packed
from ..output import on_terminal

LEAVE = "nothing was changed"


class Agreement(NamedTuple):
    """The options that decide how a change is made."""

    dry_run: bool = False
    yes: bool = False
    forced: bool = False
    """Whether to restore files although an agent is at work."""


def with_asking(function: Function) -> Function:
    """Add the `--dry-run` and `--yes` options, passed together as `wanted`."""
    return with_dry_run(_with_yes(packed(Agreement, Agreement._fields, "wanted")(function)))


with_dry_run = typed.flag("--dry-run", help="Show the changes without making them.")
_with_yes = typed.flag(
    "--yes",
    help="Skip the confirmation prompt. Required to change files if stdin is not a tty.",
)


with_force = typed.flag(
    "--force", "forced", help="Restore files even while an agent is running."
)


def asks(*, as_json: bool) -> bool:
    """Return whether the user can be asked at a terminal."""
    return not as_json and on_terminal()


def agree(
    *,
    is_asked: bool,
    question: str = "Proceed?",
    nothing: str = LEAVE,
    remark: str = ", after saving the current files in a snapshot",
) -> None:
    """Ask for consent to the displayed changes; raise `RefusedError` if it is not given.

    Without a terminal, consent cannot be given.
    """
    if not is_asked:
        raise RefusedError(
            f"{nothing}: stdin is not a terminal", hint=f"pass --yes to proceed{remark}"
        )
    if not click.confirm(question, err=True):
        raise RefusedError(nothing)
