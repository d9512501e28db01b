"""A log as JSON Lines: a header, a line per event with its complete envelope, and the head.

Bytes are in hexadecimal, and the payload is a string, so that no tool can change the hashed
text. The same log always produces the same lines, and a line is accepted only if it is
exactly what this module would write.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ..errors import InvalidInputError
from .envelope import DOCUMENT_BYTES_MAX, Head, RecordedEvent

FORMAT = "sprintlog-log"
FORMAT_VERSION = 1
LINE_BYTES_MAX = 2 * DOCUMENT_BYTES_MAX + 65_536
"""The maximum length of a line, in which a payload's bytes take at most two bytes each."""

_HEXADECIMAL = ("key_digest", "salt", "payload_digest", "hash", "previous")

_encode = msgspec.json.Encoder().encode


class _Header(msgspec.Struct):
    format: str
    format_version: int
    stream: str | None
    """The only exported stream; None for the complete log."""


_AS_TEXT = {bytes: str, bytes | None: str | None}
_Line: Any = msgspec.defstruct(
    "_Line",
    [
        *((name, _AS_TEXT.get(x, x)) for name, x in RecordedEvent.__annotations__.items()),
        ("previous", str | None, None),
    ],
    forbid_unknown_fields=True,
    omit_defaults=True,
)
"""An event with bytes as text; `previous` is set if no line has the previous event."""


class _Last(msgspec.Struct, forbid_unknown_fields=True):
    position: int
    hash: str


class _End(msgspec.Struct, forbid_unknown_fields=True):
    head: _Last


_header_of = msgspec.json.Decoder(_Header).decode
_line_of = msgspec.json.Decoder(_Line).decode
_end_of = msgspec.json.Decoder(_End).decode


def first_line(stream: str | None = None) -> bytes:
    """Return the header of an export; `stream` restricts the export to one stream."""
    return _encode(_Header(FORMAT, FORMAT_VERSION, stream)) + b"\n"


def line(event: RecordedEvent, *, previous: bytes | None = None) -> bytes:
    """Return an event as a line; `previous` is the previous event's hash."""
    told = {**msgspec.structs.asdict(event), "previous": previous}
    for name in _HEXADECIMAL:
        told[name] = told[name].hex() if told[name] is not None else None
    if event.payload is not None:
        told["payload"] = event.payload.decode()
    return _encode(_Line(**told)) + b"\n"


def event_in(raw: bytes) -> tuple[RecordedEvent, bytes]:
    """Return a line's event, and the previous event's hash as stated in the line."""
    told = _line_of(raw)
    if told.previous is None:
        raise ValueError("the hash of the previous event is missing")
    return _event_of(told), bytes.fromhex(told.previous)


def last_line(head: Head) -> bytes:
    """Return the last line of an export, which states the log's head."""
    return _encode(_End(_Last(head.position, head.hash.hex()))) + b"\n"


def read_lines(lines: Iterable[bytes], *, file: str) -> Iterator[RecordedEvent | Head]:
    """Yield the events in an export of a complete log, and finally its head.

    Line 1 is the header, so an event's line number is its position plus one. The chain is
    not checked. Raise `InvalidInputError` naming the first line that differs from the
    output of `line`, or the end of the file if the head is missing.
    """
    found = enumerate(lines, start=1)
    number, raw = next(found, (1, b""))
    _check_header(raw, file)
    for number, raw in found:
        if raw.startswith(b'{"head":'):
            yield _read_end(raw, number, file)
            break
        yield _read_event(raw, number, file)
    else:
        raise InvalidInputError(
            "the file is truncated: the line of the head is missing",
            file=file,
            line=number + 1,
        )
    for number, _ in found:
        raise InvalidInputError("follows the head", file=file, line=number)


def _check_header(raw: bytes, file: str) -> None:
    try:
        header = _header_of(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInputError(
            "is not the header of a log export", file=file, line=1
        ) from error
    if header.format != FORMAT:
        raise InvalidInputError(f"is not {FORMAT}", file=file, line=1, field="format")
    if header.format_version != FORMAT_VERSION:
        raise InvalidInputError(
            f"is {header.format_version}, but this sprintlog reads only {FORMAT_VERSION}",
            file=file,
            line=1,
            field="format_version",
            hint="it was exported by another version of sprintlog",
        )
    if header.stream is not None:
        raise InvalidInputError(
            f"contains only {header.stream}; only a whole log can be imported",
            file=file,
            line=1,
            field="stream",
            hint="run `sprintlog store export` without --sprint to export the whole log",
        )
    if raw != first_line():
        raise _changed(1, file)


def _read_event(raw: bytes, number: int, file: str) -> RecordedEvent:
    if len(raw) > LINE_BYTES_MAX:
        raise InvalidInputError(
            f"is longer than {LINE_BYTES_MAX} bytes", file=file, line=number
        )
    try:
        event = _event_of(_line_of(raw))
        again = line(event)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise InvalidInputError(
            f"is not an event: {problem}", file=file, line=number
        ) from error
    if again != raw:
        raise _changed(number, file)
    return event


def _event_of(line: Any) -> RecordedEvent:
    told = msgspec.structs.asdict(line)
    del told["previous"]
    for name in _HEXADECIMAL[:-1]:
        told[name] = bytes.fromhex(told[name]) if told[name] is not None else None
    if line.payload is not None:
        told["payload"] = line.payload.encode()
    return RecordedEvent(**told)


def _read_end(raw: bytes, number: int, file: str) -> Head:
    try:
        told = _end_of(raw).head
        head = Head(told.position, bytes.fromhex(told.hash))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InvalidInputError("is not a head", file=file, line=number) from error
    if last_line(head) != raw:
        raise _changed(number, file)
    return head


def _changed(number: int, file: str) -> InvalidInputError:
    return InvalidInputError(
        "differs from the output of `sprintlog store export`: it was changed or truncated",
        file=file,
        line=number,
    )
