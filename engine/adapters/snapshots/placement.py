"""Putting files in place, one by one, so that nothing that is not kept is ever lost.

Each step may be the last: whoever comes after does all of them again, and those that are
done change nothing. What is displaced is looked at before it goes. A folder on the way is
never followed when it is a link.
"""

import errno
import os
import stat
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from ...errors import RefusedError
from ..folders import opened, opened_below, opened_file
from ..replace import replace_file, system_call
from .entries import LeftOut, Stat, parents_of, stat_of
from .known_stats import settled
from .objects import DamagedError, object_id
from .one_file import content_of, create, holds, kind_of, make_folder, put, set_mode, unlink
from .plan import PlacementPlan
from .quiet import Quiet

TRIES_MAX = 3
BATCH_FILES, BATCH_BYTES = 10_000, 512 * 1024 * 1024
"""So many files, or bytes, are written beside their places and synced together."""
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
    stats: dict[str, Stat]
    """How files look that were written and can be believed to be unchanged."""


def place(
    root: Path,
    plan: PlacementPlan,
    blob: Callable[[str], bytes],
    *,
    keep_in: Path,
    leaves_damaged: bool = False,
    is_new: bool = False,
) -> PlacedFiles:
    """Do what a plan says below a root; what nobody has a copy of goes to `keep_in`.

    Where a file's bytes are damaged it ends, unless that file is to be left as it is. With
    `is_new` nothing of the plan was done yet.
    """
    with opened(root) as descriptor, ExitStack() as held:
        how = (leaves_damaged, is_new, held, Quiet(root))
        placer = _Placer(descriptor, plan, blob, keep_in, *how)
        return placer.place()


def order_of_writes(plan: PlacementPlan) -> list[str]:
    """Return the ids of the bytes that a plan writes, in the order of reading."""
    return [plan.writes[path].oid for path in sorted(plan.writes)]


class _Placer(msgspec.Struct):
    """Carries out one plan."""

    root: int
    plan: PlacementPlan
    blob: Callable[[str], bytes]
    keep_in: Path
    leaves_damaged: bool
    is_new: bool
    held: ExitStack
    quiet: Quiet
    open: tuple[str, int] | None = None
    """The folder that is open, with its descriptor; `held` closes it."""
    kept: list[Kept] = []
    skipped: list[LeftOut] = []
    drafted: dict[str, os.stat_result] = {}
    """How the files that were written looked then."""
    stats: dict[str, Stat] = {}
    looked_ns: int = 0
    """When we began to look at what was written."""
    syncfs: Callable[[int], int] | None = msgspec.field(
        default_factory=lambda: system_call("syncfs")
    )

    def place(self) -> PlacedFiles:
        plan = self.plan
        self.skipped += plan.skipped
        removed = sum(self._guarded(path, self._remove) for path in plan.removals)
        for folder in plan.folders_gone:
            self._remove_folder(folder)
        for folder in plan.folders:
            self._guarded(folder, self._make)
        written, paths = 0, sorted(plan.writes, reverse=True)
        while batch := self._next_batch(paths):
            ready = [path for path in batch if self._guarded(path, self._prepare)]
            # The bytes are durable before a name leads to them.
            self._sync()
            written += sum(self._guarded(path, self._write) for path in ready)
        self._set_modes()
        return PlacedFiles(written, removed, self.kept, self.skipped, self.stats)

    def _guarded(self, path: str, do: Callable[[int, str, str], str | None]) -> bool:
        """Do something in the folder of a path; note it where it cannot be done."""
        folder, _, name = path.rpartition("/")
        # Only what is to go may be gone.
        may_be_gone = do == self._remove
        try:
            problem = do(self._writable(folder, make=not may_be_gone), name, path)
        except FileNotFoundError:
            problem = None if may_be_gone else NO_FOLDER
        except DamagedError:
            if not self.leaves_damaged:
                raise
            problem = DAMAGED
        except PermissionError as error:
            problem = error.strerror
        except OSError as error:
            if error.errno not in NOT_A_FOLDER:
                raise _cut_short(path, error) from error
            problem = None if may_be_gone else NO_FOLDER
        if problem is not None:
            self.skipped.append(LeftOut(path, problem))
        return problem is None

    def _next_batch(self, paths: list[str]) -> list[str]:
        """Take paths off the list: as many as are written before all are synced."""
        size = 0
        batch: list[str] = []
        while paths and len(batch) < BATCH_FILES and size < BATCH_BYTES:
            batch.append(paths.pop())
            size += self.plan.writes[batch[-1]].size
        return batch

    def _sync(self) -> None:
        """Make all that was written durable, in one pass if the system has such a call."""
        if self.syncfs is not None and (error := self.syncfs(self.root)):
            if error != errno.ENOSYS:
                raise _cut_short("", OSError(error, os.strerror(error)))
            self.syncfs = None

    def _syncs_each(self, descriptor: int) -> bool:
        """Return whether files of an open folder are to be synced one by one."""
        return self.syncfs is None or os.fstat(descriptor).st_dev != self.quiet.device

    def _writable(self, folder: str, *, make: bool = False) -> int:
        """Return the descriptor of a folder; it is open until another one is."""
        if self.open is None or self.open[0] != folder or not self._is_there():
            self.open = None
            self.held.close()
            descriptor = self.held.enter_context(opened_below(self.root, folder, make=make))
            mode = os.fstat(descriptor).st_mode
            if mode & 0o300 != 0o300:
                os.fchmod(descriptor, stat.S_IMODE(mode) | 0o700)
            self.open = folder, descriptor
        return self.open[1]

    def _is_there(self) -> bool:
        """Return whether the open folder still has a name."""
        return self.open is not None and os.fstat(self.open[1]).st_nlink > 0

    def _make(self, descriptor: int, name: str, path: str) -> str | None:
        make_folder(descriptor, name)
        found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        return None if stat.S_ISDIR(found.st_mode) else NO_FOLDER

    def _remove_folder(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        try:
            os.rmdir(name, dir_fd=self._writable(folder))
        except OSError as error:
            expected = (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, *NOT_A_FOLDER)
            if error.errno not in expected:
                raise _cut_short(path, error) from error

    def _remove(self, descriptor: int, name: str, path: str) -> str | None:
        self._settle(descriptor, path)
        # One that was cut short may have begun to write it.
        unlink(descriptor, _draft(path))
        kind = kind_of(descriptor, name)
        if kind is None or (kind == stat.S_IFDIR and path in self.plan.modes):
            # It is gone already, or in the place of a folder that is wanted.
            return None
        if kind == stat.S_IFDIR:
            return FOLDER_THERE
        if kind not in (stat.S_IFREG, stat.S_IFLNK):
            return SPECIAL_THERE
        os.rename(name, _aside(path), src_dir_fd=descriptor, dst_dir_fd=descriptor)
        self._settle(descriptor, path)
        return None

    def _prepare(self, descriptor: int, name: str, path: str) -> str | None:
        """Write a file beside its place, unless its place has these bytes already."""
        entry = self.plan.writes[path]
        self._settle(descriptor, path)
        unlink(descriptor, _draft(path))
        if not self._is_done(descriptor, name, path):
            is_durable, content = self._syncs_each(descriptor), self.blob(entry.oid)
            made = create(descriptor, _draft(path), entry, content, durable=is_durable)
            if made is not None:
                self.drafted[path] = made
        return None

    def _write(self, descriptor: int, name: str, path: str) -> str | None:
        try:
            return self._replace(descriptor, name, path)
        finally:
            unlink(descriptor, _draft(path))

    def _replace(self, descriptor: int, name: str, path: str) -> str | None:
        entry, draft = self.plan.writes[path], _draft(path)
        for _ in range(TRIES_MAX):
            kind = kind_of(descriptor, name)
            if kind == stat.S_IFDIR:
                return FOLDER_THERE
            if kind not in (None, stat.S_IFREG, stat.S_IFLNK):
                return SPECIAL_THERE
            if self._is_done(descriptor, name, path):
                set_mode(descriptor, name, entry)
                return None
            if kind_of(descriptor, draft) is None:
                # What stands there has changed since the others were prepared.
                create(descriptor, draft, entry, self.blob(entry.oid))
            if kind is not None:
                os.rename(name, _aside(path), src_dir_fd=descriptor, dst_dir_fd=descriptor)
            is_placed = put(descriptor, draft, name)
            self._settle(descriptor, path)
            if is_placed:
                return None
        return RESTLESS

    def _is_done(self, descriptor: int, name: str, path: str) -> bool:
        """Return whether the bytes of a file are in its place already."""
        entry, known = self.plan.writes[path], self.plan.before.get(path)
        # A new plan changes the bytes of all files but those that get another mode.
        may_be = not self.is_new or (known is not None and known.oid == entry.oid)
        return may_be and holds(descriptor, name, entry)

    def _settle(self, descriptor: int, path: str) -> None:
        """Let go of what was displaced at a path, or keep it when nobody else does."""
        aside = _aside(path)
        kind = kind_of(descriptor, aside)
        if kind is None:
            return
        for known in (self.plan.before.get(path), self.plan.writes.get(path)):
            if known and holds(descriptor, aside, known):
                os.unlink(aside, dir_fd=descriptor)
                return
        if kind in (stat.S_IFREG, stat.S_IFLNK):
            self.kept.append(Kept(path, self._keep(descriptor, aside, kind)))
            os.unlink(aside, dir_fd=descriptor)
        else:
            # It changed its kind in the meantime; under this name it harms nobody.
            self.kept.append(Kept(path, aside))

    def _keep(self, descriptor: int, name: str, kind: int) -> str:
        content = content_of(descriptor, name, kind)
        copy = object_id("blob", content) + (".link" if kind == stat.S_IFLNK else "")
        self.keep_in.mkdir(mode=0o700, exist_ok=True)
        replace_file(self.keep_in / copy, content, mode=0o600)
        return copy

    def _set_modes(self) -> None:
        """Give folders their modes, the deepest first, and make all durable."""
        plan = self.plan
        self.open = None
        self.held.close()
        self.looked_ns = time.time_ns()
        touched = {*plan.folders, *parents_of([*plan.writes, *plan.removals])}
        drafted: dict[str, list[str]] = {}
        for path in self.drafted:
            drafted.setdefault(path.rpartition("/")[0], []).append(path)
        for path in sorted(touched, key=lambda path: (-path.count("/"), path)):
            mode = plan.modes.get(path)
            try:
                with opened_below(self.root, path) as descriptor:
                    is_so = mode is None or os.fstat(descriptor).st_mode & 0o777 == mode
                    if mode is not None and not is_so:
                        os.fchmod(descriptor, mode)
                    if self._syncs_each(descriptor):
                        os.fsync(descriptor)
                    for written in drafted.get(path, ()):
                        self._look_at(descriptor, written)
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.EACCES, *NOT_A_FOLDER):
                    raise _cut_short(path, error) from error
        self._sync()

    def _look_at(self, descriptor: int, path: str) -> None:
        """Note how a written file looks, unless somebody has changed it or may do so."""
        draft, name = self.drafted[path], path.rpartition("/")[2]
        with suppress(OSError), opened_file(descriptor, name) as file:
            is_quiet, now = self.quiet.is_kept(file, draft.st_dev), os.fstat(file)
            seen = (now.st_ino, now.st_size, now.st_mtime_ns)
            if is_quiet and seen == (draft.st_ino, draft.st_size, draft.st_mtime_ns):
                is_local = self.quiet.is_local
                self.stats[path] = settled(stat_of(now), self.looked_ns, is_local=is_local)


def _cut_short(path: str, error: OSError) -> RefusedError:
    said = os.fsencode(path).decode(errors="backslashreplace") or "the work tree"
    return RefusedError(
        f"{said}: cannot be brought back: {error.strerror}",
        hint="the next command that records goes on with it",
    )


def _aside(path: str) -> str:
    """Return the name under which what is displaced stands beside its place."""
    return f"{_stem(path)}-old"


def _draft(path: str) -> str:
    return f"{_stem(path)}-new"


@lru_cache(maxsize=1)
def _stem(path: str) -> str:
    return f".sprintlog-{sha256(os.fsencode(path)).hexdigest()[:16]}"
