"""`sprintlog redo`: take back the latest undo."""

from typing import Any

from sprintlog.engine.sprint.iterations.rollback import Redo

from .. import typed
from ..context import with_recording
from .agreement import Agreement, with_asking
from .undo_redo import take_back, with_plan_alone


@typed.command("redo", epilog="Example: sprintlog redo --reason 'it was wrong after all'")
@typed.option("--reason", metavar="TEXT", help="Why.")
@with_plan_alone
@with_asking
@with_recording
def command(
    reason: str | None, of_plan: bool, dry_run: bool, yes: bool, **given: Any
) -> None:
    """Redo the latest undone change, including its files."""
    take_back("redo", Redo(reason), given, of_plan=of_plan, wanted=Agreement(dry_run, yes))
