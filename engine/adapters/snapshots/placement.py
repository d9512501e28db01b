"""Puts files in place one at a time, without losing contents that are not stored elsewhere.

The process may be killed after any step: the next process repeats all steps, and completed
steps have no further effect. A displaced file is checked before it is removed. Links to
folders are not followed.
"""

import errno
import os
import stat
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from ..folders import opened, opened_below
from ..replace import exchange, replace_file
from . import one_file
from .entries import LeftOut, Stat, parents_of, stat_of
from .file_stats import Quiet, RestoredStats
from .objects import DamagedError, object_id
from .plan import PlacementPlan

TRIES_MAX = 3
BATCH_FILES, BATCH_BYTES = 100_000, 512 * 1024 * 1024
"""The maximum number and total size of drafts that exist at the same time. ext4 without a
journal finds an inode slowly after many others were removed."""
SYNCED_FILES = 10_000
"""The number of drafts that are synced while the next ones are written."""
NOT_A_FOLDER = (errno.ENOTDIR, errno.ELOOP)
FOLDER_THERE = "a folder with other files is there"
NO_FOLDER = "its parent is not a folder"
SPECIAL_THERE = "something that is neither file, link nor folder is there"
DAMAGED = "damaged in the store"
RESTLESS = "somebody else goes on writing it"
NO_STATS: Mapping[str, Stat] = MappingProxyType({})


class Kept(NamedTuple):
    """The copy kept of a displaced file whose contents were not in the store."""

    path: str
    copy: str
    """The name of the copy in the store's folder for such files."""


class PlacedFiles(NamedTuple):
    """The result of a placement."""

    written: int
    removed: int
    kept: list[Kept]
    skipped: list[LeftOut]
    stats: dict[str, Stat]
    """The trustworthy stats of the files that were written."""


def place(
    root: Path,
    plan: PlacementPlan,
    blob: Callable[[str], bytes],
    *,
    keep_in: Path,
    leaves_damaged: bool = False,
    is_new: bool = False,
    known: Mapping[str, Stat] = NO_STATS,
) -> PlacedFiles:
    """Carry out a plan below a root; displaced files not stored elsewhere go to `keep_in`.

    Raise `DamagedError` if a file's contents are damaged; with `leaves_damaged`, skip that
    file instead. If `is_new` is true, no step of the plan has been carried out before, so a
    file whose stat equals the one in `known` has the same contents as in the snapshot that
    was taken first.
    """
    with opened(root) as descriptor, ExitStack() as held:
        quiet = Quiet(root)
        done, sure = (plan.only_modes, known) if is_new else (plan.writes, NO_STATS)
        disk = one_file.FileSystem(descriptor, quiet.device)
        how = (leaves_damaged, done, sure, held, disk, RestoredStats(quiet))
        return _Placer(descriptor, plan, blob, keep_in, *how).place()


def order_of_writes(plan: PlacementPlan) -> list[str]:
    """Return the ids of a plan's blobs in the order in which they are read."""
    return [plan.writes[path].oid for path in sorted(plan.writes)]


class _Placer(msgspec.Struct):
    """Carries out one plan."""

    root: int
    plan: PlacementPlan
    blob: Callable[[str], bytes]
    keep_in: Path
    leaves_damaged: bool
    may_be_done: Collection[str]
    """The paths of files that may already have the desired contents."""
    known: Mapping[str, Stat]
    held: ExitStack
    disk: one_file.FileSystem
    files: RestoredStats
    open: tuple[str, int, bool] | None = None
    """The open folder, its descriptor, which `held` closes, and whether its files are
    synced individually."""
    left: dict[str, set[str]] = {}
    """The drafts and displaced files that an earlier process left in each folder."""
    drafts: dict[str, str] = {}
    """The names of the drafts that this process has written, by path."""
    kept: list[Kept] = []
    skipped: list[LeftOut] = []

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
            drafted: list[str] = []
            for start in range(0, len(batch), SYNCED_FILES):
                with self.disk.synced_behind(is_idle=not start):
                    part = batch[start : start + SYNCED_FILES]
                    drafted += [path for path in part if self._guarded(path, self._prepare)]
            # Contents are durable before a name refers to them.
            self.disk.sync()
            self.files.end_batch()
            written += sum(self._guarded(path, self._write) for path in drafted)
        self._set_modes()
        return PlacedFiles(written, removed, self.kept, self.skipped, self.files.stats)

    def _guarded(self, path: str, do: Callable[[int, str, str], str | None]) -> bool:
        """Run an operation in a path's folder; if it fails, record the path as skipped."""
        folder, _, name = path.rpartition("/")
        # Only a file that the plan removes may be missing.
        may_be_gone = do == self._remove
        try:
            if (at := self.open) is None or at[0] != folder:
                at = self._enter(folder, make=not may_be_gone)
            problem = do(at[1], name, path)
        except FileNotFoundError:
            if self._has_lost_folder():
                return self._guarded(path, do)
            problem = None if may_be_gone else NO_FOLDER
        except DamagedError:
            if not self.leaves_damaged:
                raise
            problem = DAMAGED
        except PermissionError as error:
            problem = error.strerror
        except OSError as error:
            if error.errno not in NOT_A_FOLDER:
                raise one_file.cut_short(path, error) from error
            problem = None if may_be_gone else NO_FOLDER
        if problem is not None:
            self.skipped.append(LeftOut(path, problem))
        return problem is None

    def _next_batch(self, paths: list[str]) -> list[str]:
        """Remove and return the next paths, up to the limits of a batch."""
        size = 0
        batch: list[str] = []
        while paths and len(batch) < BATCH_FILES and size < BATCH_BYTES:
            batch.append(paths.pop())
            size += self.plan.writes[batch[-1]].size
        return batch

    def _enter(self, folder: str, *, make: bool = False) -> tuple[str, int, bool]:
        """Open a folder and make it writable."""
        self.open = None
        self.held.close()
        descriptor = self.held.enter_context(opened_below(self.root, folder, make=make))
        found = os.fstat(descriptor)
        if found.st_mode & 0o300 != 0o300:
            os.fchmod(descriptor, stat.S_IMODE(found.st_mode) | 0o700)
        if folder not in self.left:
            names = os.listdir(descriptor)
            self.left[folder] = {name for name in names if name.startswith(one_file.BESIDE)}
        self.open = folder, descriptor, self.disk.syncs_each(found.st_dev)
        return self.open

    def _has_lost_folder(self) -> bool:
        """Return whether the open folder was removed; another folder may have its name."""
        if self.open is None or os.fstat(self.open[1]).st_nlink:
            return False
        self.open = None
        return True

    def _make(self, descriptor: int, name: str, path: str) -> str | None:
        one_file.make_folder(descriptor, name)
        found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        return None if stat.S_ISDIR(found.st_mode) else NO_FOLDER

    def _remove_folder(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        try:
            os.rmdir(name, dir_fd=self._enter(folder)[1])
        except OSError as error:
            expected = (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, *NOT_A_FOLDER)
            if error.errno not in expected:
                raise one_file.cut_short(path, error) from error

    def _remove(self, descriptor: int, name: str, path: str) -> str | None:
        self._settle_left(descriptor, path)
        kind = one_file.kind_of(descriptor, name)
        if kind is None:
            raise FileNotFoundError
        if kind == stat.S_IFDIR:
            # The file may occupy the path of a required folder.
            return None if path in self.plan.modes else FOLDER_THERE
        if kind not in (stat.S_IFREG, stat.S_IFLNK):
            return SPECIAL_THERE
        os.rename(
            name, one_file.aside_of(path), src_dir_fd=descriptor, dst_dir_fd=descriptor
        )
        self._settle(descriptor, path, one_file.aside_of(path))
        return None

    def _prepare(self, descriptor: int, name: str, path: str) -> str | None:
        """Write a file's draft, unless the file already has the desired contents."""
        self._settle_left(descriptor, path)
        if not self._is_done(descriptor, name, path):
            assert self.open is not None
            if made := self._draft(descriptor, path, is_durable=self.open[2]):
                self.files.drafts[path] = made
        return None

    def _draft(
        self, descriptor: int, path: str, *, is_durable: bool = True
    ) -> os.stat_result | None:
        """Write a file's draft in its folder; return its status unless it is a link."""
        entry = self.plan.writes[path]
        content = self.blob(entry.oid)
        draft = self.drafts[path] = one_file.draft_of(path)
        return one_file.create(descriptor, draft, entry, content, durable=is_durable)

    def _write(self, descriptor: int, name: str, path: str) -> str | None:
        try:
            return self._replace(descriptor, name, path)
        finally:
            if (draft := self.drafts.pop(path, None)) is not None:
                one_file.unlink(descriptor, draft)

    def _replace(self, descriptor: int, name: str, path: str) -> str | None:
        is_placed = False
        for _ in range(TRIES_MAX):
            found = one_file.status_of(descriptor, name)
            kind = found and stat.S_IFMT(found.st_mode)
            if kind == stat.S_IFDIR:
                return FOLDER_THERE
            if kind not in (None, stat.S_IFREG, stat.S_IFLNK):
                return SPECIAL_THERE
            if self._is_done(descriptor, name, path):
                one_file.set_mode(descriptor, name, self.plan.writes[path])
                return None
            if path not in self.drafts:
                # The file has changed since the drafts were written.
                self._draft(descriptor, path)
            draft = self.drafts[path]
            if found is not None:
                is_swapped = exchange(descriptor, draft, name)
                if is_swapped:
                    del self.drafts[path]
                    self._settle(descriptor, path, draft, found)
                    return None
                if is_swapped is None:
                    aside = one_file.aside_of(path)
                    os.rename(name, aside, src_dir_fd=descriptor, dst_dir_fd=descriptor)
                    is_placed = one_file.put(descriptor, draft, name)
                    self._settle(descriptor, path, aside)
            else:
                is_placed = one_file.put(descriptor, draft, name)
            if is_placed:
                return None
        return RESTLESS

    def _is_done(self, descriptor: int, name: str, path: str) -> bool:
        """Return whether a file already has the desired contents."""
        return path in self.may_be_done and one_file.holds(
            descriptor, name, self.plan.writes[path]
        )

    def _settle_left(self, descriptor: int, path: str) -> None:
        """Check and remove an earlier process's leftover files for a path."""
        assert self.open is not None
        if left := self.left[self.open[0]]:
            for name in left.intersection(
                (one_file.aside_of(path), one_file.draft_of(path))
            ):
                self._settle(descriptor, path, name)

    def _settle(
        self, descriptor: int, path: str, name: str, seen: os.stat_result | None = None
    ) -> None:
        """Remove a displaced file or unfinished draft; copy unknown contents first.

        `seen` is the file's status from before it was displaced.
        """
        found = one_file.status_of(descriptor, name)
        if found is None:
            return
        if not self._is_known(descriptor, path, name, found, seen):
            kind = stat.S_IFMT(found.st_mode)
            if kind not in (stat.S_IFREG, stat.S_IFLNK):
                # The file was replaced by a folder or a special file in the meantime.
                self.kept.append(Kept(path, name))
                return
            self.kept.append(Kept(path, self._keep(descriptor, name, kind)))
        os.unlink(name, dir_fd=descriptor)

    def _is_known(
        self,
        descriptor: int,
        path: str,
        name: str,
        found: os.stat_result,
        seen: os.stat_result | None,
    ) -> bool:
        """Return whether the store contains the contents of a displaced file or draft."""
        before = self.known.get(path)
        # The exchange updates only the change time.
        is_same = seen and one_file.look_of(found) == one_file.look_of(seen)
        if seen and is_same and stat_of(seen) == before:
            return True
        known = (self.plan.before.get(path), self.plan.writes.get(path))
        entries = [entry for entry in known if entry is not None]
        if any(one_file.holds(descriptor, name, entry) for entry in entries):
            return True
        is_draft = seen is None and name == one_file.draft_of(path)
        if not (is_draft and stat.S_ISREG(found.st_mode)):
            return False
        # An unfinished draft contains the first part of the desired contents.
        content = one_file.content_of(descriptor, name, stat.S_IFREG)
        return any(self.blob(entry.oid).startswith(content) for entry in entries)

    def _keep(self, descriptor: int, name: str, kind: int) -> str:
        content = one_file.content_of(descriptor, name, kind)
        copy = object_id("blob", content) + (".link" if kind == stat.S_IFLNK else "")
        self.keep_in.mkdir(mode=0o700, exist_ok=True)
        replace_file(self.keep_in / copy, content, mode=0o600)
        return copy

    def _set_modes(self) -> None:
        """Set the folders' modes, deepest folders first, and make all changes durable."""
        plan = self.plan
        self.open = None
        self.held.close()
        touched = {*plan.folders, *parents_of([*plan.writes, *plan.removals])}
        for path in sorted(touched, key=lambda path: (-path.count("/"), path)):
            mode = plan.modes.get(path)
            try:
                with opened_below(self.root, path) as descriptor:
                    found = os.fstat(descriptor)
                    if mode is not None and found.st_mode & 0o777 != mode:
                        os.fchmod(descriptor, mode)
                    if self.disk.syncs_each(found.st_dev):
                        os.fsync(descriptor)
                    self.files.look(descriptor, path)
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.EACCES, *NOT_A_FOLDER):
                    raise one_file.cut_short(path, error) from error
        self.disk.sync()
