"""What the files of the last snapshot looked like, so that only changed ones are read.

This is a cache: without it, or when it is damaged, every file is read again.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec

from ...log.stores.descriptors import held_open, is_being_written, read_whole, write_whole
from ...log.stores.sqlite.journal_mode import MOUNTS, file_system
from .entries import Stat, TreeEntry

IN_MEMORY = frozenset({"ramfs", "tmpfs"})
LEASING = frozenset({"btrfs", "ext2", "ext3", "ext4", "f2fs", "xfs"})
"""Where a lease is refused for as long as a file can be written by a map, too."""


class Quiet:
    """Knows which files of one tree can be believed to look as they are."""

    def __init__(self, root: Path) -> None:
        self._kind = kind_of(root)
        self.device = root.stat().st_dev
        self.is_local = self._kind in LEASING
        """Whether its files have the times of this system."""

    def prepare(self, descriptor: int) -> None:
        """Do what has to be done before a file is looked at and read."""
        if self._kind not in LEASING | IN_MEMORY:
            # A disk that is full or fails here says so when the file is read.
            with suppress(OSError):
                os.fsync(descriptor)

    def is_kept(self, descriptor: int, device: int) -> bool:
        """Tell whether what is written to a file after this will be seen by its time."""
        if device != self.device or self._kind in IN_MEMORY:
            return False
        return not is_being_written(descriptor)


def kind_of(root: Path) -> str | None:
    """Return the type of the file system a tree lies on; None where nobody tells."""
    try:
        mounts = MOUNTS.read_text("utf-8", "surrogateescape")
    except OSError:
        return None
    return file_system(root.resolve(), mounts)


SETTLED_NS, TICK_NS = 2_000_000_000, 20_000_000
"""What changed later than this before it was looked at may change again within the same
time: the second holds where times are kept that are finer than a millisecond."""
_UNKNOWN = (0, 0, -1, 0)
_STORED = tuple[str, dict[bytes, Stat]]


class Known(NamedTuple):
    """The tree of a snapshot, and its files as they looked then."""

    tree: str
    """The id of its git tree; empty when nothing is known."""
    files: dict[str, Stat]


def load(path: Path) -> Known:
    """Return what is known of the last snapshot."""
    with suppress(OSError, ValueError):
        check, _, body = read_whole(path).partition(b"\n")
        if int(check) == crc32(body):
            tree, files = msgspec.msgpack.decode(body, type=_STORED)
            return Known(tree, {os.fsdecode(name): one for name, one in files.items()})
    return Known("", {})


def cache_of(folder: Path, root: Path) -> Path:
    """Return where a store keeps what is known of the files below a root."""
    return folder / f"known-{sha256(os.fsencode(root)).hexdigest()[:16]}"


def settled(one: Stat, now_ns: int, *, is_local: bool) -> Stat:
    """Return how a file looked at a moment, as if it had changed if it may do so unseen.

    That is one that changed just before: it may change once more within the same time.
    `is_local` files have the time of this system, and one as fine as they show.
    """
    mode, size, changed_ns, inode = one
    margin = TICK_NS if is_local and changed_ns % 1_000_000 else SETTLED_NS
    return one if changed_ns < now_ns - margin else (mode, size, -1, inode)


def save(path: Path, tree: str, files: Mapping[str, Stat]) -> None:
    """Keep what the files looked like."""
    known = {os.fsencode(name): one for name, one in files.items()}
    draft = path.with_name(f"{path.name}.new")
    # Without it the next snapshot only takes longer.
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
    """Keep the stats of the files of a snapshot that was restored.

    Only files that were `placed`, or were `present` before with the same content, are
    known: a restore leaves some files alone, whatever the snapshot contains of them.
    """
    before = load(cache).files
    looked = {
        name: before.get(name) for name in wanted if present.get(name) == wanted[name]
    }
    looked |= placed
    save(cache, tree, {name: looked.get(name) or _UNKNOWN for name in wanted})
