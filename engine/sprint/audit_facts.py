"""The facts of time travel: a sprint that began as a fork, and an edit that was adopted."""

from typing import ClassVar

from ..log.fact import Fact, Kind


class ForkCreated(Fact, frozen=True):
    """What stands before it in this stream was taken over from a point of another one."""

    type: ClassVar[str] = "fork-created"
    kind: ClassVar[Kind] = Kind.KNOWLEDGE
    source: str
    """The stream that it was taken from, which stays as it is."""
    version: int
    """The version of that stream up to which it was taken over."""
    hash: str
    """The hash of the event at that version, in hexadecimal."""
    reason: str | None = None


class EditAdopted(Fact, frozen=True):
    """An edit that was observed became facts, as far as that was possible."""

    type: ClassVar[str] = "edit-adopted"
    kind: ClassVar[Kind] = Kind.KNOWLEDGE
    path: str
    edit: int
    """The version of the edit-observed that was adopted."""
    digest: str
    """sha256 of the edited file's bytes, in hexadecimal."""
    adopted: tuple[str, ...] = ()
    """What became facts: paths in the document (JSON Pointer)."""
    left: tuple[str, ...] = ()
    """What did not, each with its path and the reason."""


AUDIT_FACTS: tuple[type[Fact], ...] = (ForkCreated, EditAdopted)
"""All of them, for the list of every fact."""
