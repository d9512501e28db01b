"""The events of a sprint: how it came in, began, waited, went on and ended."""

from typing import Any, ClassVar

import msgspec

from ...log.fact import Fact, Kind
from ...log.port import DOCUMENT_BYTES_MAX


class Place(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a sprint's PROGRESS.yaml lives: only that work tree writes it."""

    path: str
    """Relative to the work tree's root, with forward slashes."""
    worktree: str = ""
    """Name of the linked git work tree; empty for the main one."""


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that a plan was made from."""

    path: str
    """Relative to the work tree's root, with forward slashes; absolute outside of it."""
    sha256: str = ""
    """Of its bytes, in hexadecimal; empty when it was not recorded."""


class SprintCompiled(Fact, frozen=True):
    """A whole plan came in, every phase pending."""

    type: ClassVar[str] = "sprint-compiled"
    schema_version: ClassVar[int] = 2
    payload_bytes_max: ClassVar[int] = DOCUMENT_BYTES_MAX
    document: dict[str, Any]
    place: Place | None = None
    sources: tuple[Source, ...] = ()
    """The files it was made from, in the order in which they were read."""


class SprintImported(Fact, frozen=True):
    """Another tool's document came in: whole, or as the JSON Patch to its next version."""

    type: ClassVar[str] = "sprint-imported"
    payload_bytes_max: ClassVar[int] = DOCUMENT_BYTES_MAX
    source: str
    document: dict[str, Any] | None = None
    patch: list[dict[str, Any]] | None = None
    iteration: int = 0
    """The document's own current iteration, so that its number is never given again."""
    place: Place | None = None
    committed_at: str | None = None
    """When git took this version in; the event's time is when it was written."""


class SprintStarted(Fact, frozen=True):
    """Execution began."""

    type: ClassVar[str] = "sprint-started"


class SprintPaused(Fact, frozen=True):
    """A person wished to pause."""

    type: ClassVar[str] = "sprint-paused"
    reason: str | None = None


class BreakpointReached(Fact, frozen=True):
    """A phase with `break: true` completed; the sprint waits for a review."""

    type: ClassVar[str] = "breakpoint-reached"
    phase: str


class SprintBlocked(Fact, frozen=True):
    """The sprint cannot go on."""

    type: ClassVar[str] = "sprint-blocked"
    reason: str


class HumanNeeded(Fact, frozen=True):
    """A leaf cannot go on without a person (R140, P38)."""

    type: ClassVar[str] = "human-needed"
    phase: str
    reason: str
    details: str | None = None
    error: str | None = None


class SprintInterrupted(Fact, frozen=True):
    """The loop that drove the sprint was stopped from outside."""

    type: ClassVar[str] = "sprint-interrupted"
    reason: str | None = None


class SprintResumed(Fact, frozen=True):
    """Execution goes on; after `blocked` and `needs-human` with who and why."""

    type: ClassVar[str] = "sprint-resumed"
    by: str | None = None
    why: str | None = None
    done: str | None = None
    """What was done about it."""


class SprintCompleted(Fact, frozen=True):
    """Every leaf is completed or skipped and the sprint was closed."""

    type: ClassVar[str] = "sprint-completed"
    summary: str | None = None
    abandons_goal: bool = False
    """True when its goal was given up, not reached."""
    reason: str | None = None
    """Why it was given up."""


class SprintReopened(Fact, frozen=True):
    """A completed sprint was opened again."""

    type: ClassVar[str] = "sprint-reopened"
    reason: str | None = None


class ActivitySeen(Fact, frozen=True):
    """The heartbeat of a running loop."""

    type: ClassVar[str] = "activity-seen"


class NoteAdded(Fact, frozen=True):
    """A remark for whoever reads the log."""

    type: ClassVar[str] = "note-added"
    kind: ClassVar[Kind] = Kind.KNOWLEDGE
    text: str
    phase: str | None = None
