"""Where the blocks of a state file's text are, kept beside the log: a cache.

It is believed only for a file with the digest that it names, and after a sum over itself.
"""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from sprintlog.engine.log.stores.descriptors import held_open, read_whole, write_whole
from sprintlog.engine.saved import sealed, unsealed

from .yaml.blocks import LAYOUT, NOTHING, Spans, Text

BLOCKS = "blocks"
"""The folder in that of the log."""
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW


class _Kept(msgspec.Struct, array_like=True, frozen=True):
    layout: int
    digest: bytes
    """Of the whole file."""
    spans: Spans


class KeptBlocks:
    """What is known of the blocks of each state file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / BLOCKS
        self._known: dict[str, tuple[bytes, Text]] = {}
        """The text that was made last for each path, and its digest."""

    def of(self, path: str, digest: bytes, content: bytes) -> Text:
        """Return what is known of a file with this digest; nothing is no harm."""
        known, text = self._known.get(path, (b"", NOTHING))
        if known == digest:
            return text
        with suppress(OSError, msgspec.MsgspecError, ValueError):
            packed = unsealed(read_whole(self._file(path)))
            kept = msgspec.msgpack.decode(packed, type=_Kept)
            if kept.digest == digest and kept.layout == LAYOUT:
                return Text(content, kept.spans)
        return NOTHING

    def is_kept(self, path: str) -> bool:
        """Tell whether the next text is worth its memory: this process made one before."""
        return path in self._known

    def keep(self, path: str, digest: bytes, text: Text) -> None:
        """Keep where the blocks of a file are, without waiting for the disk."""
        self._known[path] = digest, text
        packed = msgspec.msgpack.encode(_Kept(LAYOUT, digest, text.spans))
        # Whoever reads half of it, or finds it gone, makes the whole text anew.
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with held_open(self._file(path), _WRITE) as descriptor:
                write_whole(descriptor, sealed(packed))

    def forget(self, path: str) -> None:
        """Let the next text be made as a whole."""
        self._known.pop(path, None)
        with suppress(OSError):
            self._file(path).unlink()

    def _file(self, path: str) -> Path:
        return self._folder / sha256(path.encode()).hexdigest()[:32]
