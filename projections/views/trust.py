"""What scripts get of redactions, findings, heads and proofs."""

from msgspec import Struct

from .events import EventReference


class ErasedEvent(Struct, frozen=True, kw_only=True):
    """An event that is, or would be, erased."""

    position: int
    stream: str
    version: int
    type: str
    at: str
    bytes: int
    """How long its payload is."""


class PlaceOfText(Struct, frozen=True):
    """Where a text is, or was, beside the events."""

    kind: str
    where: str


class UnreachedPlace(Struct, frozen=True):
    """Where a text stays."""

    where: str
    why: str
    command: str | None
    """What a person can do about it."""


class Redaction(Struct, frozen=True, kw_only=True):
    """What would be erased."""

    events: list[ErasedEvent]
    places: list[PlaceOfText]
    unreached: list[UnreachedPlace]


class RedactionDone(Struct, frozen=True, kw_only=True):
    """What was erased."""

    erased: int
    """How many events."""
    places: list[PlaceOfText]
    snapshots: dict[str, str]
    """By the snapshots that are gone: those in their places."""
    unreached: list[UnreachedPlace]
    events: list[EventReference]
    """Those that say so."""


class LeakFound(Struct, frozen=True):
    """A secret that was found."""

    where: str
    position: int | None
    """Of its event; null beside the events."""
    rule: str
    """The form that it has."""
    excerpt: str
    """What is around it, masked."""
    command: str
    """What erases it."""


class HeadAnswer(Struct, frozen=True, kw_only=True):
    """The head of a log, as it is written down."""

    log: str
    """The id of its first event."""
    position: int
    hash: str
    root: str
    """Of the Merkle tree over all events."""
    time: str
    file: str | None
    """Where it was written."""
    signature: str | None
    """Where its signature is."""


class ProofAnswer(Struct, frozen=True, kw_only=True):
    """What a proof came to."""

    position: int
    file: str
    is_proof: bool
    """Whether it proves that the event was there."""
    signed_by: str | None
    problems: list[str]
