"""Making a snapshot anew without a text; what does not hold it stays byte for byte."""

import gzip
import stat
import zlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..git.command import GitError, said_by
from .capture import begin, put, quoted
from .store import Store

GZIP = b"\x1f\x8b"
INFLATED_BYTES_MAX = 64 << 20
"""So much of a compressed file is looked at."""


class Rewritten(NamedTuple):
    """A snapshot that takes the place of another one."""

    commit: str
    tree: str


def unzipped(content: bytes) -> bytes:
    """Return what is in a file that gzip made; nothing for any other file."""
    if content[:2] != GZIP:
        return b""
    try:
        inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        return inflate.decompress(content, INFLATED_BYTES_MAX)
    except zlib.error:
        return b""


def without(content: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Return a file's bytes after a change, also where gzip made them."""
    inner = unzipped(content)
    changed = change(inner)
    if changed != inner:
        content = gzip.compress(changed, mtime=0)
    return change(content)


def rewrite(store: Store, commit: str, contents: Mapping[str, bytes]) -> Rewritten:
    """Make a snapshot with other contents in some of its files; the lock must be held."""
    entries = store.read(commit).files
    tree, moment = store.git.run("show", "-s", "--format=%T %ct", commit).split()
    process = store.git.start(
        "fast-import", "--quiet", "--done", "--date-format=raw", "--depth=0"
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        with process.stdin as stream:
            begin(stream, tree.decode(), int(moment))
            for path, content in sorted(contents.items()):
                mode = entries[path].mode
                kind = b"120000" if stat.S_ISLNK(mode) else b"100644"
                if mode & 0o100 and not stat.S_ISLNK(mode):
                    kind = b"100755"
                put(stream, kind, quoted(path), content)
            stream.write(b"get-mark :1\nls :1 \ndone\n")
        answer = process.stdout.read().split()
    finally:
        said = process.stderr.read()
        process.stdout.close()
        process.stderr.close()
        code = process.wait()
    if code or len(answer) < 4:
        raise GitError(said_by(said, code))
    store.sync()
    return Rewritten(answer[0].decode(), answer[3].decode())
