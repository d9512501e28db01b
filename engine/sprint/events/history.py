"""The events that concern a sprint's history: rollbacks, forks and external edits."""

from typing import Any, ClassVar

from ...log import event
from .sprint import SPRINT


class AboutEdit(event.KnowledgeEvent, frozen=True):
    """An event about an edit to a state file."""

    stays: ClassVar[tuple[str, ...]] = ("path", "digest")
    subject = event.Subject("edit")
    is_structural = True
    path: str


class RolledBack(event.Event, frozen=True):
    """Execution events after `to` were discarded; no event is deleted."""

    kind = event.Kind.CONTROL
    subject = event.Subject("sprint", ("to",))
    reach = event.Reach.WHOLE
    is_structural = True
    only_caused = "`sprintlog undo` undoes a rollback"
    as_decision = event.AsDecision(
        "rollback", ("to", "undoes", "reason"), looks_back=True, judges=event.IN_FORCE
    )
    to: int
    """The version of this stream whose state is restored."""
    reason: str | None = None
    undoes: int | None = None
    """The version of the rollback or decision that this rollback undoes."""


class EditObserved(AboutEdit, frozen=True):
    """Someone else edited a state file; the edit is stored but changes nothing."""

    stays = ("path", "digest", "kept")
    only_caused = "sprintlog records it when it finds a state file edited"
    as_decision = event.AsDecision("edit", ("path", "problem"))
    digest: str
    """The SHA-256 of the edited file, in hexadecimal."""
    kept: str
    """The name of the copy of the edited file in the log's `edits` folder."""
    since: int
    """The version of the file that was edited; 0 if unknown."""
    changes: list[dict[str, Any]] | None = None
    """The JSON Patch from our document to the edited one; null if that is unreadable."""
    problem: str | None = None
    fields: tuple[str, ...] = ()
    """The first edited fields, named as in `diff`."""


class ForkCreated(event.KnowledgeEvent, frozen=True):
    """The earlier events of this stream were copied from another stream."""

    stays = ("source", "hash")
    subject = SPRINT
    is_structural = True
    only_caused = "`sprintlog fork NAME --from POINT` makes one of an earlier point"
    as_decision = event.AsDecision("plan", ("source", "reason"), ("version", "hash"))
    source: str
    """The stream that was copied; it is unchanged."""
    version: int
    """The last copied version of that stream."""
    hash: str
    """The hash of the event at that version, in hexadecimal."""
    reason: str | None = None


class EditAdopted(AboutEdit, frozen=True):
    """An observed edit was converted to events as far as possible."""

    only_caused = "`sprintlog adopt` makes events of an edit"
    as_decision = event.AsDecision("edit", ("path", "adopted", "left"), ("edit", "digest"))
    edit: int
    """The version of the adopted `edit-observed` event."""
    digest: str
    """The SHA-256 of the edited file, in hexadecimal."""
    adopted: tuple[str, ...] = ()
    """The adopted changes, as paths in the document (JSON Pointer)."""
    left: tuple[str, ...] = ()
    """The changes that were not adopted, each with its path and the reason."""


HISTORY_EVENTS = event.events_of(__name__)
