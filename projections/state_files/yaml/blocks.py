"""The text of a large document, generated from its previous text and the changed blocks.

A long list at the top level, such as the phases, is written in blocks of items. A block is
identified by the digest of its packed items, so its text does not depend on its position.
"""

from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec

from sprintlog.engine.errors import InvalidInputError

from .writer import dump_bytes, dump_entry, dump_items, is_long

LAYOUT = 1
"""Increase this number if the text of an unchanged document changes; a test checks it."""
ITEMS_OF_BLOCK = 32

Spans = dict[bytes, tuple[int, int]]
"""The start and end of each block in a text, by the digest of its items."""

_BYTES_OF_BLOCK = 32 * 1024
"""The size of the reused buffer, in which most packed blocks fit."""

_pack = msgspec.msgpack.Encoder().encode_into
_UNPACKABLE = (InvalidInputError, TypeError, ValueError, OverflowError, RecursionError)


class Block(NamedTuple):
    """The packed items of a block, and their digest."""

    items: bytes
    digest: bytes


class ListBefore(NamedTuple):
    """A list in the text: its blocks in order, and their boundaries."""

    blocks: Sequence[Block] = ()
    edges: Sequence[int] = ()
    """The start of each block, and the end of the last one."""


class Text(NamedTuple):
    """A document's text, and the data required to generate the next version of the text."""

    content: bytes
    spans: Spans
    lists: Mapping[str, ListBefore] = {}
    """The packed lists by key, for comparison with the next document in a long-running
    process."""
    made: int = 0
    """The number of newly generated blocks."""
    hashed: int = 0
    """The number of blocks that differ from the previous block at the same position."""
    packed: int = 0
    """The number of compared blocks."""
    same: int = 0
    """The length of the common prefix with the previous text, in bytes."""


class Touched(NamedTuple):
    """A list in which only certain items may have changed since the previous text."""

    items: Any
    indices: Collection[int]


NOTHING = Text(b"", {})
_NEW: Final = ListBefore()
_digest_of = attrgetter("digest")


def dump_after(
    document: Mapping[str, Any],
    before: Text,
    *,
    is_kept: bool = False,
    touched: Touched | None = None,
) -> Text:
    """Return a document's text, equal to its `dump`, reusing the previous text.

    If `is_kept` is true, the result includes its packed blocks. Raise `InvalidInputError`
    as `dump` does.
    """
    try:
        return _made(document, before, is_kept=is_kept, touched=touched)
    except _UNPACKABLE:
        # `dump_bytes` names the invalid field, or accepts a block that cannot be packed.
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
    """Text that is being assembled."""

    def __init__(self, before: Text, *, is_kept: bool) -> None:
        self.parts: list[bytes | memoryview] = []
        self._before, self._content = before, memoryview(before.content)
        self._is_kept = is_kept
        self._lists: dict[str, ListBefore] = {}
        self._spans: Spans = {}
        self._buffer = bytearray(_BYTES_OF_BLOCK)
        self._size = self._same = self._made = self._hashed = self._packed = 0

    def text(self) -> Text:
        """Return the assembled text."""
        counts = self._made, self._hashed, self._packed, self._same
        return Text(b"".join(self.parts), self._spans, self._lists, *counts)

    def add(self, text: bytes) -> None:
        """Add a piece of the text."""
        self.parts.append(text)
        if self._before.content.startswith(text, self._size) and self._same == self._size:
            self._same += len(text)
        self._size += len(text)

    def add_list(self, key: str, items: list[Any], touched: Collection[int] | None) -> None:
        """Add a list in blocks; only the touched items may have changed."""
        stood = self._before.lists.get(key, _NEW)
        count = -(-len(items) // ITEMS_OF_BLOCK)
        known = 0 if touched is None else min(count, len(stood.blocks))
        compared = {index // ITEMS_OF_BLOCK for index in touched or ()}
        blocks: list[Block] = []
        edges = [self._size]
        for number in (
            *sorted(one for one in compared if one < known),
            *range(known, count),
        ):
            self._add_run(stood, blocks, edges, until=number)
            first = number * ITEMS_OF_BLOCK
            there = stood.blocks[number] if number < len(stood.blocks) else None
            blocks.append(self._add_block(items[first : first + ITEMS_OF_BLOCK], there))
            edges.append(self._size)
        self._add_run(stood, blocks, edges, until=count)
        self._spans.update(zip(map(_digest_of, blocks), pairwise(edges), strict=True))
        if self._is_kept:
            self._lists[key] = ListBefore(blocks, edges)

    def _add_run(
        self, stood: ListBefore, blocks: list[Block], edges: list[int], *, until: int
    ) -> None:
        """Add the next blocks of the previous text, up to `until`, as a single piece."""
        first = len(blocks)
        if first == until:
            return
        blocks.extend(stood.blocks[first:until])
        begin, end = stood.edges[first], stood.edges[until]
        shift = self._size - begin
        self._add_standing(begin, end)
        edges.extend([edge + shift for edge in stood.edges[first + 1 : until + 1]])

    def _add_block(self, items: list[Any], stood: Block | None) -> Block:
        """Add a block, reusing its previous text if it is unchanged."""
        block = self._packed_block(items, stood)
        span = self._before.spans.get(block.digest)
        if span is None:
            self.parts.append(text := dump_items(items))
            self._size += len(text)
            self._made += 1
        else:
            self._add_standing(*span)
        return block

    def _add_standing(self, begin: int, end: int) -> None:
        """Add part of the previous text."""
        self.parts.append(self._content[begin:end])
        if begin == self._same == self._size:
            self._same = end
        self._size += end - begin

    def _packed_block(self, items: list[Any], stood: Block | None) -> Block:
        packed = self._buffer
        _pack(items, packed)
        self._packed += 1
        if stood is not None and packed == stood.items:
            return stood
        self._hashed += 1
        return Block(bytes(packed) if self._is_kept else b"", sha256(packed).digest())
