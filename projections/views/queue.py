"""Requests in the operator queue."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import EVENTS, REQUEST, AgentRan, Injection, queue
from sprintlog.engine.sprint.iterations.outcomes import last_begun
from sprintlog.engine.sprint.plan.injection import addresses
from sprintlog.engine.sprint.queue.rules import Ruling
from sprintlog.engine.sprint.state.effective_history import effective_ranges, is_effective
from sprintlog.engine.sprint.state.queue import takes_part
from sprintlog.engine.sprint.state.sprint import Sprint

from .events import filled

OF_QUEUE = {event.type for event in EVENTS if event.subject.word == REQUEST.word}
Data = dict[str, Any]
_SAID: dict[type[Event], tuple[str, ...]] = {
    queue.RequestDecided: ("decision", "reasoning", "rule"),
    queue.RequestReopened: ("reason",),
    queue.RequestReturned: ("until",),
}
"""The fields that describe an event in a request's history."""


class RequestAnswer(Struct, frozen=True, kw_only=True):
    """A request with its decision."""

    sprint: str
    id: str
    title: Any
    description: Any
    priority: Any
    type: Any
    status: Any
    created_at: Any
    discovered_in: Any
    context: Any
    taken_over_from: Any
    decided_at: Any
    decision: Any
    reasoning: Any
    rule: str | None
    injection: Data | None
    rejection_reason: Any
    deferred_until: Any
    came_back_from: str | None


class RequestHistory(Struct, frozen=True):
    """An event in the history of a request."""

    version: int
    at: str
    actor: str
    type: str
    in_force: bool
    """False if a rollback discarded the event."""
    decision: str | UnsetType = UNSET
    reasoning: str | UnsetType | None = UNSET
    rule: str | UnsetType | None = UNSET
    reason: str | UnsetType | None = UNSET
    until: str | UnsetType | None = UNSET


class RequestWithHistory(RequestAnswer, frozen=True, kw_only=True):
    """A request with its history."""

    history: list[RequestHistory]
    asked_in: int | None = None
    """The latest iteration when the request was made."""
    asked_by: str | None = None
    """The agent whose run made the request, otherwise the actor."""


class RulingAnswer(Struct, frozen=True):
    """A rule's decision on a pending request; empty if no rule matches."""

    request: str
    rule: str | None
    decision: str | None
    reasoning: str | None
    addresses: list[str]
    problem: str | None
    """Why the request remains pending although a rule matches."""


def request(sprint: Sprint, entry: Data) -> RequestAnswer:
    """Return a request in a sprint's queue."""
    said = entry.get("decision")
    decision: Data = said if isinstance(said, dict) else {}
    last = sprint.plan.decisions.get(entry["id"])
    injection = decision.get("injection")
    if isinstance(injection, dict):
        injection = {"id_prefix" if k == "idPrefix" else k: v for k, v in injection.items()}
    fields = RequestAnswer.__struct_fields__
    as_in_document: Data = {name: entry.get(name.replace("_", "-")) for name in fields}
    own: Data = {
        "sprint": sprint.id,
        "decision": decision.get("decision"),
        "reasoning": decision.get("reasoning"),
        "rule": last.event.rule if last is not None and decision else None,
        "injection": injection if isinstance(injection, dict) else None,
        "came_back_from": last.returned if last is not None else None,
    }
    return RequestAnswer(**{**as_in_document, **own})


def with_history(
    sprint: Sprint, entry: Data, events: Iterable[RecordedEvent]
) -> RequestWithHistory:
    """Return a request with its history, as of the sprint's version."""
    live = effective_ranges(sprint.knowledge.rollbacks, sprint.version)
    found: list[RequestHistory] = []
    asked_by, ran = None, None
    for recorded in events:
        if recorded.type == AgentRan.type:
            ran = recorded
        if recorded.type not in OF_QUEUE or recorded.version > sprint.version:
            continue
        event = CODEC.decode(recorded)
        if getattr(event, "request", None) == entry["id"]:
            said = {name: getattr(event, name) for name in _SAID.get(type(event), ())}
            in_force = isinstance(event, queue.RequestQueued) or is_effective(
                live, recorded.version
            )
            found.append(filled(RequestHistory, recorded, in_force=in_force, **said))
            if asked_by is None:
                asked_by = _asked_by(recorded, ran)
    begun = sorted((at, number) for number, at in sprint.knowledge.iterations)
    return RequestWithHistory(
        **asdict(request(sprint, entry)),
        history=found,
        asked_in=last_begun(found[0].version, begun) or None if found else None,
        asked_by=asked_by,
    )


def _asked_by(queued: RecordedEvent, ran: RecordedEvent | None) -> str:
    """Return who made a request: the agent whose run caused it, otherwise the actor."""
    if ran is None or queued.causation_id != ran.id:
        return queued.actor
    event = CODEC.decode(ran)
    name = event.agent if isinstance(event, AgentRan) else None
    return f"the agent ({name})" if name else "the agent"


def ruling(found: Ruling) -> RulingAnswer:
    """Return a rule's decision."""
    why = [x.reasoning for x in found.events if isinstance(x, queue.RequestDecided)]
    came = [a for x in found.events if isinstance(x, Injection) for a in addresses(x)]
    return filled(RulingAnswer, found, reasoning=why[0] if why else None, addresses=came)


def matching(sprint: Sprint, wanted: Mapping[str, Collection[str]]) -> list[dict[str, Any]]:
    """Return the requests that match: each given field has one of the wanted values."""
    return [
        entry
        for entry in sprint.queue
        if takes_part(entry)
        and all(entry.get(name) in words for name, words in wanted.items() if words)
    ]
