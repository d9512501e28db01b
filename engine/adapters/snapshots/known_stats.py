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

from ...log.stores.descriptors import held_open, read_whole, write_whole
from .entries import Stat, TreeEntry

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
