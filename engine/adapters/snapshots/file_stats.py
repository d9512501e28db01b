"""A cache of file stats from the last snapshot, so that only changed files are read.

If the cache is missing or damaged, every file is read again. A stat is trusted only if any
later write would change it. A write through a memory map updates the time only if the page
was clean, and almost never on a memory file system. Therefore, files that are open for
writing are not trusted; if leases cannot detect that, their pages are flushed first; on
memory file systems, no file is trusted. A restored file's pages were synced before the file
was put in place.
"""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec

from ...log.stores.descriptors import held_open, is_being_written, read_whole, write_whole
from ...log.stores.sqlite.journal_mode import MOUNTS, file_system
from ..folders import NAMES, opened_file
from .entries import Stat, TreeEntry, stat_of
from .one_file import look_of

IN_MEMORY = frozenset({"ramfs", "tmpfs"})
LEASING = frozenset({"btrfs", "ext2", "ext3", "ext4", "f2fs", "xfs"})
"""File systems that refuse a lease if a file can be written through a memory map."""
SETTLED_NS, TICK_NS = 2_000_000_000, 20_000_000
"""The age below which a changed file may change again without a new timestamp; the second
value applies to timestamps finer than a millisecond."""
_UNKNOWN = (0, 0, -1, 0)
_STORED = tuple[str, dict[bytes, Stat]]


class Known(NamedTuple):
    """A snapshot's tree, and the stats of its files when it was taken."""

    tree: str
    """The id of the snapshot's git tree; empty if unknown."""
    files: dict[str, Stat]


class Quiet:
    """Decides which file stats in a tree can be trusted."""

    def __init__(self, root: Path) -> None:
        self._kind = kind_of(root)
        self.device = root.stat().st_dev
        self.is_local = self._kind in LEASING
        """Whether file times come from this system's clock."""

    def prepare(self, descriptor: int) -> None:
        """Flush a file before it is checked and read, if its file system requires it."""
        if self._kind not in LEASING | IN_MEMORY:
            # A full or failing disk is reported when the file is read.
            with suppress(OSError):
                os.fsync(descriptor)

    def is_kept(self, descriptor: int, device: int) -> bool:
        """Return whether any later write to a file will change its modification time."""
        if device != self.device or self._kind in IN_MEMORY:
            return False
        return not is_being_written(descriptor)


def kind_of(root: Path) -> str | None:
    """Return the type of a tree's file system; None if it is unknown."""
    try:
        mounts = MOUNTS.read_text("utf-8", "surrogateescape")
    except OSError:
        return None
    return file_system(root.resolve(), mounts)


def load(path: Path) -> Known:
    """Return the cached stats from the last snapshot."""
    with suppress(OSError, ValueError):
        check, _, body = read_whole(path).partition(b"\n")
        if int(check) == crc32(body):
            tree, files = msgspec.msgpack.decode(body, type=_STORED)
            return Known(tree, {name.decode(*NAMES): one for name, one in files.items()})
    return Known("", {})


def cache_of(folder: Path, root: Path, *, is_partial: bool = False) -> Path:
    """Return the path of the cache for a root, in a store's folder."""
    kind = "known-part" if is_partial else "known"
    return folder / f"{kind}-{sha256(os.fsencode(root)).hexdigest()[:16]}"


def settled(one: Stat, now_ns: int, *, is_local: bool) -> Stat:
    """Return a file's stat, marked as changed if a later change could go unnoticed.

    A file that changed just before `now_ns` may change again with the same timestamp. If
    `is_local` is true, the time comes from this system's clock, whose precision is inferred
    from the time itself.
    """
    mode, size, changed_ns, inode = one
    margin = TICK_NS if is_local and changed_ns % 1_000_000 else SETTLED_NS
    return one if changed_ns < now_ns - margin else (mode, size, -1, inode)


def save(path: Path, tree: str, files: Mapping[str, Stat]) -> None:
    """Save the stats of the files."""
    known = {name.encode(*NAMES): one for name, one in files.items()}
    draft = path.with_name(f"{path.name}.new")
    # Without the cache the next snapshot only takes longer.
    with suppress(OverflowError, OSError):
        body = msgspec.msgpack.encode((tree, known))
        with held_open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC) as file:
            write_whole(file, b"%d\n%s" % (crc32(body), body))
        os.replace(draft, path)


def save_restored(
    cache: Path,
    tree: str,
    wanted: Mapping[str, TreeEntry],
    present: Mapping[str, TreeEntry],
    placed: Mapping[str, Stat],
) -> None:
    """Save the stats of a restored snapshot's files.

    Only files that were `placed`, or were already `present` with the same content, are
    saved: a restore leaves some of the snapshot's files unchanged.
    """
    before = load(cache).files
    looked = {
        name: before.get(name) for name in wanted if present.get(name) == wanted[name]
    }
    looked |= placed
    save(cache, tree, {name: looked.get(name) or _UNKNOWN for name in wanted})


class RestoredStats:
    """Collects the trustworthy stats of the files that a restore writes."""

    def __init__(self, quiet: Quiet) -> None:
        self.stats: dict[str, Stat] = {}
        self._quiet = quiet
        self.drafts: dict[str, os.stat_result] = {}
        """The status of each draft in a batch after its contents are written, by path."""
        self._synced: dict[str, dict[str, os.stat_result]] = {}
        """The status of drafts whose next write will set a later time, by folder and by
        path."""

    def end_batch(self) -> None:
        """Record that all drafts are synced but none has been put in place yet.

        Their pages are clean, so the next write updates the time, even if that write is
        made through a memory map.
        """
        now_ns, is_local = time.time_ns(), self._quiet.is_local
        for path, draft in self.drafts.items():
            if settled(stat_of(draft), now_ns, is_local=is_local)[2] > 0:
                self._synced.setdefault(path.rpartition("/")[0], {})[path] = draft
        self.drafts = {}

    def look(self, descriptor: int, folder: str) -> None:
        """Record the stats of an open folder's unchanged files."""
        quiet, now_ns = self._quiet, time.time_ns()
        start = len(folder) + 1 if folder else 0
        for path, draft in self._synced.get(folder, {}).items():
            with suppress(OSError):
                name = path[start:]
                now = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if look_of(now) == look_of(draft) and self._is_kept(descriptor, name, now):
                    now_is = stat_of(now)
                    self.stats[path] = settled(now_is, now_ns, is_local=quiet.is_local)

    def _is_kept(self, descriptor: int, name: str, now: os.stat_result) -> bool:
        if self._quiet.is_local:
            return now.st_dev == self._quiet.device
        with opened_file(descriptor, name) as file:
            return self._quiet.is_kept(file, now.st_dev)
