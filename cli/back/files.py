"""What `restore`, `rollback --files` and `undo` share: the plan shown, then the files."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sprintlog.engine.adapters.folders import may_take_files
from sprintlog.engine.adapters.snapshots.placement import PlacedFiles
from sprintlog.engine.adapters.snapshots.plan import PlacementPlan
from sprintlog.engine.adapters.snapshots.store import Store
from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.work_tree.own_paths import OUTPUT
from sprintlog.engine.service.work_tree.restore import KEPT, Restored, give_up, in_place
from sprintlog.engine.service.work_tree.restore_plan import RestoreOrder
from sprintlog.engine.service.work_tree.snapshot import shown, store_of
from sprintlog.engine.sprint.iterations.snapshots import Back, first_snapshot
from sprintlog.projections.views import files as views
from sprintlog.projections.views.files import LeftPath
from sprintlog.projections.workspace import Workspace

from ..context import here
from ..output import counted, print_json, print_text, warn
from ..record import Recording

SHOWN_MAX = 100
"""More paths of one kind are only counted on a terminal."""


def bring_back(
    run: Recording,
    order: RestoreOrder,
    arguments: dict[str, Any],
    *,
    is_agreed: bool,
    roll_back: Back | None = None,
) -> None:
    """Bring files back in place after showing what that means, and answer."""
    store = store_of(run.workspace)
    restored = in_place(
        run.workspace,
        run.sprint_id,
        store,
        order,
        is_agreed=is_agreed,
        envelope=run.envelope(arguments),
        roll_back=roll_back,
    )
    if not is_agreed:
        _show(restored.plan, as_json=run.options.as_json)
        raise RefusedError(
            "nothing was changed: this is what would be",
            hint="--yes does it; what stands there now is kept in a snapshot before",
        )
    try:
        _answer(restored, order, as_json=run.options.as_json)
    finally:
        run.refresh()
    warn_of_kept(store, restored.placed)


def put_back(run: Recording) -> None:
    """Give up restores that were cut short, and answer."""
    store = store_of(run.workspace)
    done = give_up(run.workspace, run.sprint_id, store, actor=run.options.actor)
    events = [event for given_up in done for event in given_up.outcome.events]
    placed = [given_up.placed for given_up in done]
    answer = views.put_back(placed, events)
    try:
        if run.options.as_json:
            print_json(answer)
        else:
            files = counted(answer.written, "file")
            print_text(f"{files} put back, {answer.removed} removed")
            print_text(*left_lines(answer.left), *map(_line, events))
    finally:
        run.refresh()
    for each in placed:
        warn_of_kept(store, each)


def inside(workspace: Workspace, paths: Sequence[str]) -> tuple[str, ...]:
    """Return paths as they are seen from the work tree's root.

    Raise `InvalidInputError` for one that lies outside; the root itself means all.
    """
    root = workspace.location.root.absolute()
    found = []
    for path in paths:
        whole = Path(_normal(here() / path))
        if not whole.is_relative_to(root):
            raise InvalidInputError(f"{path} is not in the work tree {root}", field="PATH")
        found.append(whole.relative_to(root).as_posix())
    return () if "." in found else tuple(dict.fromkeys(found))


def folder_inside(workspace: Workspace, path: str) -> str:
    """Return a folder of the work tree that files may be put into."""
    (found,) = inside(workspace, [path]) or ("",)
    if not may_take_files(found):
        raise InvalidInputError(
            f"{path} cannot take files: give a folder below the work tree's root",
            field="--into",
        )
    return found


def into_output(
    workspace: Workspace, sprint_id: str, order: RestoreOrder, into: str | None = None
) -> RestoreOrder:
    """Return a ask for what the loop changed, or its paths, elsewhere.

    That is seen from the snapshot that was taken before the first iteration; without it,
    and for that snapshot itself, all files are the result.
    """
    folder = folder_inside(workspace, into or str(workspace.location.root / OUTPUT))
    first = first_snapshot(
        workspace.sprint(sprint_id), worktree=workspace.location.worktree
    )
    is_seen = first is not None and first.iteration == 0 and not order.paths
    since = first.snapshot if first is not None and is_seen else ""
    since = "" if since == order.snapshot else since
    return order._replace(into=folder, since=since)


def warn_of_kept(store: Store, placed: PlacedFiles | None) -> None:
    """Say what changed while files were brought back, and where it is kept."""
    for path, copy in placed.kept if placed else ():
        folder = store.folder / KEPT
        warn(
            f"{shown(path)} changed meanwhile; what stood there is kept as {folder / copy}"
        )


def _normal(path: Path) -> str:
    # Without following links: a link in the tree is a file like any other.
    return os.path.normpath(path)


def _show(plan: PlacementPlan, *, as_json: bool) -> None:
    """Show what would be done to the work tree."""
    if as_json:
        print_json(views.plan(plan))
        return
    rows = [("write", [*plan.writes]), ("remove", plan.removals)]
    rows.append(("make folder", [f for f in plan.folders if f not in plan.before]))
    rows.append(("remove folder", plan.folders_gone))
    rows.append(("leave", [f"{path or 'all'}: {why}" for path, why in plan.skipped]))
    for word, paths in rows:
        print_text(*(f"{word}  {shown(path)}" for path in paths[:SHOWN_MAX]))
        if (more := len(paths) - SHOWN_MAX) > 0:
            print_text(f"{word}  {more} more")
    if plan.is_empty:
        print_text("every file is as it was then")


def left_lines(left: Sequence[LeftPath]) -> list[str]:
    """Return in words what could not be brought back; much is only counted."""
    lines = [
        f"left as it is: {one.path or 'all'}: {one.reason}" for one in left[:SHOWN_MAX]
    ]
    more = len(left) - SHOWN_MAX
    return [*lines, f"left as it is: {more} more"] if more > 0 else lines


def _answer(restored: Restored, order: RestoreOrder, *, as_json: bool) -> None:
    outcome, placed = restored.outcome, restored.placed
    events = outcome.events if outcome else []
    answer = views.restored(restored, order.snapshot, order.iteration)
    if as_json:
        print_json(answer)
        return
    if placed is None:
        said = "recorded before under this key" if outcome and outcome.duplicate else ""
        print_text(said or "every file is as it was then")
    else:
        written = counted(placed.written, "file")
        print_text(f"{written} written, {placed.removed} removed")
    print_text(*left_lines(answer.left), *map(_line, events))


def _line(event: RecordedEvent) -> str:
    return f"{event.type}  [position {event.position}, version {event.version}]"
