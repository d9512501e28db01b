"""A cache, next to the log, of the positions of blocks in a state file's text.

A cache entry is used only if the file has the stored digest and the entry's own checksum is
valid.
"""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from sprintlog.engine.log.stores.descriptors import held_open, read_whole, write_whole
from sprintlog.engine.sprint.state.tree import Tree
from sprintlog.engine.state_format import sealed, unsealed

from .yaml.blocks import LAYOUT, Spans, Text

BLOCKS = "blocks"
"""The subfolder of the log's folder."""
# Not truncated on opening, because some file systems would then write the file to disk on
# close.
_NO_TEXT = None, None
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW


class _Kept(msgspec.Struct, array_like=True, frozen=True):
    layout: int
    digest: bytes
    """The digest of the whole file."""
    spans: Spans


class KeptBlocks:
    """The stored blocks of each state file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / BLOCKS
        self._known: dict[str, _Kept] = {}
        self._texts: dict[str, tuple[Text, set[int] | None]] = {}
        """The last text that this process generated for each path, with data that is not on
        disk, and the phases that may have changed since, as recorded by the plan's
        `watch`."""

    def of(self, path: str, digest: bytes) -> Spans:
        """Return the positions of the blocks in a file with this digest; possibly none."""
        kept = self._known.get(path)
        if kept is None or kept.digest != digest:
            # Another process may have written the file since.
            kept = self._on_disk(path)
        if kept is None or kept.digest != digest or kept.layout != LAYOUT:
            return {}
        return kept.spans

    def text_of(self, path: str, digest: bytes, content: bytes) -> Text:
        """Return a file with this digest as the basis for the next text."""
        spans, (text, _) = self.of(path, digest), self._texts.get(path, _NO_TEXT)
        return text if text and text.spans is spans else Text(content, spans)

    def is_kept(self, path: str) -> bool:
        """Return whether an earlier text of the file is cached in memory."""
        return path in self._texts

    def keep(self, path: str, digest: bytes, spans: Spans) -> None:
        """Store the positions of a file's blocks, without waiting for the disk."""
        kept = self._known[path] = _Kept(LAYOUT, digest, spans)
        # If the file is incomplete or missing, the next text is generated completely.
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            content = sealed(msgspec.msgpack.encode(kept))
            with held_open(self._file(path), _WRITE) as descriptor:
                write_whole(descriptor, content)
                os.ftruncate(descriptor, len(content))

    def asked_since(self, path: str, tree: Tree) -> set[int] | None:
        """Return the phases that may have changed since the last text; None means all."""
        _, asked = self._texts.get(path, _NO_TEXT)
        return asked if asked is tree.asked else None

    def keep_text(
        self, path: str, digest: bytes, text: Text, *, asked: set[int] | None
    ) -> None:
        """Store the text, the positions of its blocks, and notes about changed phases."""
        self._texts[path] = text, asked
        self.keep(path, digest, text.spans)

    def forget(self, path: str) -> None:
        """Delete all data about a file, so that its next text is generated completely."""
        self._known.pop(path, None)
        self._texts.pop(path, None)
        with suppress(OSError):
            self._file(path).unlink()

    def _on_disk(self, path: str) -> _Kept | None:
        with suppress(OSError, msgspec.MsgspecError, ValueError):
            content = unsealed(read_whole(self._file(path)))
            return msgspec.msgpack.decode(content, type=_Kept)
        return None

    def _file(self, path: str) -> Path:
        return self._folder / sha256(path.encode()).hexdigest()[:32]
