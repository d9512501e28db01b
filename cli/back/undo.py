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
    """Undo the latest change: restore the state and the files from before it.

    It undoes the latest of these: a rollback of plan, files or both; results copied into
    the work tree; an adopted edit; a decision: a skip, a block, an injection, a decision on
    a request, a stop or continuation by a person; or the failure or gate that stopped the
    sprint.

    Later events are discarded as well, and listed. A restore of files that was interrupted
    is reverted. `sprintlog redo` reverts an undo; `sprintlog rollback` goes to any other
    point.
    """
    take_back("undo", Undo(reason), given, of_plan=of_plan, wanted=Agreement(dry_run, yes))
