"""The files that `wrap` saves before a command runs and before it is measured."""

from collections.abc import Callable, Iterable

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.judging.events import MeasurementChanged
from sprintlog.engine.service.work_tree.instruments import save_instruments
from sprintlog.engine.service.work_tree.instruments import (
    with_instruments as with_instruments,
)
from sprintlog.engine.service.work_tree.start_files import files_at_start
from sprintlog.projections.workspace import Workspace

from .frames import HeldCommand, WrapRequest


def files_before(
    workspace: Workspace,
    sprint_id: str,
    asked: WrapRequest,
    waiting: HeldCommand,
    tell: Callable[[str], None],
    *,
    actor: str,
) -> str | None:
    """Save the files from before a command, and then start it; return their snapshot.

    Before the first measured command, its tests and measure are saved as the accepted ones.
    """

    def is_late() -> bool:
        if late := waiting.is_over:
            # The command is already running and may have changed the files that were
            # read last.
            tell(
                "the files before this run were not saved: saving took too "
                "long; run `sprintlog iteration snapshot` before the next run"
            )
        waiting.end()
        return late

    files, known = None, workspace.sprint(sprint_id).knowledge
    try:
        if asked.measure is not None and not known.instruments and known.tracker.is_empty:
            save_instruments(
                *(workspace, sprint_id, [asked.measure]),
                envelope={"actor": actor, "observed": True},
                is_late=lambda: waiting.is_over,
            )
        if asked.snapshot:
            files = files_at_start(
                workspace,
                sprint_id,
                envelope={"actor": actor, "observed": True},
                is_late=is_late,
            )
    except (SprintlogError, OSError) as error:
        tell(f"the files before this run were not saved: {error}")
    waiting.end()
    return files


def saved_instruments(
    workspace: Workspace,
    sprint_id: str,
    number: int,
    commands: Iterable[str],
    tell: Callable[[str], None],
    *,
    actor: str,
) -> MeasurementChanged | None:
    """Save an iteration's tests and measure; return and report how they changed."""
    is_first = not workspace.sprint(sprint_id).knowledge.instruments
    changed = save_instruments(
        workspace, sprint_id, commands, envelope={"actor": actor, "observed": True}
    )
    if changed is not None:
        tell(changed.advice)
    elif is_first and workspace.sprint(sprint_id).knowledge.is_guarded:
        tell(f"the tests of iteration {number} count as accepted: none were saved before")
    return changed
