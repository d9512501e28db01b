"""The text of a large document, made from its text before: only what changed is made anew.

A long list at the top, such as the phases, is written in blocks of its items. A block is
known by the digest of its items, packed, so its text is right wherever it stood.
"""

from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.errors import InvalidInputError

from .writer import dump_bytes, dump_entry, dump_items, is_long

LAYOUT = 1
"""Raised when the same document gets another text; a test tells."""
ITEMS_OF_BLOCK = 32

Spans = dict[bytes, tuple[int, int]]
"""Where the blocks of a text begin and end, by the digests of their items."""

_BYTES_OF_BLOCK = 32 * 1024
"""What most blocks fit in, packed: one piece of memory serves for all."""

_pack = msgspec.msgpack.Encoder().encode_into
_UNPACKABLE = (InvalidInputError, TypeError, ValueError, OverflowError, RecursionError)


class Block(NamedTuple):
    """The items of a block, packed, and the digest of that."""

    items: bytes
    digest: bytes


class Text(NamedTuple):
    """The text of a document, and what is to be known of it when the next one is made."""

    content: bytes
    spans: Spans
    blocks: Mapping[str, Sequence[Block]] = {}
    """Of each list in order; a process that makes many texts compares what it packs."""
    made: int = 0
    """How many blocks were made anew."""
    hashed: int = 0
    """How many were not those that stood there before."""
    packed: int = 0
    """How many were compared."""
    same: int = 0
    """With how many bytes it begins as the text before."""


class Touched(NamedTuple):
    """A list of which only some items may be others than in the text before."""

    items: Any
    indices: Collection[int]


NOTHING = Text(b"", {})


def dump_after(
    document: Mapping[str, Any],
    before: Text,
    *,
    is_kept: bool = False,
    touched: Touched | None = None,
) -> Text:
    """Return the text of a document, which is its `dump`, made with the text before.

    Its packed blocks go along where it `is_kept`. Raise `InvalidInputError` as `dump` does.
    """
    try:
        return _made(document, before, is_kept=is_kept, touched=touched)
    except _UNPACKABLE:
        # The whole writer says which field it is, or is right where a block has no digest.
        return Text(dump_bytes(document), {})


def _made(
    document: Mapping[str, Any], before: Text, *, is_kept: bool, touched: Touched | None
) -> Text:
    page = _Page(before, is_kept=is_kept)
    short: dict[str, Any] = {}
    for key, value in document.items():
        if not (is_long(value) and dump_entry(key, None) == f"{key}: null\n"):
            short[key] = value
            continue
        page.add((dump_bytes(short) if short else b"") + f"{key}:\n".encode())
        short = {}
        is_watched = touched is not None and touched.items is value
        page.add_list(key, value, touched.indices if touched and is_watched else None)
    if short or not page.parts:
        page.add(dump_bytes(short))
    return page.text()


class _Page:
    """A text that is put together."""

    def __init__(self, before: Text, *, is_kept: bool) -> None:
        self.parts: list[bytes | memoryview] = []
        self._before, self._content = before, memoryview(before.content)
        self._is_kept = is_kept
        self._blocks: dict[str, list[Block]] = {}
        self._spans: Spans = {}
        self._buffer = bytearray(_BYTES_OF_BLOCK)
        self._size = self._same = self._made = self._hashed = self._packed = 0

    def text(self) -> Text:
        """Return what was put together."""
        counts = self._made, self._hashed, self._packed, self._same
        return Text(b"".join(self.parts), self._spans, self._blocks, *counts)

    def add(self, text: bytes) -> None:
        """Add a piece of the text."""
        self.parts.append(text)
        is_same = self._before.content.startswith(text, self._size)
        if is_same and self._same == self._size:
            self._same += len(text)
        self._size += len(text)

    def add_list(self, key: str, items: list[Any], touched: Collection[int] | None) -> None:
        """Add a list in blocks; no others than the touched items may have changed."""
        stood = self._before.blocks.get(key, ())
        known, content, spans = self._before.spans, self._content, self._spans
        blocks: list[Block] = []
        compared = {index // ITEMS_OF_BLOCK for index in touched or ()}
        for number, first in enumerate(range(0, len(items), ITEMS_OF_BLOCK)):
            block = stood[number] if number < len(stood) else None
            if block is None or touched is None or number in compared:
                block = self._packed_block(items[first : first + ITEMS_OF_BLOCK], block)
            blocks.append(block)
            span = known.get(block.digest)
            if span is None:
                text: bytes | memoryview = dump_items(items[first : first + ITEMS_OF_BLOCK])
                self._made += 1
            else:
                text = content[span[0] : span[1]]
                if span[0] == self._same == self._size:
                    self._same = span[1]
            # As `add` does: this is done for each block, whatever changed.
            self.parts.append(text)
            begin, self._size = self._size, self._size + len(text)
            spans[block.digest] = begin, self._size
        if self._is_kept:
            self._blocks[key] = blocks

    def _packed_block(self, items: list[Any], stood: Block | None) -> Block:
        packed = self._buffer
        _pack(items, packed)
        self._packed += 1
        if stood is not None and packed == stood.items:
            return stood
        self._hashed += 1
        return Block(bytes(packed) if self._is_kept else b"", sha256(packed).digest())
