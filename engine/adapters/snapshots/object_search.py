"""Looking for bytes in all that a store of snapshots holds."""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress

from ..git.command import Git
from .without_text import unzipped

_ZLIB = b"\x78"
"""How every compressed stream of git's begins."""


def objects_holding(git: Git, forms: Sequence[bytes]) -> Iterator[str]:
    """Yield the id of every object that holds a form: bytes, names, messages."""
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
    """Yield what can be read of the compressed streams in a file that may be damaged."""
    start = content.find(_ZLIB)
    while start >= 0:
        with suppress(zlib.error):
            yield zlib.decompressobj().decompress(content[start:])
        start = content.find(_ZLIB, start + 1)
