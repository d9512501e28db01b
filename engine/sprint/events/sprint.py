"""The events of a sprint: its creation, start, pauses, resumption and end."""

from typing import Any, ClassVar, Self

import msgspec
from msgspec.structs import replace

from ...log import envelope, event

SPRINT = event.Subject("sprint")


class Place(msgspec.Struct, frozen=True, omit_defaults=True):
    """The location of a sprint's PROGRESS.yaml; only its work tree writes the file."""

    path: str
    """The path relative to the work tree's root, with forward slashes."""
    worktree: str = ""
    """The name of the linked Git work tree; empty for the main work tree."""


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file from which a plan was created."""

    path: str
    """The path relative to the work tree's root, with forward slashes; an absolute path if
    the file is outside the work tree."""
    sha256: str = ""
    """The SHA-256 of the file, in hexadecimal; empty if it was not recorded."""


class AboutDocument(event.Event, frozen=True):
    """An event with a document that becomes the plan."""

    payload_bytes_max = envelope.DOCUMENT_BYTES_MAX
    subject = SPRINT
    reach = event.Reach.WHOLE
    is_structural = True


class SprintCompiled(AboutDocument, frozen=True):
    """A complete plan was added, with every phase pending."""

    stays = ("place", "sources.path", "work_tree")
    schema_version = 2
    as_decision = event.AsDecision("plan", ("sources",))
    document: dict[str, Any]
    place: Place | None = None
    sources: tuple[Source, ...] = ()
    """The files from which the plan was compiled, in the order in which they were read."""
    work_tree: str | None = None
    """The id of the work tree to which the sprint belongs."""

    def remains(self) -> Self:
        """Return the event without the text of its document."""
        # Imported here and below: few processes erase text.
        from .remains import remains_of

        return replace(super().remains(), document=remains_of(self.document))


class SprintImported(AboutDocument, frozen=True):
    """Another tool's document was imported, in full or as a JSON Patch."""

    stays = ("source", "place", "committed_at", "lost", "work_tree")
    as_decision = event.AsDecision("plan", ("source",))
    ends = (event.EVERYTHING,)
    source: str
    document: dict[str, Any] | None = None
    patch: list[dict[str, Any]] | None = None
    iteration: int = 0
    """The document's current iteration, whose number is never reused."""
    place: Place | None = None
    committed_at: str | None = None
    """The time of the Git commit that contains this version; the event's own time is when
    the version was written."""
    lost: tuple[str, ...] = ()
    """The addresses of leaves that were finished in the previous version but not in this
    one."""
    work_tree: str | None = None
    """The id of the work tree in which the document was imported."""

    def remains(self) -> Self:
        """Return the event without the text of its document or patch."""
        from .remains import remains_of, remains_of_patch

        patch = None if self.patch is None else remains_of_patch(self.patch)
        return replace(super().remains(), document=remains_of(self.document), patch=patch)


class AboutSprint(event.Event, frozen=True):
    """An event about the sprint itself."""

    subject = SPRINT
    reach = event.Reach.TOP


class SprintStarted(AboutSprint, frozen=True):
    """Execution started."""


class SprintPaused(AboutSprint, frozen=True):
    """A person paused the sprint."""

    as_decision = event.AsDecision("human", stops=True)
    reason: str | None = None


class SprintBlocked(AboutSprint, frozen=True):
    """The sprint cannot continue."""

    as_decision = event.AsDecision("block", looks_back=True, stops=True)
    as_evidence = ("reason",)
    reason: str


class SprintInterrupted(AboutSprint, frozen=True):
    """The loop that ran the sprint was stopped from outside."""

    as_decision = event.AsDecision("human", stops=True)
    reason: str | None = None


class SprintResumed(AboutSprint, frozen=True):
    """Execution resumed; `by` and `why` are set after a block or a request for a person."""

    # This event also ends the open leaf's wait.
    reach = event.Reach.WHOLE
    as_decision = event.AsDecision("human", ("by", "why"), looks_back=True)
    ends = ("sprint-blocked", "human-needed", "breakpoint-reached", "gate-blocked")
    by: str | None = None
    why: str | None = None
    done: str | None = None
    """The resolution of the problem."""


class SprintCompleted(AboutSprint, frozen=True):
    """Every leaf was completed or skipped, and the sprint was closed."""

    ends = (event.EVERYTHING,)
    summary: str | None = None
    abandons_goal: bool = False
    """Whether the goal was abandoned instead of reached."""
    reason: str | None = None
    """Why the goal was abandoned."""


class SprintReopened(AboutSprint, frozen=True):
    """A completed sprint was reopened."""

    as_decision = event.AsDecision("human")
    reason: str | None = None


class ActivitySeen(AboutSprint, frozen=True):
    """The heartbeat of a running loop."""

    is_quiet = True


class NoteAdded(event.KnowledgeEvent, frozen=True):
    """A note was added for the readers of the log, or for the working agent."""

    stays = ("phase", "to_agent")
    subject = event.Subject("note", ("to_agent", "phase"), "phase")
    is_quiet = True
    text: str
    phase: str | None = None
    to_agent: str | None = None
    """The note's id if it is for the working agent."""
    by_agent: bool = False
    """Whether an agent sent the note, not a person."""
    now: bool = False
    """Whether the note ends the agent's current run."""


class AboutNote(event.KnowledgeEvent, frozen=True):
    """An event about a note for the working agent."""

    stays: ClassVar[tuple[str, ...]] = ("id",)
    subject = event.Subject("note", ("id",))
    is_quiet = True
    id: str
    """The note's id."""


class NoteDelivered(AboutNote, frozen=True):
    """A note was delivered to the working agent; recorded before it is passed on.

    The delivery is unknown until the agent's run with output, or a second event, confirms
    it.
    """

    stays = ("id", "to")
    only_caused = "`run`, an agent's hook or `next` records it before it passes a note on"
    to: str
    """The recipient: `run/ID`, the stream of a session, or `next`."""
    repeated: bool = False
    """Whether the note was sent before, but its delivery is unknown."""
    confirmed: bool = False
    """Whether this confirms that the note was passed on."""


class NoteAcknowledged(AboutNote, frozen=True):
    """The agent acknowledged a note."""

    only_caused = "an agent's answer acknowledges a note"


SPRINT_EVENTS = event.events_of(__name__)
