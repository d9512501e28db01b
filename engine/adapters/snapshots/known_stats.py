"""What the files of the last snapshot looked like, so that only changed ones are read.

This is a cache: without it, or when it is damaged, every file is read again.
"""

import os
from array import array
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from ...log.stores.descriptors import read_whole
from .entries import Stat

_MAGIC = b"sprintlog-known-1"
SETTLED_NS = 2_000_000_000
"""What changed later than this before a snapshot may change again within the same time."""


class Known(NamedTuple):
    """The tree of a snapshot, and its files as they looked then."""

    tree: str
    """The id of its git tree; empty when nothing is known."""
    files: dict[str, Stat]


def load(path: Path) -> Known:
    """Return what is known of the last snapshot."""
    with suppress(OSError, ValueError):
        head, _, body = read_whole(path).partition(b"\n")
        magic, tree, check, count = head.split(b" ")
        size = int(count) * 8 * 4
        if magic == _MAGIC and int(check) == crc32(body) and len(body) >= size:
            numbers = array("q", body[:size])
            names = os.fsdecode(body[size:]).split("\0") if numbers else []
            files = zip(*(numbers[at::4] for at in range(4)), strict=True)
            return Known(tree.decode(), dict(zip(names, files, strict=True)))
    return Known("", {})


def save(path: Path, tree: str, files: Mapping[str, Stat], *, now_ns: int) -> None:
    """Keep what the files looked like.

    One that changed just now is kept as if it had changed: it may change once more
    without looking different.
    """
    # Without it the next snapshot only takes longer.
    with suppress(OverflowError, OSError):
        numbers = array("q", [*chain.from_iterable(files.values())])
        _write(path, tree, files, numbers, settled=now_ns - SETTLED_NS)


def _write(
    path: Path, tree: str, files: Iterable[str], numbers: "array[int]", *, settled: int
) -> None:
    if numbers and max(numbers[2::4]) >= settled:
        for at in range(2, len(numbers), 4):
            if numbers[at] >= settled:
                numbers[at] = -1
    body = numbers.tobytes() + os.fsencode("\0".join(files))
    head = b"%s %s %d %d\n" % (_MAGIC, tree.encode(), crc32(body), len(numbers) // 4)
    draft = path.with_name(f"{path.name}.new")
    descriptor = os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(head + body)
    os.replace(draft, path)
