"""Paths on the command line, and messages about restored files."""

import os
from collections.abc import Sequence
from pathlib import Path

from sprintlog.engine.adapters.folders import may_take_files
from sprintlog.engine.adapters.snapshots.placement import PlacedFiles
from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.service.work_tree.own_paths import OUTPUT
from sprintlog.engine.service.work_tree.restore import KEPT
from sprintlog.engine.service.work_tree.restore_plan import RestoreOrder, result_order
from sprintlog.engine.service.work_tree.snapshot import shown
from sprintlog.projections.views.files import LeftPath
from sprintlog.projections.workspace import Workspace

from ..context import here
from ..output import warn

SHOWN_MAX = 100
"""The maximum number of paths of one kind shown on a terminal; the rest are counted."""


def inside(workspace: Workspace, paths: Sequence[str]) -> tuple[str, ...]:
    """Return paths relative to the root of the work tree.

    Raise `InvalidInputError` for a path outside the work tree; the root itself selects all
    files.
    """
    root = workspace.location.root.absolute()
    found = []
    for path in paths:
        # Links are not followed: a link in the work tree is treated like a file.
        whole = Path(os.path.normpath(here() / path))
        if not whole.is_relative_to(root):
            raise InvalidInputError(f"{path} is not in the work tree {root}", field="PATH")
        found.append(whole.relative_to(root).as_posix())
    return () if "." in found else tuple(dict.fromkeys(found))


def folder_inside(workspace: Workspace, path: str) -> str:
    """Return a folder's path in the work tree; raise an error for an unsuitable folder."""
    (found,) = inside(workspace, [path]) or ("",)
    if not may_take_files(found):
        raise InvalidInputError(
            f"{path} cannot be used: specify a folder below the work tree's root",
            field="--into",
        )
    return found


def into_output(
    workspace: Workspace, sprint_id: str, order: RestoreOrder, into: str | None = None
) -> RestoreOrder:
    """Return an order that copies the loop's changed files, or given paths, to a folder."""
    folder = folder_inside(workspace, into or str(workspace.location.root / OUTPUT))
    return result_order(workspace, workspace.sprint(sprint_id), order, folder)


def left_lines(left: Sequence[LeftPath]) -> list[str]:
    """Return a line for each path not restored; excess paths are only counted."""
    # Paths that differ come first.
    lines = [
        f"{'differs' if one.differs is True else 'unchanged'}: "
        f"{one.path or 'all'}: {one.reason}"
        for one in sorted(left, key=lambda one: one.differs is not True)[:SHOWN_MAX]
    ]
    more = len(left) - SHOWN_MAX
    return [*lines, f"unchanged: {more} more"] if more > 0 else lines


def warn_of_kept(folder: Path, placed: PlacedFiles | None) -> None:
    """Warn about files that changed during a restore, and print their copies' paths."""
    for path, copy in placed.kept if placed else ():
        warn(
            f"{shown(path)} changed in the meantime; the old file is saved as "
            f"{folder / KEPT / copy}"
        )
