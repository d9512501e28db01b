"""The text of a large document, made from its text before: only what changed is made anew.

A long list at the top, such as the phases, is written in blocks of its items. A block is
known by the digest of its items, packed, so its text is right wherever it stood.
"""

from collections.abc import Mapping, Sequence
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
    blocks: Sequence[Block] = ()
    """In order; a process that makes many texts compares them and hashes what is new."""
    made: int = 0
    """How many blocks were made anew."""
    hashed: int = 0
    """How many were not those that stood there before."""


NOTHING = Text(b"", {})


def dump_after(document: Mapping[str, Any], before: Text, *, is_kept: bool = False) -> Text:
    """Return the text of a document, which is its `dump`, made with the text before.

    Its packed blocks go along where it `is_kept`. Raise `InvalidInputError` as `dump` does.
    """
    try:
        return _made(document, before, is_kept=is_kept)
    except _UNPACKABLE:
        # The whole writer says which field it is, or is right where a block has no digest.
        return Text(dump_bytes(document), {})


def _made(document: Mapping[str, Any], before: Text, *, is_kept: bool) -> Text:
    content, known = memoryview(before.content), before.spans
    stood = iter(before.blocks)
    parts: list[bytes | memoryview] = []
    spans: Spans = {}
    blocks: list[Block] = []
    packed = bytearray(_BYTES_OF_BLOCK)
    size = made = hashed = 0
    short: dict[str, Any] = {}
    for key, value in document.items():
        if not (is_long(value) and dump_entry(key, None) == f"{key}: null\n"):
            short[key] = value
            continue
        parts.append((dump_bytes(short) if short else b"") + f"{key}:\n".encode())
        size += len(parts[-1])
        short = {}
        for first in range(0, len(value), ITEMS_OF_BLOCK):
            items = value[first : first + ITEMS_OF_BLOCK]
            _pack(items, packed)
            block = next(stood, None)
            if block is None or packed != block.items:
                block = Block(bytes(packed), sha256(packed).digest())
                hashed += 1
            if is_kept:
                blocks.append(block)
            text: bytes | memoryview
            if (span := known.get(block.digest)) is not None:
                text = content[span[0] : span[1]]
            else:
                text = dump_items(items)
                made += 1
            spans[block.digest] = (size, size + len(text))
            size += len(text)
            parts.append(text)
    if short or not parts:
        parts.append(dump_bytes(short))
    return Text(b"".join(parts), spans, blocks, made, hashed)
