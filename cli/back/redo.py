"""The `sprintlog redo` command, which reverts the latest undo."""

from typing import Any

from sprintlog.engine.sprint.iterations.rollback import Redo

from .. import typed
from .undo import take_back, with_take_back


@typed.command("redo")
@with_take_back
def command(reason: str | None, **given: Any) -> None:
    """Redo the latest undone change, including its files.

    Example: sprintlog redo --reason 'it was wrong after all'
    """
    take_back(Redo(reason), **given)
