"""The hash chain: the definition and verification of every event's hash.

    payload_digest = sha256(salt ‖ payload)
    hash           = sha256(hash of the previous event ‖ header ‖ payload_digest)

The event before position 1 has the hash `GENESIS`, 32 zero bytes. The header is one
MessagePack array of the envelope's first fifteen fields, in this order: position,
stream, version, id, type, schema_version, at, recorded_at, actor, correlation_id,
causation_id, key, key_digest, remaining, observed. Every value is encoded in MessagePack's
shortest form (integers as int, text as UTF-8 str, digests as bin, booleans as bool, missing
values as nil) and is therefore prefixed by its type and length. Two different envelopes
never have the same header, and None differs from the empty string. An erased event keeps
its payload_digest, so the chain remains valid without its salt and payload. A remainder
that replaces the payload has no salt; the event that records the erasure
(`payload-erased`) contains the remainder's digest.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

import msgspec

from .. import hashes
from .envelope import Head, RecordedEvent

GENESIS = bytes(32)
START = Head(0, GENESIS)
"""The head of an empty log."""
HEADER_FIELDS = RecordedEvent.__struct_fields__[:15]

FIELD_KINDS: dict[str, tuple[type, ...]] = {
    name: (int, bool) if kind is bool else get_args(kind) or (kind,)
    for name, kind in RecordedEvent.__annotations__.items()
}
"""The valid types of each field; not every store has a boolean type."""
_WORDS = {int: "a number", bool: "0 or 1", str: "text", bytes: "bytes", type(None): "none"}

Row = tuple[Any, ...]
"""The fields of a `RecordedEvent`, in order, as a store returns them."""

encode_header = msgspec.msgpack.Encoder().encode
"""Encode a tuple of the `HEADER_FIELDS` as header bytes."""
_fields = msgspec.structs.astuple


class ChainProblem(msgspec.Struct, frozen=True):
    """A problem with one event in a chain."""

    position: int
    problem: str


def header(event: RecordedEvent) -> bytes:
    """Return an event's header, which the event's hash covers along with the payload."""
    return encode_header(_fields(event)[:15])


def payload_digest(salt: bytes, payload: bytes) -> bytes:
    """Return the digest of a salted payload.

    The salt prevents short payloads from being guessed from their digests.
    """
    return hashes.sha256(salt + payload).digest()


def event_hash(previous: bytes, header: bytes, payload_digest: bytes) -> bytes:
    """Return the hash that links an event to its predecessors."""
    return hashes.sha256(previous + header + payload_digest).digest()


def check_chain(
    events: Iterable[RecordedEvent],
    *,
    after: Head = START,
    versions: Mapping[str, int] | None = None,
) -> Iterator[ChainProblem]:
    """Yield every problem in a sequence of events that follows a head.

    `versions` are the streams' last versions at that head; without them, a stream's first
    version is only checked if the sequence starts at the beginning of the log. After a
    problem, the event is assumed to be correct, so that a damaged event is reported only
    once.
    """
    return check_rows(map(_fields, events), after=after, versions=versions)


def check_rows(
    rows: Iterable[Row], *, after: Head = START, versions: Mapping[str, int] | None = None
) -> Iterator[ChainProblem]:
    """Yield the same problems as `check_chain`, for stored rows.

    Converting each row to a `RecordedEvent` first would take 20 % longer.
    """
    hashes.hash_much()
    sha256 = hashes.sha256
    seen: dict[Any, int] = {**(versions or {})}
    begins_anywhere = versions is None and after.position > 0
    before, previous = after.position, after.hash
    last_stream: str | None = None
    last_version, left, is_known = 0, 0, False
    for row in rows:
        # Unpacked explicitly, which takes a third of the time of slicing.
        (
            position, stream, version, d, e, f, g, h, i, j, k, key, m, remaining, observed,
            salt, payload, digest, hash_,
        ) = row  # fmt: skip
        if stream != last_stream:
            # Most events belong to the same stream as the previous one.
            seen[last_stream] = last_version
            is_known, last_version = stream in seen, seen.get(stream, 0)
        continues = left == 0 or (
            remaining == left - 1 and stream == last_stream and key is None
        )
        try:
            header = encode_header(
                (
                    position, stream, version, d, e, f, g, h, i, j, k, key, m, remaining,
                    observed == 1,
                )
            )  # fmt: skip
            sound = (
                position == before + 1
                and last_version + 1 == version
                and continues
                and remaining >= 0
                and (observed == 0 or observed == 1)
                and (payload is None or sha256(salt + payload).digest() == digest)
                and sha256(previous + header + digest).digest() == hash_
            )
        except TypeError:
            # Columns of a damaged or foreign database may contain anything.
            sound = False
        if not sound:
            if wrong := misfit(row):
                # Later events cannot be compared with invalid fields.
                yield ChainProblem(before + 1, wrong)
                return
            event = recorded(row)
            known = last_version if is_known or not begins_anywhere else None
            for problem in _problems(event, Head(before, previous), known, continues):
                yield ChainProblem(position, problem)
        before, previous, last_stream, left = position, hash_, stream, remaining
        last_version, is_known = version, True
    if left:
        yield ChainProblem(before, f"its append is cut off: {left} events are missing")


def recorded(row: Row) -> RecordedEvent:
    """Return a row as an event.

    The field `observed` is converted, because not every store has a boolean type.
    """
    return RecordedEvent(*(*row[:14], row[14] == 1, *row[15:]))


def _problems(
    event: RecordedEvent, before: Head, version: int | None, continues: bool
) -> Iterator[str]:
    """Yield descriptions of the problems with an event that failed the quick check."""
    if event.position != before.position + 1:
        yield f"follows position {before.position}: a gap"
    if version is not None and event.version != version + 1:
        yield f"{event.stream} goes from version {version} to {event.version}"
    if event.remaining < 0 or not continues:
        yield "does not continue the append that was begun: `remaining` is off"
    if not _payload_fits(event):
        yield "the payload is not the one that was recorded"
    if not follows(event, before.hash):
        yield "the hash does not fit: this event or the one before was changed"


def misfit(row: Row) -> str | None:
    """Return a description of the row's first field with an invalid type, or None.

    Any column of a damaged or foreign database can contain a value of any type.
    """
    for (name, kinds), value in zip(FIELD_KINDS.items(), row, strict=True):
        if type(value) not in kinds:
            wanted = " or ".join(_WORDS[kind] for kind in kinds if kind is not bool)
            return f"its {name} is {_WORDS.get(type(value), 'a fraction')}, not {wanted}"
        if name == "observed" and value not in (0, 1):
            return f"its {name} is neither 0 nor 1"
    return None


def is_whole(event: RecordedEvent) -> bool:
    """Return whether all fields have valid types and the payload matches its digest."""
    return not misfit(_fields(event)) and _payload_fits(event)


def _payload_fits(event: RecordedEvent) -> bool:
    # Without a salt, the payload is a remainder, whose digest is in the erasure's event.
    if event.payload is None or event.salt is None:
        return True
    return payload_digest(event.salt, event.payload) == event.payload_digest


def follows(event: RecordedEvent, previous: bytes) -> bool:
    """Return whether a complete event directly follows the event with this hash."""
    return event_hash(previous, header(event), event.payload_digest) == event.hash
