"""Removes text from stored snapshots, and searches for objects that contain the text.

Files that do not contain the text remain byte-for-byte identical.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from ..git.command import Git
from .capture import git_mode, make_commit, put, quoted
from .store import Store

GZIP = b"\x1f\x8b"
INFLATED_BYTES_MAX = 64 << 20
"""The maximum number of decompressed bytes that are searched."""
_ZLIB = b"\x78"
"""The first byte of every compressed stream in git."""


class Rewritten(NamedTuple):
    """A snapshot that replaces another snapshot."""

    commit: str
    tree: str


def unzipped(content: bytes) -> bytes:
    """Return the contents of a gzip file; empty for any other file."""
    if content[:2] != GZIP:
        return b""
    try:
        inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        return inflate.decompress(content, INFLATED_BYTES_MAX)
    except zlib.error:
        return b""


def without(content: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Return a file's bytes with a change applied, even within gzipped content."""
    inner = unzipped(content)
    changed = change(inner)
    if changed != inner:
        content = gzip.compress(changed, mtime=0)
    return change(content)


def rewrite(store: Store, commit: str, contents: Mapping[str, bytes]) -> Rewritten:
    """Create a snapshot with some files replaced; the lock must be held."""
    entries = store.read(commit).files
    tree, moment = store.git.run("show", "-s", "--format=%T %ct", commit).split()
    lines = (
        piece
        for path, content in sorted(contents.items())
        for piece in put(git_mode(entries[path].mode), quoted(path), content)
    )
    return Rewritten(*make_commit(store, tree.decode(), int(moment), lines))


def objects_holding(git: Git, forms: Sequence[bytes]) -> Iterator[str]:
    """Yield the ids of objects whose contents, names or messages contain a byte string."""
    call = ("cat-file", "--batch", "--batch-all-objects", "--unordered")
    with git.start(*call) as process:
        assert process.stdout is not None
        while head := process.stdout.readline().split():
            oid, _, size = head
            content = process.stdout.read(int(size) + 1)
            inner = unzipped(content)
            if any(form in content or form in inner for form in forms):
                yield oid.decode()


def inflated(content: bytes) -> Iterator[bytes]:
    """Yield the readable compressed streams in a possibly damaged file."""
    start = content.find(_ZLIB)
    while start >= 0:
        with suppress(zlib.error):
            yield zlib.decompressobj().decompress(content[start:])
        start = content.find(_ZLIB, start + 1)
