"""`--write`: the files of a loop, written after what was recorded."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sprintlog.projections.workspace import Workspace

from .. import typed
from ..output import print_text, warn

if TYPE_CHECKING:
    from sprintlog.projections.state_files.refresh import Refreshed


with_writing = typed.option(
    "--write",
    "is_written",
    is_flag=True,
    help="Write metrics and report below .aiwg/ralph/LOOP/ too.",
)


def write_files(
    workspace: Workspace, sprint_id: str, numbers: Iterable[int] | None = None
) -> "list[Refreshed]":
    """Write the files of a sprint's loop as it is now; warn of what others had written."""
    # Imported here: exact numbers would cost every recording command their import.
    from sprintlog.projections.state_files.loop_files import write_loop_files

    written = write_loop_files(workspace, workspace.sprint(sprint_id), numbers)
    for one in written:
        if one.problem is not None:
            warn(one.problem)
    return written


def tell_written(written: "Iterable[Refreshed]") -> None:
    """Say which files are new."""
    print_text(*(f"wrote {one.path}" for one in written if one.state == "written"))
