"""The events of phases and steps: carried out, failed, left out, done again, injected."""

from typing import Any, ClassVar, Self

import msgspec
from msgspec.structs import replace

from ...log.envelope import DOCUMENT_BYTES_MAX
from ...log.event import HERE, AsDecision, Event, Reach, Subject, events_of
from .sprint import Source


class AboutPhase(Event, frozen=True):
    """What happened at one node of the plan; `phase` is its address."""

    stays: ClassVar[tuple[str, ...]] = ("phase",)
    subject: ClassVar[Subject] = Subject("phase", ("phase",), "phase")
    reach: ClassVar[Reach] = Reach.NODE
    phase: str


class PhaseStarted(AboutPhase, frozen=True):
    """A leaf began to execute; `phase` is its address."""

    stays: ClassVar[tuple[str, ...]] = ("phase", "model")
    model: str | None = None


class PhaseCompleted(AboutPhase, frozen=True):
    """A leaf finished successfully."""

    ends: ClassVar[tuple[str, ...]] = (HERE,)
    summary: str | None = None


class PhaseFailed(AboutPhase, frozen=True):
    """A leaf's execution failed."""

    stays: ClassVar[tuple[str, ...]] = ("phase", "category")
    as_evidence: ClassVar[tuple[str, ...] | None] = ("category", "error")
    error: str
    category: str = "logic"


class RetryScheduled(AboutPhase, frozen=True):
    """Another attempt will be made at a time given by the retry policy or by a limit.

    A wait for a limit is not a failure, and the same iteration continues.
    """

    stays: ClassVar[tuple[str, ...]] = ("phase", "next_retry_at", "waits_for")
    next_retry_at: str
    why: str | None = None
    """The message of the limit."""
    waits_for: str | None = None
    """`usage-limit`, `overload` or `network`; null for a retry by the policy."""
    said_by: str | None = None
    """The text or the field that stated the end of the limit; null if it is unknown."""
    waits: int = 0
    """Which wait in a row it is, from 1; 0 for a retry by the policy."""
    iteration: int | None = None
    """The iteration towards the goal that waits; `phase` is empty then."""
    is_fallback: bool = False
    """Whether the fallback cannot work either until then."""


class PhaseBlocked(AboutPhase, frozen=True):
    """Somebody declared a leaf stuck."""

    as_decision: ClassVar[AsDecision | None] = AsDecision("block", looks_back=True)
    as_evidence: ClassVar[tuple[str, ...] | None] = ("reason",)
    reason: str


class PhaseSkipped(AboutPhase, frozen=True):
    """A leaf is left out on purpose."""

    as_decision: ClassVar[AsDecision | None] = AsDecision("skip", looks_back=True)
    ends: ClassVar[tuple[str, ...]] = (HERE,)
    reason: str | None = None


class PhaseRetried(AboutPhase, frozen=True):
    """A failed or blocked leaf waits to be executed again."""

    as_decision: ClassVar[AsDecision | None] = AsDecision("human", looks_back=True)
    ends: ClassVar[tuple[str, ...]] = (HERE,)
    reason: str | None = None


class PhaseReopened(AboutPhase, frozen=True):
    """A completed or skipped leaf must be done again."""

    as_decision: ClassVar[AsDecision | None] = AsDecision("human")
    ends: ClassVar[tuple[str, ...]] = (HERE,)
    reason: str | None = None


class HumanNeeded(AboutPhase, frozen=True):
    """A leaf cannot continue without a person."""

    as_decision: ClassVar[AsDecision | None] = AsDecision(
        "human", ("reason", "details"), ("error",), looks_back=True, stops=True
    )
    as_evidence: ClassVar[tuple[str, ...] | None] = ("reason",)
    reason: str
    details: str | None = None
    error: str | None = None


class BreakpointReached(AboutPhase, frozen=True):
    """A phase with `break: true` completed; the sprint waits for a review."""

    reach: ClassVar[Reach] = Reach.TOP
    only_caused: ClassVar[str] = "a phase with `break: true` causes it when it completes"
    as_decision: ClassVar[AsDecision | None] = AsDecision("breakpoint", (), stops=True)
    as_evidence: ClassVar[tuple[str, ...] | None] = ()


class WorkDone(AboutPhase, frozen=True):
    """A leaf's work is done; its gate is waited for, or the end of a pause."""

    summary: str | None = None


class InjectionPosition(msgspec.Struct, frozen=True, omit_defaults=True):
    """The position in the plan at which work is injected."""

    type: str
    """`after-current`, `after`, `before`, `end-of-phase` or `end-of-workflow`."""
    ref: str | None = None
    """The address that it is seen from; without it the pointer's."""


class Injection(Event, frozen=True):
    """What both injections say: what came into the plan, and where."""

    stays: ClassVar[tuple[str, ...]] = (
        *("position", "into", "after", "before", "id_prefix", "sources.path"),
    )
    subject: ClassVar[Subject] = Subject("phase", address="into")
    reach: ClassVar[Reach] = Reach.WHOLE
    is_structural: ClassVar[bool] = True
    as_decision: ClassVar[AsDecision | None] = AsDecision(
        "injection", ("nodes", "into", "after", "before"), ("sources",)
    )
    payload_bytes_max: ClassVar[int] = DOCUMENT_BYTES_MAX
    nodes: list[dict[str, Any]]
    """The injected siblings, with their descendants, in the shape of PROGRESS.yaml."""
    position: InjectionPosition
    """The requested position."""
    into: str | None = None
    """The resolved address of the new parent; empty for the workflow itself."""
    after: str | None = None
    """Resolved: it stands right behind this; with neither this nor `before` at the end."""
    before: str | None = None
    """Resolved: it stands right before this."""
    id_prefix: str | None = None
    """What its ids were made from, with numbers that are never given again."""
    sources: tuple[Source, ...] = ()
    """The files it was made from."""

    def remains(self) -> Self:
        """Return the event without the texts of its nodes."""
        # Imported here: hardly any process erases.
        from .remains import remains_of

        return replace(super().remains(), nodes=remains_of(self.nodes))


class PhaseInjected(Injection, frozen=True):
    """Top phases or sub-phases were injected into the running plan."""


class StepInjected(Injection, frozen=True):
    """Steps came into a phase of the plan while it was carried out."""


PHASE_EVENTS = events_of(__name__)
