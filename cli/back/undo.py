"""`sprintlog undo`: take back the latest change in place."""

from sprintlog.engine.sprint.iterations.rollback import Undo

from .. import typed
from .undo_redo import taking_back


@typed.command("undo", epilog="Example: sprintlog undo --reason 'it was right after all'")
@taking_back(Undo)
def command() -> None:
    """Undo the latest change: restore the state and the files from before it.

    It undoes the latest of these: a rollback of plan, files or both; results copied into
    the work tree; an adopted edit; a decision: a skip, a block, an injection, a decision on
    a request, a stop or continuation by a person; the completion of the goal or the
    sprint; or the failure or gate that stopped the sprint, with the run of the gate.

    Later events are discarded as well, and listed. A restore of files that was interrupted
    is reverted. `sprintlog redo` reverts an undo; `sprintlog rollback` goes to any other
    point.
    """
