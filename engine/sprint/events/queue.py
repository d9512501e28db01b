"""The events of the operator queue: requests, decisions, and returns."""

from typing import Any, ClassVar

import msgspec

from ...log.event import AsDecision, Event, Kind, Reach, Subject, events_of

REQUEST = Subject("request", ("request",), is_told=True)


class RequestInjection(msgspec.Struct, frozen=True, omit_defaults=True):
    """The work that an approval injects into the plan, as requested."""

    position: str
    """The position: a `type` of [position](#position)."""
    ref: str | None = None
    """The address to which the position refers."""
    prompt: str | None = None
    """The prompt of the injected work."""
    workflow: str | None = None
    """The workflow whose phases were injected instead of a prompt."""
    id_prefix: str | None = None
    """The prefix of the generated ids, whose numbers start at 0 and are never reused."""
    model: str | None = None


class RequestOrigin(msgspec.Struct, frozen=True):
    """A request that an earlier sprint deferred to the next sprint."""

    sprint: str
    """The sprint that deferred the request."""
    request: str
    """The id of the request in that sprint."""


class AboutRequest(Event, frozen=True):
    """An event about a request."""

    stays: ClassVar[tuple[str, ...]] = ("request",)
    subject = REQUEST
    reach = Reach.TOP
    records = "operator-queue"
    request: str


class RequestQueued(AboutRequest, frozen=True):
    """A request was queued for a decision."""

    stays = (
        *("request", "priority", "request_type", "created_at", "discovered_in", "origin"),
    )
    kind = Kind.KNOWLEDGE
    is_structural = True
    title: str
    """A short title."""
    description: str
    """A full description."""
    priority: str
    """`critical`, `high`, `medium` or `low`."""
    request_type: str
    """`bug`, `improvement`, `refactor`, `test`, `docs` or `security`."""
    created_at: str
    """The time at which the request was made, as ISO 8601 in UTC."""
    discovered_in: str
    """The origin: the ids from the top level down, joined by ` > `."""
    context: dict[str, Any] | None = None
    """Additional context, as submitted."""
    origin: RequestOrigin | None = None
    """The request that this request continues."""


class RequestDecided(AboutRequest, frozen=True):
    """A request was approved, rejected, deferred, or moved to the backlog."""

    stays = (
        *("request", "decision", "rule", "injection.position", "injection.ref"),
        *("injection.workflow", "injection.id_prefix", "injection.model", "deferred_until"),
        "phase",
    )
    subject = msgspec.structs.replace(REQUEST, address="phase")
    as_decision = AsDecision(
        "request",
        ("request", "decision", "reasoning", "rejection_reason", "deferred_until"),
        ("rule",),
    )
    decision: str
    """`approve`, `reject`, `defer` or `backlog`."""
    reasoning: str
    """The reason for the decision."""
    rule: str | None = None
    """The automatic rule that decided; null if a person did."""
    injection: RequestInjection | None = None
    """The work that an approval injects into the plan; the injection event follows."""
    rejection_reason: str | None = None
    """The reason for a rejection."""
    deferred_until: str | None = None
    """`end-of-phase`, `end-of-sprint` or `next-sprint`."""
    phase: str | None = None
    """Resolved: the top-level phase at whose end the request returns."""


class RequestReturned(AboutRequest, frozen=True):
    """A deferred request is due, so it is pending again."""

    stays = ("request", "until")
    only_caused = "the end of the deferral causes it"
    as_decision = AsDecision("request", ("request", "until"))
    until: str
    """The deferral that ended: `end-of-phase` or `end-of-sprint`."""


class RequestReopened(AboutRequest, frozen=True):
    """A decision was withdrawn, so the request is pending again; nothing else changed."""

    as_decision = AsDecision("request", ("request", "reason"))
    reason: str
    """The reason for withdrawing the decision."""


QUEUE_EVENTS = events_of(__name__)
