"""Removal of linked work trees, as by `git worktree remove`, without running git.

No hook, filter or setting of the repository is used, and no link is followed.
"""

import os
import re
import shutil
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ...errors import RefusedError
from ...log.stores.descriptors import read_whole
from ..folders import opened, opened_below

_BYTES_MAX = 4096
_PROC = Path("/proc")


def administration(common: Path, tree: Path) -> Path | None:
    """Return the git directory of a linked work tree, which need no longer exist."""
    folder = common / "worktrees"
    place = os.path.join(os.path.realpath(tree.parent), tree.name, ".git")
    for name in sorted(os.listdir(folder)) if folder.is_dir() else ():
        with suppress(OSError):
            said = read_whole(folder / name / "gitdir", at_most=_BYTES_MAX)
            top = folder / name / os.fsdecode(said).strip()
            above = os.path.realpath(top.parent.parent)
            if os.path.join(above, top.parent.name, top.name) == place:
                return folder / name
    return None


def head_of(directory: Path) -> str:
    """Return the commit of a detached work tree; an empty string if a branch is current."""
    with suppress(OSError):
        said = read_whole(directory / "HEAD", at_most=_BYTES_MAX).decode("ascii", "replace")
        return said.strip() if re.fullmatch(r"[0-9a-f]{40,64}\s*", said) else ""
    return ""


def in_use(tree: Path, directory: Path | None) -> str | None:
    """Return why a work tree must not be removed: locked, in use, or with a mount."""
    if directory is not None and os.path.lexists(directory / "locked"):
        return "it is locked (`git worktree unlock` unlocks it)"
    top = os.path.realpath(tree)
    for name in filter(str.isdigit, os.listdir(_PROC) if _PROC.is_dir() else ()):
        with suppress(OSError):
            if _is_below(os.readlink(_PROC / name / "cwd"), top):
                return f"process {name} is working in it"
    with suppress(OSError):
        mounts = (_PROC / "self/mountinfo").read_text("utf-8", "surrogateescape")
        for line in mounts.splitlines():
            point = re.sub(r"\\([0-7]{3})", lambda x: chr(int(x[1], 8)), line.split(" ")[4])
            if _is_below(point, top):
                return f"a file system is mounted at {point}"
    return None


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top}/")


def check_plain(base: Path, path: str) -> bool:
    """Return whether a folder exists below `base`; raise `RefusedError` for a link."""
    above, _, name = path.rpartition("/")
    try:
        with opened(base) as root, opened_below(root, above) as folder:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise RefusedError(f"{base / path} cannot be removed: {error.strerror}") from error
    if not stat.S_ISDIR(found.st_mode):
        raise RefusedError(
            f"{base / path} cannot be removed: it is a link or a file, not a work tree",
            hint="look where it leads, and remove it yourself",
            file=str(base / path),
        )
    return True


def remove(base: Path, path: str, directory: Path | None, also: Sequence[str] = ()) -> None:
    """Remove the work tree `path` below `base`, then its git directory; both may be gone.

    Files next to the tree with its name and the suffixes `also` are removed as well. Raise
    `RefusedError` if a file cannot be removed; a later call continues.
    """
    above, _, name = path.rpartition("/")
    try:
        if check_plain(base, path):
            with opened(base) as root, opened_below(root, above) as folder:
                shutil.rmtree(name, dir_fd=folder)
        if directory is not None:
            common = directory.parent.parent
            with opened_below(common, directory.parent.name) as folder:
                shutil.rmtree(directory.name, dir_fd=folder)
        for suffix in also:
            with (
                suppress(FileNotFoundError),
                opened(base) as root,
                opened_below(root, above) as folder,
            ):
                os.unlink(f"{name}{suffix}", dir_fd=folder)
    except OSError as error:
        where = os.fsencode(error.filename or path).decode(errors="backslashreplace")
        raise RefusedError(f"cannot remove {where}: {error.strerror}") from error
    for empty in (base / above, *([directory.parent] if directory else [])):
        with suppress(OSError):
            empty.rmdir()
