"""Where a log lives: found by walking up, made by `init` (DESIGN.md section 3)."""

import os
from pathlib import Path
from typing import NamedTuple

from sprintlog.engine.errors import NotFoundError, RefusedError

DATABASE = "log.db"
HIDDEN = ".sprintlog"
INSIDE_GIT = "sprintlog"


class Location(NamedTuple):
    """The folder of a log, and the work tree in which this process stands."""

    folder: Path
    """Everything sprintlog keeps: database, head, kept edits."""
    root: Path
    """The work tree's root; paths of state files are relative to it."""
    worktree: str
    """Name of the linked git work tree; empty for the main one and outside git."""

    @property
    def database(self) -> Path:
        """Return the log's database file."""
        return self.folder / DATABASE


def find(start: Path, *, folder: str | None = None) -> Location:
    """Return the nearest log: the first folder upwards that holds one.

    `.sprintlog` wins over the git directory beside it. `folder` (SPRINTLOG_DIR) names
    the log's folder directly. Raise `NotFoundError` when there is none.
    """
    if folder:
        return _named(Path(folder).absolute(), start)
    for root in (start, *start.parents):
        for location in _candidates(root):
            if location.database.exists():
                return location
    raise NotFoundError(
        f"there is no log in {start} or above",
        hint="`sprintlog init` makes one",
        start=str(start),
    )


def place_for_new(
    start: Path, *, here: bool = False, folder: str | None = None
) -> Location:
    """Return where `init` puts a log: the git common directory, else `.sprintlog`."""
    if folder:
        return _named(Path(folder).absolute(), start, must_exist=False)
    if not here:
        for root in (start, *start.parents):
            if (root / ".git").exists():
                location = _candidates(root)[-1]
                if _may_write(location.folder.parent):
                    return location
                break
    return Location(start / HIDDEN, start, "")


def make_folder(location: Location) -> None:
    """Make the log's folder, readable by nobody else, whatever the umask.

    One inside a work tree is ignored by git of itself. Raise `RefusedError` when a log
    is there already or the folder cannot be made.
    """
    if location.database.exists():
        raise RefusedError(
            f"there is a log already: {location.database}",
            hint="`sprintlog status` shows it; nothing was changed",
            file=str(location.database),
        )
    try:
        location.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        location.folder.chmod(0o700)
        if location.folder.name == HIDDEN:
            (location.folder / ".gitignore").write_text("*\n")
    except OSError as error:
        raise RefusedError(
            f"cannot make {location.folder}: {error.strerror}",
            hint="choose a folder that may be written, or set SPRINTLOG_DIR",
            file=str(location.folder),
        ) from error


def _candidates(root: Path) -> list[Location]:
    found = [Location(root / HIDDEN, root, "")]
    git = root / ".git"
    if git.is_dir():
        found.append(Location(git / INSIDE_GIT, root, ""))
    elif git.is_file():
        found.extend(_linked(git, root))
    return found


def _linked(git: Path, root: Path) -> list[Location]:
    """Return the log of a linked work tree or submodule, whose `.git` is a file."""
    try:
        text = git.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return []
    if not text.startswith("gitdir:"):
        return []
    directory = (root / text.removeprefix("gitdir:").strip()).resolve()
    pointer = directory / "commondir"
    if not pointer.is_file():
        return [Location(directory / INSIDE_GIT, root, "")]
    common = (directory / pointer.read_text().strip()).resolve()
    return [Location(common / INSIDE_GIT, root, directory.name)]


def _named(folder: Path, start: Path, *, must_exist: bool = True) -> Location:
    for root in (start, *start.parents):
        for location in _candidates(root):
            if location.folder.resolve() == folder.resolve():
                return location._replace(folder=folder)
    if must_exist and not (folder / DATABASE).exists():
        raise NotFoundError(
            f"there is no log in {folder}",
            hint="SPRINTLOG_DIR names it; `sprintlog init` makes one there",
            start=str(folder),
        )
    is_hidden = folder.name == HIDDEN
    return Location(folder, folder.parent if is_hidden else start, "")


def _may_write(folder: Path) -> bool:
    """Try it: permission bits say nothing on a read-only mount or to a sandbox."""
    probe = folder / f".sprintlog-probe-{os.getpid()}"
    try:
        probe.touch()
        probe.unlink()
    except OSError:
        return False
    return True
