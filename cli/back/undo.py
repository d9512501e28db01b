"""`sprintlog undo`: take back the latest rollback, or the latest decision."""

from typing import Any

from sprintlog.engine.sprint.iterations.rollback import UndoDecision, UndoRollback

from .. import typed
from ..context import with_recording
from .undo_redo import take_back, with_files


@typed.command(
    "undo",
    epilog="Examples: sprintlog undo --reason 'it was right after all'\n\n"
    "sprintlog undo --decision",
)
@typed.option("--reason", metavar="TEXT", help="Why.")
@typed.option(
    "--decision",
    is_flag=True,
    help="Take back the latest decision: a skip, block, injection, request, or what a "
    "person stopped or went on with.",
)
@with_files
@with_recording
def command(
    reason: str | None, decision: bool, no_files: bool, yes: bool, **given: Any
) -> None:
    """Take back the latest rollback: the state is as it was just before it.

    Where the rollback brought files back, those that stood there before come back. When
    files alone came back since (`restore --in-place`, `--apply`, `iteration select
    --apply`, a rollback that changed only files), that is taken back and the state stays.
    What would be done to files is shown first.

    With --decision the state is as it was just before the latest decision; what was
    recorded since then no longer counts either. `sprintlog redo` takes an undo back.
    """
    if decision:
        take_back("undo --decision", UndoDecision(reason), given, no_files=True)
    else:
        take_back("undo", UndoRollback(reason), given, no_files=no_files, is_agreed=yes)
