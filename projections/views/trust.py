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


class PlaceOfText(Struct, frozen=True, kw_only=True):
    """Where a text is, or was, beside the events."""

    kind: str
    where: str


class UnreachedPlace(Struct, frozen=True, kw_only=True):
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
