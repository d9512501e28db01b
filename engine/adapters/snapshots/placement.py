"""Putting files in place, one by one, so that nothing that is not kept is ever lost.

Each step may be the last: whoever comes after does all of them again, and those that are
done change nothing. What is displaced is looked at before it goes. A folder on the way is
never followed when it is a link.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ...errors import RefusedError
from ..folders import opened, opened_below
from .entries import LeftOut, TreeEntry, parents_of
from .objects import DamagedError, object_id
from .one_file import content_of, create, holds, kind_of, make_folder, put, set_mode, unlink
from .plan import PlacementPlan

TRIES_MAX = 3
NOT_A_FOLDER = (errno.ENOTDIR, errno.ELOOP)
FOLDER_THERE = "a folder with other files is there"
NO_FOLDER = "what it would be in is no folder"
SPECIAL_THERE = "something that is neither file, link nor folder is there"
DAMAGED = "its bytes are damaged in the store"
RESTLESS = "somebody else goes on writing it"


class Kept(NamedTuple):
    """Something that nobody had a copy of, and where its copy is now."""

    path: str
    copy: str
    """The name of its copy in the store's folder for such."""


class PlacedFiles(NamedTuple):
    """What was done."""

    written: int
    removed: int
    kept: list[Kept]
    skipped: list[LeftOut]


def place(
    root: Path,
    plan: PlacementPlan,
    blob: Callable[[str], bytes],
    *,
    keep_in: Path,
    leaves_damaged: bool = False,
) -> PlacedFiles:
    """Do what a plan says below a root; what nobody has a copy of goes to `keep_in`.

    Where a file's bytes are damaged it ends, unless that file is to be left as it is.
    """
    with opened(root) as descriptor:
        return _Placer(descriptor, plan, blob, keep_in, leaves_damaged).place()


class _Placer:
    """Carries out one plan."""

    def __init__(
        self,
        root: int,
        plan: PlacementPlan,
        blob: Callable[[str], bytes],
        keep_in: Path,
        leaves_damaged: bool,
    ) -> None:
        self._root = root
        self._plan = plan
        self._blob = blob
        self._keep_in = keep_in
        self._leaves_damaged = leaves_damaged
        self._kept: list[Kept] = []
        self._skipped = list(plan.skipped)

    def place(self) -> PlacedFiles:
        plan = self._plan
        removed = sum(self._guarded(path, self._remove) for path in plan.removals)
        for folder in plan.folders_gone:
            self._remove_folder(folder)
        for folder in plan.folders:
            self._guarded(folder, self._make)
        written = sum(self._guarded(path, self._write) for path in sorted(plan.writes))
        self._set_modes()
        return PlacedFiles(written, removed, self._kept, self._skipped)

    def _guarded(self, path: str, do: Callable[[int, str, str], str | None]) -> bool:
        """Do something in the folder of a path; note it where it cannot be done."""
        folder, _, name = path.rpartition("/")
        try:
            if do != self._remove:
                self._make_way(folder)
            with self._writable(folder) as descriptor:
                problem = do(descriptor, name, path)
        except FileNotFoundError:
            # Only what is to go may be gone.
            problem = None if do == self._remove else NO_FOLDER
        except DamagedError:
            if not self._leaves_damaged:
                raise
            problem = DAMAGED
        except PermissionError as error:
            problem = error.strerror
        except OSError as error:
            if error.errno not in NOT_A_FOLDER:
                raise _cut_short(path, error) from error
            problem = None if do == self._remove else NO_FOLDER
        if problem is not None:
            self._skipped.append(LeftOut(path, problem))
        return problem is None

    @contextmanager
    def _writable(self, folder: str) -> Iterator[int]:
        with opened_below(self._root, folder) as descriptor:
            mode = os.fstat(descriptor).st_mode
            if mode & 0o300 != 0o300:
                os.fchmod(descriptor, stat.S_IMODE(mode) | 0o700)
            yield descriptor

    def _make_way(self, folder: str) -> None:
        """Make the folders on the way to a path."""
        made = ""
        for name in filter(None, folder.split("/")):
            with self._writable(made) as descriptor:
                make_folder(descriptor, name)
            made = f"{made}/{name}" if made else name

    def _make(self, descriptor: int, name: str, path: str) -> str | None:
        make_folder(descriptor, name)
        found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        return None if stat.S_ISDIR(found.st_mode) else NO_FOLDER

    def _remove_folder(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        try:
            with self._writable(folder) as descriptor:
                os.rmdir(name, dir_fd=descriptor)
        except OSError as error:
            expected = (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, *NOT_A_FOLDER)
            if error.errno not in expected:
                raise _cut_short(path, error) from error

    def _remove(self, descriptor: int, name: str, path: str) -> str | None:
        self._settle(descriptor, path)
        # One that was cut short may have begun to write it.
        unlink(descriptor, _draft(path))
        kind = kind_of(descriptor, name)
        if kind is None:
            return None
        if kind == stat.S_IFDIR:
            return FOLDER_THERE
        if kind not in (stat.S_IFREG, stat.S_IFLNK):
            return SPECIAL_THERE
        os.rename(name, _aside(path), src_dir_fd=descriptor, dst_dir_fd=descriptor)
        self._settle(descriptor, path)
        os.fsync(descriptor)
        return None

    def _write(self, descriptor: int, name: str, path: str) -> str | None:
        entry = self._plan.writes[path]
        draft = _draft(path)
        self._settle(descriptor, path)
        unlink(descriptor, draft)
        for _ in range(TRIES_MAX):
            kind = kind_of(descriptor, name)
            if kind == stat.S_IFDIR:
                return FOLDER_THERE
            if kind not in (None, stat.S_IFREG, stat.S_IFLNK):
                return SPECIAL_THERE
            if kind and holds(descriptor, name, entry.oid) == stat.S_IFMT(entry.mode):
                set_mode(descriptor, name, entry)
                return None
            create(descriptor, draft, entry, self._blob(entry.oid))
            if kind is not None:
                os.rename(name, _aside(path), src_dir_fd=descriptor, dst_dir_fd=descriptor)
            is_placed = put(descriptor, draft, name)
            unlink(descriptor, draft)
            self._settle(descriptor, path)
            os.fsync(descriptor)
            if is_placed:
                return None
        return RESTLESS

    def _settle(self, descriptor: int, path: str) -> None:
        """Let go of what was displaced at a path, or keep it when nobody else does."""
        aside = _aside(path)
        kind = kind_of(descriptor, aside)
        if kind is None:
            return
        for known in (self._plan.before.get(path), self._plan.writes.get(path)):
            if known and holds(descriptor, aside, known.oid) == stat.S_IFMT(known.mode):
                os.unlink(aside, dir_fd=descriptor)
                return
        if kind in (stat.S_IFREG, stat.S_IFLNK):
            self._kept.append(Kept(path, self._keep(descriptor, aside, kind)))
            os.unlink(aside, dir_fd=descriptor)
        else:
            # It changed its kind in the meantime; under this name it harms nobody.
            self._kept.append(Kept(path, aside))

    def _keep(self, descriptor: int, name: str, kind: int) -> str:
        content = content_of(descriptor, name, kind)
        copy = object_id("blob", content) + (".link" if kind == stat.S_IFLNK else "")
        self._keep_in.mkdir(mode=0o700, parents=True, exist_ok=True)
        with opened(self._keep_in) as folder:
            unlink(folder, f"{copy}.new")
            entry = TreeEntry(stat.S_IFREG | 0o600, "", len(content))
            create(folder, f"{copy}.new", entry, content)
            os.replace(f"{copy}.new", copy, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
        return copy

    def _set_modes(self) -> None:
        """Give folders their modes, the deepest first, and make all durable."""
        plan = self._plan
        touched = {*plan.folders, *parents_of([*plan.writes, *plan.removals])}
        for path in sorted(touched, key=lambda path: (-path.count("/"), path)):
            mode = plan.modes.get(path)
            try:
                with opened_below(self._root, path) as descriptor:
                    is_so = mode is None or os.fstat(descriptor).st_mode & 0o777 == mode
                    if mode is not None and not is_so:
                        os.fchmod(descriptor, mode)
                    os.fsync(descriptor)
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.EACCES, *NOT_A_FOLDER):
                    raise _cut_short(path, error) from error


def _cut_short(path: str, error: OSError) -> RefusedError:
    said = os.fsencode(path).decode(errors="backslashreplace") or "the work tree"
    return RefusedError(
        f"{said}: cannot be brought back: {error.strerror}",
        hint="the next command that records goes on with it",
    )


def _aside(path: str) -> str:
    """Return the name under which what is displaced stands beside its place."""
    return f".sprintlog-{sha256(os.fsencode(path)).hexdigest()[:16]}-old"


def _draft(path: str) -> str:
    return f".sprintlog-{sha256(os.fsencode(path)).hexdigest()[:16]}-new"
