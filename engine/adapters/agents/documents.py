"""A session that is one document: it is read as the lines that newer versions write.

At any time only the document and one of its entries are in memory: parsed as a whole, one
takes up to seven times its length, and a hostile one up to twenty-five times.
"""

from collections.abc import Iterator

import msgspec

from .values import parse

DOCUMENT_BYTES_MAX = 64 * 1024 * 1024
"""Sessions of tens of MiB exist. One of 63 MiB was imported with a maximum resident set
of 89 MiB, the most hostile document of that length with 575 MiB."""
_COMMAS_MAX = 4_000_000
"""Each value takes memory, however short it is. Sessions have a comma in 30 bytes."""


def messages_of(content: bytearray, *, whole_max: int) -> Iterator[object]:
    """Yield a session without the list of its entries, then each; other JSON as it is.

    A value of more than `whole_max` bytes is passed over.
    """
    few = content.count(b",") <= _COMMAS_MAX
    try:
        parts = msgspec.json.decode(content if few else b"{}", type=dict[str, msgspec.Raw])
        name = "messages" if "projectHash" in parts else "requests"
        entries = msgspec.json.decode(parts.pop(name), type=list[msgspec.Raw])
    except (msgspec.MsgspecError, ValueError, RecursionError, KeyError):
        yield parse(bytes(content)) if len(content) <= whole_max else None
        return
    yield {key: parse(bytes(part)) for key, part in parts.items()} | {name: []}
    for entry in map(bytes, entries):
        found = parse(entry) if len(entry) <= whole_max else None
        if isinstance(found, dict):
            yield found if name == "messages" else {"kind": 2, "k": [name], "v": [found]}
