"""A snapshot's files in a new folder, exactly as they were."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from ...errors import RefusedError
from ..folders import opened, opened_below
from .entries import Snapshot
from .one_file import create
from .plan import PlacementPlan


def check_free(target: Path) -> None:
    """Raise `RefusedError` where something stands, or where nothing can."""
    if os.path.lexists(target):
        raise RefusedError(
            f"{target} is there already",
            hint="name a folder that is not there, with --into",
            file=str(target),
        )
    if not target.parent.is_dir():
        raise RefusedError(f"{target.parent} is no folder", file=str(target))


def extract(
    snapshot: Snapshot, plan: PlacementPlan, target: Path, blob: Callable[[str], bytes]
) -> None:
    """Make a folder with what a plan writes; it has its name only when it is whole.

    Raise `RefusedError` when something stands there, or where two of its names are one.
    """
    check_free(target)
    draft = target.with_name(f".{target.name}.sprintlog-new")
    # One that a killed process left behind holds nothing that the store does not hold.
    _discard(draft)
    try:
        draft.mkdir(mode=0o700)
        with opened(draft) as root:
            for folder in sorted(plan.folders):
                above, _, name = folder.rpartition("/")
                with opened_below(root, above) as descriptor:
                    os.mkdir(name, 0o700, dir_fd=descriptor)
            for path, entry in sorted(plan.writes.items()):
                above, _, name = path.rpartition("/")
                with opened_below(root, above) as descriptor:
                    create(descriptor, name, entry, blob(entry.oid), durable=False)
            for folder in sorted(plan.folders, reverse=True):
                with opened_below(root, folder) as descriptor:
                    os.fchmod(descriptor, plan.modes[folder])
        draft.chmod(0o755)
        draft.rename(target)
    except FileExistsError as error:
        _discard(draft)
        alike = " and ".join(next(iter(snapshot.collisions), [str(error.filename)]))
        raise RefusedError(
            f"{alike} are one and the same where {target} would be: case does not matter",
            hint="choose a folder on a file system that tells them apart",
            file=str(target),
        ) from error
    except OSError as error:
        _discard(draft)
        raise RefusedError(
            f"{target} cannot be made: {error.strerror}", file=str(target)
        ) from error


def _discard(draft: Path) -> None:
    """Remove what was begun; its folders may not be writable."""
    if draft.is_symlink() or (draft.exists() and not draft.is_dir()):
        raise RefusedError(f"{draft} stands in the way", file=str(draft))
    for folder, _, _ in os.walk(draft):
        os.chmod(folder, 0o700)
    shutil.rmtree(draft, ignore_errors=True)
