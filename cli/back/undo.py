"""`sprintlog undo`: take back the latest change in place."""

from typing import Any

from sprintlog.engine.sprint.iterations.rollback import Undo

from .. import typed
from ..context import with_recording
from .agreement import Agreement, with_asking
from .undo_redo import take_back, with_plan_alone


@typed.command("undo", epilog="Example: sprintlog undo --reason 'it was right after all'")
@typed.option("--reason", metavar="TEXT", help="Why.")
@with_plan_alone
@with_asking
@with_recording
def command(
    reason: str | None, of_plan: bool, dry_run: bool, yes: bool, **given: Any
) -> None:
    """Undo the latest change: state and files are as they were before it.

    That is the latest of these: a rollback, of plan, files or both; results put into the
    work tree; an edit that was adopted; a decision, which is a skip, a block, an
    injection, one on a request, or what a person stopped or went on with; or the failure
    or the gate that stopped the sprint.

    What was recorded since no longer counts either, and is named. Files that were being
    brought back when a command was killed are put back. `sprintlog redo` takes an undo
    back; `sprintlog rollback` goes to any other point.
    """
    take_back("undo", Undo(reason), given, of_plan=of_plan, wanted=Agreement(dry_run, yes))
