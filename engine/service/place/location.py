"""The location of a log, found by walking up, and of the state files in its work tree.

A log may come from anyone, so the path of a state file is checked on every use.
"""

import os
import re
import stat
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from ... import hashes
from ...adapters.folders import may_take_files, read_plain
from ...adapters.git.repositories import common_directory, linked_directory
from ...adapters.replace import replace_file
from ...errors import InvalidInputError, NotFoundError, RefusedError
from ...log.stores import is_served

BYTES_MAX = 4096


def read_address(path: Path) -> str:
    """Return the server address in a file of a log's folder; follow no links."""
    try:
        content = read_plain(path, at_most=BYTES_MAX)
    except OSError as error:
        raise InvalidInputError(f"cannot be read: {error.strerror}", file=str(path)) from (
            error
        )
    address = content.decode(errors="replace").strip()
    check_named(address, file=str(path))
    return address


def check_named(address: str, *, file: str | None = None, field: str | None = None) -> None:
    """Raise `InvalidInputError` for an address that is invalid or contains a password."""
    if not is_served(address):
        raise InvalidInputError(
            "invalid address: must start with postgresql://", file=file, field=field
        )
    # Imported here: most logs are in a folder.
    from ...log.stores.postgres.address import check_is_plain

    check_is_plain(address, file=file, field=field)


DATABASE = "log.db"
ADDRESS = "log.url"
"""The file that replaces the database in the folder if the log is on a server."""
CACHES = "caches.db"
"""The local caches of a log on a server."""
REDACTION = "redaction"
"""The file that describes an unfinished erasure."""
SPOOL = "spool"
"""The folder for spooled events, in a log's folder or in the user's state folder."""
INSTALLED = "installed"
"""The folder for the positions of additions to agents' files if HOME is read-only."""
BEAT = "hook-beat"
"""The file whose modification time is that of the last heartbeat recorded by a hook."""
NOTES = "notes"
"""The file that exists if the log has notes to agents, which hooks may have to deliver."""
HIDDEN = ".sprintlog"
INSIDE_GIT = "sprintlog"


class Location(msgspec.Struct, frozen=True):
    """A log's folder, and the work tree that contains the current folder."""

    folder: Path
    """The folder for all data of the log, such as the database and saved edits."""
    root: Path
    """The work tree's root, to which the paths of state files are relative."""
    worktree: str
    """The linked Git work tree's name; empty for the main work tree and outside Git."""
    address: str | None = None
    """The given address of a log on a server; None if the address is in the folder."""

    @property
    def url(self) -> str:
        """Return the log's address for its store."""
        if self.address is not None:
            return self.address
        is_here = self.database.exists() or not self.is_joined
        return f"sqlite:{self.database}" if is_here else read_address(self.folder / ADDRESS)

    @property
    def is_served(self) -> bool:
        """Return whether the log is on a server."""
        return not self.database.exists() and (self.address is not None or self.is_joined)

    def of_this_host(self) -> "Location":
        """Return a location whose work tree name is unique among the log's machines.

        State files, snapshots and everything else that belongs to a work tree remain
        separate.
        """
        if not self.is_served:
            return self
        # Imported here: most logs are in their folder.
        from ...adapters.processes.process import host

        name = "/".join(filter(None, (host(), self.worktree)))
        return msgspec.structs.replace(self, worktree=name)

    @property
    def names(self) -> tuple[str, ...]:
        """Return this work tree's names in records, with and without the host."""
        _, _, name = self.worktree.partition("/")
        return (self.worktree, name) if self.is_served else (self.worktree,)

    @property
    def is_joined(self) -> bool:
        """Return whether the folder contains the address of a log on a server."""
        return (self.folder / ADDRESS).exists()

    @property
    def has_log(self) -> bool:
        """Return whether the folder contains a log or a log's address."""
        return self.database.exists() or self.is_joined

    @property
    def database(self) -> Path:
        """Return the path of the log's database file."""
        return self.folder / DATABASE


def state_folder(environment: Mapping[str, str]) -> Path | None:
    """Return the folder for the user's local state, or None without HOME."""
    state = environment.get("XDG_STATE_HOME")
    if not state and (home := environment.get("HOME")):
        state = f"{home}/.local/state"
    return Path(state) / "sprintlog" if state and os.path.isabs(state) else None


def spool_folders(location: Location, environment: Mapping[str, str]) -> list[Path]:
    """Return a log's spool folders: next to the log, and in the user's state folder."""
    found = [location.folder / SPOOL]
    if (state := state_folder(environment)) is not None:
        place = os.path.realpath(location.folder).encode("utf-8", "surrogateescape")
        found.append(state / SPOOL / hashes.sha256(place).hexdigest()[:32])
    return found


def find(start: Path, *, folder: str | None = None) -> Location:
    """Return the nearest log, searching upwards from the folder `start`.

    The search ends at the root of the first repository. A log in HOME or `/` is used for
    that folder alone. `folder` (SPRINTLOG_DIR) names the log's folder directly. Raise
    `NotFoundError` if there is no log, and `RefusedError` if a work tree has two.
    """
    if folder:
        return _named(Path(folder).absolute(), start)
    is_within = True
    for root in (start, *start.parents):
        found = [place for place in _candidates(root) if place.has_log]
        if len(found) > 1:
            one, other = (place.folder for place in found)
            raise RefusedError(
                f"there are two logs for {root}: {one} and {other}",
                hint="move the unwanted log away (did a pull add it?), or set "
                "SPRINTLOG_DIR to the other log",
                files=[str(one), str(other)],
            )
        if found and is_within and (root == start or not is_everything(root)):
            return found[0]
        if found:
            # Imported here: few folders have another folder's log above them.
            from shlex import quote

            outer = found[0].folder
            raise NotFoundError(
                f"there is no log in {start}: the log {outer} above it is not used because "
                + ("it is HOME's log" if is_within else "it is outside the repository"),
                hint="run `sprintlog init` to create one, or "
                f"`SPRINTLOG_DIR={quote(str(outer))} sprintlog log` to see the events "
                "of the other log",
                start=str(start),
                unused=str(outer),
            )
        is_within = is_within and not os.path.lexists(root / ".git")
    raise NotFoundError(
        f"there is no log in {start} or above",
        hint="run `sprintlog init` to create one",
        start=str(start),
    )


def is_everything(root: Path) -> bool:
    """Return whether a folder is HOME or `/`, which contain nearly everything."""
    return root == root.parent or root == Path(os.path.realpath(os.path.expanduser("~")))


def place_for_new(
    start: Path, *, here: bool = False, folder: str | None = None
) -> Location:
    """Return the location for a new log: the git common directory, otherwise `.sprintlog`.

    Raise `RefusedError` in HOME and `/`, unless the log's folder is named.
    """
    if folder:
        return _named(Path(folder).absolute(), start, must_exist=False)
    location = Location(start / HIDDEN, start, "")
    if not here:
        for root in (start, *start.parents):
            if (root / ".git").exists():
                location = _candidates(root)[-1]
                if not _may_write(location.folder.parent):
                    location = Location(start / HIDDEN, start, "")
                break
    if is_everything(location.root):
        raise RefusedError(
            f"a log in {location.root} would record everything below it",
            hint="run `sprintlog init --here` in a project's folder, or set SPRINTLOG_DIR "
            "to the log's folder",
            file=str(location.root),
        )
    return location


def make_folder(location: Location) -> None:
    """Create the log's folder, accessible only to the user, regardless of the umask.

    A folder inside a work tree contains a `.gitignore` file that makes git ignore the
    folder. Raise `RefusedError` if the work tree already has a log, or if the folder cannot
    be created or is accessible to others. The mode of an existing folder is not changed.
    """
    places = _candidates(location.root)
    for place in places if location in places else [location]:
        if place.has_log:
            there = place.database if place.database.exists() else place.folder / ADDRESS
            raise RefusedError(
                f"a log already exists: {there}",
                hint="nothing was changed; run `sprintlog status` to see the log",
                file=str(there),
            )
    try:
        _make(location.folder)
        if location.folder.name == HIDDEN:
            replace_file(location.folder / ".gitignore", b"*\n", mode=0o600)
    except OSError as error:
        raise RefusedError(
            f"cannot create {location.folder}: {error.strerror}",
            hint="choose a writable folder, or set SPRINTLOG_DIR",
            file=str(location.folder),
        ) from error


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True)
        folder.chmod(0o700)
    except FileExistsError:
        mode = stat.S_IMODE(folder.stat().st_mode)
        if mode & 0o077:
            # Imported here: required only for a refusal.
            from ...readable import quoted

            raise RefusedError(
                f"other users can access {folder} (mode {mode:o}): a log's folder "
                "requires mode 700",
                hint=f"run `chmod 700 {quoted(str(folder))}`, or specify a folder that "
                "does not exist yet",
                file=str(folder),
            ) from None


def _candidates(root: Path) -> list[Location]:
    found = [Location(root / HIDDEN, root, "")]
    git = root / ".git"
    if git.is_dir() and not git.is_symlink():
        found.append(Location(git / INSIDE_GIT, root, ""))
    elif git.is_file() and (directory := linked_directory(git)) is not None:
        common = common_directory(directory).resolve()
        name = "" if common == directory else directory.name
        if not name.isprintable():
            # Imported here: nearly all names are UTF-8.
            from ...readable import readable

            name = readable(name)
        found.append(Location(common / INSIDE_GIT, root, name))
    return found


def _named(folder: Path, start: Path, *, must_exist: bool = True) -> Location:
    for root in (start, *start.parents):
        for location in _candidates(root):
            if location.folder.resolve() == folder.resolve():
                return msgspec.structs.replace(location, folder=folder)
    if must_exist and not Location(folder, start, "").has_log:
        raise NotFoundError(
            f"there is no log in {folder}",
            hint="SPRINTLOG_DIR specifies that folder; run `sprintlog init` to create a "
            "log there",
            start=str(folder),
        )
    if folder.name == HIDDEN:
        return Location(folder, folder.parent, "")
    tops = (root for root in (start, *start.parents) if os.path.lexists(root / ".git"))
    root = next(tops, start)
    return Location(folder, root, _candidates(root)[-1].worktree)


def _may_write(folder: Path) -> bool:
    """Try to create a file in a folder; return whether the folder is writable.

    Permission bits do not reflect read-only mounts or sandboxes.
    """
    probe = folder / f".sprintlog-probe-{os.getpid()}"
    try:
        probe.touch()
        probe.unlink()
    except OSError:
        return False
    return True


PROGRESS = "PROGRESS.yaml"
JOURNALS = ("progress.json", "journal.json")
"""The permitted names of a journal's file; other tools also use progress.json."""
NAMES = (PROGRESS, *JOURNALS)
"""The permitted names of state files; no program executes files with these names."""
LOOPS = ".aiwg/ralph"
"""The folder for the files of loops in the work tree, with a subfolder for each loop."""
TRACKER = "best-iteration.yaml"
"""The path of the tracker in its loop's folder; the paths of the other files follow."""
BASELINE = "progress/iteration-000-baseline.json"
METRICS = "iterations/iteration-{:03d}/metrics.json"
EVIDENCE = "iterations/iteration-{:03d}/reports/"
"""The folder for the reports with which an iteration was measured."""
REPORT = "reports/iteration-{:03d}.md"
SELECTION = "reports/output-selection.md"
CHECKSUM_SUFFIX = ".checksum"
"""The suffix of the file that contains the digest of a state file."""


def artifacts_path(loop_id: str, number: int) -> str:
    """Return the path of an iteration's stored files, relative to the work tree."""
    return f"{LOOPS}/{loop_id}/{METRICS.format(number).removesuffix('metrics.json')}"


@lru_cache(maxsize=256)
def wrong_place(path: str) -> str | None:
    """Return why a path is not allowed for a state file; None if it is allowed."""
    *folders, name = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in (*folders, name)):
        return "is not a path below the work tree's root"
    if not may_take_files(path):
        return "is in a folder of git's or of a log"
    if name not in NAMES and not _of_loop(path):
        return f"a state file must have one of the names {', '.join(NAMES)}"
    return None


def wrong_journal(path: str) -> str | None:
    """Return why a path is not allowed for a journal's file; None if it is allowed."""
    if path.rpartition("/")[2] not in JOURNALS:
        return f"a journal file must be named {' or '.join(JOURNALS)}"
    return wrong_place(path)


def _of_loop(path: str) -> bool:
    """Return whether a path belongs to a loop's file."""
    loop, _, name = path.removeprefix(f"{LOOPS}/").partition("/")
    said = re.sub(r"iteration-[0-9]{3,18}(?=[/.])", "iteration-{:03d}", name)
    is_one = name in (TRACKER, BASELINE, SELECTION)
    is_report = re.fullmatch(re.escape(EVIDENCE) + r"[\w-][\w.-]{0,127}", said, re.ASCII)
    is_one_of_many = said != name and (said in (METRICS, REPORT) or is_report is not None)
    return path == f"{LOOPS}/{loop}/{name}" and (is_one or is_one_of_many)
