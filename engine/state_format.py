"""Saved states: their checksums and formats, and a decoder."""

from binascii import crc32
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar, get_args

import msgspec

Saved = TypeVar("Saved", bound=msgspec.Struct)

_SUM_BYTES = 4
_encode = msgspec.msgpack.Encoder().encode
_parts_of = msgspec.msgpack.Decoder(dict[str, msgspec.Raw]).decode


def sealed(state: bytes) -> bytes:
    """Return a state, prefixed with a checksum that detects any flipped bit."""
    return crc32(state).to_bytes(_SUM_BYTES) + state


def unsealed(saved: bytes | memoryview) -> memoryview:
    """Return the state without its checksum; raise `msgspec.DecodeError` if damaged."""
    # A large state is not copied, because that would take longer than the checksum.
    state = memoryview(saved)[_SUM_BYTES:]
    if saved[:_SUM_BYTES] != crc32(state).to_bytes(_SUM_BYTES):
        raise msgspec.DecodeError("checksum mismatch")
    return state


class PartsDecoder(Generic[Saved]):
    """Decodes a struct field by field, skipping fields with default values.

    Introspecting a struct and its nested structs takes a process longer than decoding a
    state, and most fields of a state have their default values.
    """

    def __init__(self, kind: type[Saved]) -> None:
        """Create a decoder for a struct that has a default for each field."""
        self._kind = kind
        self._unsaid: dict[str, msgspec.Raw] = {}
        self._decoders: dict[str, Callable[[msgspec.Raw], Any]] = {}

    def decode(self, saved: msgspec.Raw) -> Saved:
        """Return the struct; raise `msgspec.DecodeError` if the data is invalid."""
        unsaid = self._unsaid = self._unsaid or _parts_of(_encode(self._kind()))
        parts = _parts_of(saved).items()
        # An unknown field is ignored, as in msgspec.
        said = {k: self._decoder(k)(v) for k, v in parts if v != unsaid.get(k, v)}
        return self._kind(**said)

    def _decoder(self, name: str) -> Callable[[msgspec.Raw], Any]:
        if name not in self._decoders:
            kind = self._kind.__annotations__[name]
            self._decoders[name] = msgspec.msgpack.Decoder(kind).decode
        return self._decoders[name]


def shape_of(*saved: type[msgspec.Struct], meaning: int) -> int:
    """Return a number that changes whenever the shape of the structs changes.

    The number depends on the structs' fields (in order, with their types and defaults) and
    on all nested structs. `meaning` represents changes that the fields do not show.
    """
    lines = [str(meaning)]
    structs = [*dict.fromkeys(saved)]
    for struct in structs:
        types = _types_of(struct)
        lines.append(_line(struct, types))
        found = [part for kind in types for part in _structs_in(kind)]
        structs += [part for part in dict.fromkeys(found) if part not in structs]
    # Imported here, because computed numbers are stored. The result uses as many bits as
    # fit into any integer column.
    from hashlib import sha256

    return int.from_bytes(sha256("\n".join(lines).encode()).digest()[:6])


def _line(struct: type[msgspec.Struct], types: list[object]) -> str:
    config, names = struct.__struct_config__, struct.__struct_encode_fields__
    layout = (config.array_like, config.omit_defaults, config.tag_field, config.tag)
    defaults = [*map(_default, struct.__struct_defaults__)]
    return f"{struct.__name__} {layout} {names} {types} {defaults}"


def _types_of(struct: type[msgspec.Struct]) -> list[object]:
    types: dict[str, object] = {}
    for kind in reversed(struct.__mro__):
        types.update(getattr(kind, "__annotations__", {}))
    return [types[name] for name in struct.__struct_fields__]


def _structs_in(kind: object) -> Iterator[type[msgspec.Struct]]:
    if not isinstance(kind, type):
        for part in get_args(kind):
            yield from _structs_in(part)
    elif issubclass(kind, msgspec.Struct):
        yield kind


def _default(default: object) -> str:
    # The representation of a default factory would contain its memory address.
    factory = getattr(default, "factory", None)
    return repr(default) if factory is None else factory.__qualname__
