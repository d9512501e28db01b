"""The text of a large document, made from its text before: only what changed is made anew.

A long list at the top, such as the phases, is written in blocks of its items. A block is
known by the digest of its items, packed, so its text is right wherever it stood.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.errors import InvalidInputError

from .writer import dump, dump_entry, dump_items, is_long

LAYOUT = 1
"""Raised when the same document gets another text; a test tells."""
ITEMS_OF_BLOCK = 32

Spans = dict[bytes, tuple[int, int]]
"""Where the blocks of a text begin and end, by the digests of their items."""

_encode = msgspec.msgpack.Encoder().encode
_UNPACKABLE = (InvalidInputError, TypeError, ValueError, OverflowError, RecursionError)


class Text(NamedTuple):
    """The text of a document, and what is to be known of it when the next one is made."""

    content: bytes
    spans: Spans
    made: int = 0
    """How many blocks were made anew."""


def dump_after(document: Mapping[str, Any], before: bytes, spans: Spans) -> Text:
    """Return the text of a document, which is its `dump`, made with the text before.

    `spans` are those of the text before. Raise `InvalidInputError` as `dump` does.
    """
    try:
        return _made(document, memoryview(before), spans)
    except _UNPACKABLE:
        # The whole writer says which field it is, or is right where a block has no digest.
        return Text(dump(document).encode(), {})


def _made(document: Mapping[str, Any], before: memoryview, known: Spans) -> Text:
    parts: list[bytes | memoryview] = []
    spans: Spans = {}
    size = made = 0
    short: dict[str, Any] = {}
    for key, value in document.items():
        if not (is_long(value) and dump_entry(key, None) == f"{key}: null\n"):
            short[key] = value
            continue
        parts.append(f"{dump(short) if short else ''}{key}:\n".encode())
        size += len(parts[-1])
        short = {}
        for first in range(0, len(value), ITEMS_OF_BLOCK):
            items = value[first : first + ITEMS_OF_BLOCK]
            digest = sha256(_encode(items)).digest()
            text: bytes | memoryview
            if digest in known:
                begin, end = known[digest]
                text = before[begin:end]
            else:
                text = dump_items(items).encode()
                made += 1
            spans[digest] = (size, size + len(text))
            size += len(text)
            parts.append(text)
    if short or not parts:
        parts.append(dump(short).encode())
    return Text(b"".join(parts), spans, made)
