"""The events of phases and steps, from their start or injection to their completion."""

from typing import Any, ClassVar, Self

import msgspec
from msgspec.structs import replace

from ...log.envelope import DOCUMENT_BYTES_MAX
from ...log.event import HERE, AsDecision, Event, Reach, Subject, events_of
from .sprint import Source


class AboutPhase(Event, frozen=True):
    """An event about a node of the plan; `phase` is the node's address."""

    stays: ClassVar[tuple[str, ...]] = ("phase",)
    subject = Subject("phase", ("phase",), "phase")
    reach = Reach.NODE
    phase: str


class PhaseStarted(AboutPhase, frozen=True):
    """Work on a leaf started; `phase` is the leaf's address."""

    stays = ("phase", "model")
    model: str | None = None


class PhaseCompleted(AboutPhase, frozen=True):
    """A leaf finished successfully."""

    ends = (HERE,)
    summary: str | None = None


class PhaseFailed(AboutPhase, frozen=True):
    """Work on a leaf failed."""

    stays = ("phase", "category")
    as_evidence = ("category", "error")
    error: str
    category: str = "logic"


class RetryScheduled(AboutPhase, frozen=True):
    """Another attempt was scheduled for a time set by the retry policy or by a limit.

    A wait for a limit is not a failure, and the same iteration continues.
    """

    stays = ("phase", "next_retry_at", "waits_for")
    next_retry_at: str
    why: str | None = None
    """The message that states the limit."""
    waits_for: str | None = None
    """`usage-limit`, `overload` or `network`; null for a retry under the policy."""
    said_by: str | None = None
    """The text or the field that stated the end of the limit; null if unknown."""
    waits: int = 0
    """The number of consecutive waits, including this one; 0 for a retry by policy."""
    iteration: int | None = None
    """The iteration that waits, in a loop for a goal; `phase` is then empty."""
    is_fallback: bool = False
    """Whether the fallback is blocked until then as well."""


class PhaseBlocked(AboutPhase, frozen=True):
    """A leaf was declared blocked."""

    as_decision = AsDecision("block", looks_back=True)
    as_evidence = ("reason",)
    reason: str


class PhaseSkipped(AboutPhase, frozen=True):
    """A leaf was skipped on purpose."""

    as_decision = AsDecision("skip", looks_back=True)
    ends = (HERE,)
    reason: str | None = None


class PhaseRetried(AboutPhase, frozen=True):
    """A failed or blocked leaf was reset to pending so that it runs again."""

    as_decision = AsDecision("human", looks_back=True)
    ends = (HERE,)
    reason: str | None = None


class PhaseReopened(AboutPhase, frozen=True):
    """A completed or skipped leaf was reopened and must be done again."""

    as_decision = AsDecision("human")
    ends = (HERE,)
    reason: str | None = None


class HumanNeeded(AboutPhase, frozen=True):
    """A leaf cannot continue without a person."""

    as_decision = AsDecision(
        "human", ("reason", "details"), ("error",), looks_back=True, stops=True
    )
    as_evidence = ("reason",)
    reason: str
    details: str | None = None
    error: str | None = None


class BreakpointReached(AboutPhase, frozen=True):
    """A phase with `break: true` was completed; the sprint waits for a review."""

    reach = Reach.TOP
    only_caused = "a phase with `break: true` causes it when it completes"
    as_decision = AsDecision("breakpoint", (), stops=True)
    as_evidence = ()


class WorkDone(AboutPhase, frozen=True):
    """A leaf's work is done; the leaf waits for its gate or for the sprint to resume."""

    summary: str | None = None


class InjectionPosition(msgspec.Struct, frozen=True, omit_defaults=True):
    """The position in the plan at which work is injected."""

    type: str
    """`after-current`, `after`, `before`, `end-of-phase` or `end-of-workflow`."""
    ref: str | None = None
    """The address to which the position refers; defaults to the pointer's address."""


class Injection(Event, frozen=True):
    """The injected work and its position, shared by both injection events."""

    stays = ("position", "into", "after", "before", "id_prefix", "sources.path")
    subject = Subject("phase", address="into")
    reach = Reach.WHOLE
    is_structural = True
    as_decision = AsDecision(
        "injection", ("nodes", "into", "after", "before"), ("sources",)
    )
    payload_bytes_max = DOCUMENT_BYTES_MAX
    nodes: list[dict[str, Any]]
    """The injected siblings and their descendants, in the structure of PROGRESS.yaml."""
    position: InjectionPosition
    """The requested position."""
    into: str | None = None
    """Resolved: the address of the new parent; empty for the workflow itself."""
    after: str | None = None
    """Resolved: the preceding sibling. If it and `before` are null, nodes are appended."""
    before: str | None = None
    """Resolved: the following sibling."""
    id_prefix: str | None = None
    """The prefix of the generated ids, whose numbers are never reused."""
    sources: tuple[Source, ...] = ()
    """The files from which the nodes were created."""

    def remains(self) -> Self:
        """Return the event without the text of its nodes."""
        # Imported here: few processes erase text.
        from .remains import remains_of

        return replace(super().remains(), nodes=remains_of(self.nodes))


class PhaseInjected(Injection, frozen=True):
    """Phases or sub-phases were injected into a running plan."""


class StepInjected(Injection, frozen=True):
    """Steps were injected into a phase of a running plan."""


PHASE_EVENTS = events_of(__name__)
