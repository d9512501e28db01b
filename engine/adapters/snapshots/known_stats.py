"""What the files of the last snapshot looked like, so that only changed ones are read.

This is a cache: without it, or when it is damaged, every file is read again.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec

from ...log.stores.descriptors import held_open, read_whole, write_whole
from .entries import Stat

SETTLED_NS = 2_000_000_000
"""What changed later than this before a snapshot may change again within the same time."""
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


def save(path: Path, tree: str, files: Mapping[str, Stat], *, now_ns: int) -> None:
    """Keep what the files looked like.

    One that changed just now is kept as if it had changed: it may change once more
    without looking different.
    """
    settled = now_ns - SETTLED_NS
    known = {
        os.fsencode(name): one if one[2] < settled else (one[0], one[1], -1, one[3])
        for name, one in files.items()
    }
    draft = path.with_name(f"{path.name}.new")
    # Without it the next snapshot only takes longer.
    with suppress(OverflowError, OSError):
        body = msgspec.msgpack.encode((tree, known))
        with held_open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC) as file:
            write_whole(file, b"%d\n%s" % (crc32(body), body))
        os.replace(draft, path)
