"""`sprintlog redo`: take back the latest undo."""

from typing import Any

from sprintlog.engine.sprint.iterations.rollback import Redo

from .. import typed
from ..context import with_recording
from .undo_redo import take_back, with_files


@typed.command("redo", epilog="Example: sprintlog redo --reason 'it was wrong after all'")
@typed.option("--reason", metavar="TEXT", help="Why.")
@with_files
@with_recording
def command(reason: str | None, no_files: bool, yes: bool, **given: Any) -> None:
    """Take back the latest undo: the state is as it was just before it, files too."""
    take_back("redo", Redo(reason), given, no_files=no_files, is_agreed=yes)
