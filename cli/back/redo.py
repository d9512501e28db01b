"""The `sprintlog redo` command: revert the latest undo."""

from sprintlog.engine.sprint.iterations.rollback import Redo

from .. import typed
from .undo import taking_back


@typed.command("redo", epilog="Example: sprintlog redo --reason 'it was wrong after all'")
@taking_back(Redo)
def command() -> None:
    """Redo the latest undone change, including its files."""
