"""The operator queue as PROGRESS.yaml shows it: requests, and the decisions about them.

The knowledge contains the requests and the plan contains the decisions; this module
combines them. The queue of an imported document replaces everything queued before it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from ..events import RequestDecided, RequestInjection, RequestQueued
from .document_fields import list_of
from .words import DECISIONS, DEFERRALS, DEFERRED, PENDING, REQUEST_STATUSES

Data = dict[str, Any]
Requests = Mapping[str, tuple[int, RequestQueued]]
"""The requests by id, each with the version that queued it."""

QUEUE = "operator-queue"
STATUS_OF = dict(zip(DECISIONS, REQUEST_STATUSES[1:], strict=True))
"""The request status after each decision."""
REOPENED = "reopened"
"""The value of `returned` for a request that a person reopened."""
_OF_DECISIONS = ("decided-at", "decision", "rejection-reason", "deferred-until")


class Decided(msgspec.Struct, frozen=True):
    """The latest decision on a request, or its return to pending."""

    event: RequestDecided
    at: str
    returned: str | None = None
    """The deferral that ended, or `reopened`."""

    @property
    def status(self) -> str:
        """Return the request's status."""
        return PENDING if self.returned is not None else STATUS_OF[self.event.decision]


Decisions = Mapping[str, Decided]


def queue_of(
    document: Data, decisions: Decisions, requests: Requests, *, since: int
) -> list[Any]:
    """Return the queue in recording order, or the document's own list if nothing was added.

    Only the `requests` queued after the version `since` are included.
    """
    entries = list_of(document, QUEUE)
    if not requests and not decisions:
        return entries
    bases = _bases(entries, requests, since)
    return [_shown(base, decisions.get(identity)) for identity, base in bases]


def find(
    document: Data, decisions: Decisions, requests: Requests, identity: str, *, since: int
) -> Data | None:
    """Return a request in the queue as the document shows it, or None."""
    for name, base in _bases(list_of(document, QUEUE), requests, since):
        if name == identity:
            shown: Data = _shown(base, decisions.get(identity))
            return shown
    return None


def counts(queue: Iterable[Any]) -> dict[str, int]:
    """Return the number of requests in each status, in the order of the statuses."""
    words = [entry["status"] for entry in queue if takes_part(entry)]
    return {word: words.count(word) for word in REQUEST_STATUSES if word in words}


def with_queue(document: Data, queue: list[Any]) -> Data:
    """Return a document that contains this queue; the same document if it already does."""
    if not queue or document.get(QUEUE) is queue:
        return document
    if QUEUE in document or "last-activity" not in document:
        return {**document, QUEUE: queue}
    shown: Data = {}
    for key, value in document.items():
        if key == "last-activity":
            shown[QUEUE] = queue
        shown[key] = value
    return shown


def deferrals(document: Data, decisions: Decisions) -> dict[str, RequestDecided]:
    """Return the deferrals by request, whether decided here or in an imported document."""
    found: dict[str, RequestDecided] = {}
    seen: set[str] = set()
    for entry in filter(takes_part, list_of(document, QUEUE)):
        identity = entry["id"]
        if entry["status"] == DEFERRED and identity not in {*seen, *decisions}:
            until = entry.get("deferred-until")
            until = until if until in DEFERRALS else DEFERRALS[0]
            found[identity] = RequestDecided(identity, "defer", "", deferred_until=until)
        seen.add(identity)
    put_off = ((i, last.event) for i, last in decisions.items() if last.status == DEFERRED)
    return {**found, **dict(put_off)}


def says_queue(patch: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a patch changes the queue."""
    paths = (str(operation.get("path")) for operation in patch)
    return any(path.split("/")[:2] in ([""], ["", QUEUE]) for path in paths)


def takes_part(entry: object) -> bool:
    """Return whether a queue entry has an id and a known status."""
    if not isinstance(entry, dict):
        return False
    identity = entry.get("id")
    return (
        isinstance(identity, str)
        and identity != ""
        and entry.get("status") in REQUEST_STATUSES
    )


def _bases(entries: list[Any], requests: Requests, since: int) -> Iterator[tuple[str, Any]]:
    """Yield each entry with its id; an inert entry has an empty id."""
    seen: set[str] = set()
    for entry in entries:
        identity = entry["id"] if takes_part(entry) and entry["id"] not in seen else ""
        seen.add(identity)
        yield identity, entry
    for identity, (version, event) in requests.items():
        if version > since and identity not in seen:
            yield identity, event


def _shown(base: Any, decided: Decided | None) -> Any:
    if isinstance(base, RequestQueued):
        base = _entry(base)
    if decided is None:
        return base
    shown = {key: value for key, value in base.items() if key not in _OF_DECISIONS}
    shown["status"] = decided.status
    context = shown.pop("context", None)
    if decided.returned is None:
        shown.update(_fields(decided.event, decided.at))
    if "context" in base:
        shown["context"] = context
    return shown


def _entry(event: RequestQueued) -> Data:
    """Return a request as the document shows it before any decision."""
    entry: Data = {
        "id": event.request,
        "title": event.title,
        "description": event.description,
        "priority": event.priority,
        "type": event.request_type,
        "status": PENDING,
        "created-at": event.created_at,
        "discovered-in": event.discovered_in,
    }
    if event.origin is not None:
        entry["taken-over-from"] = msgspec.to_builtins(event.origin)
    if event.context is not None:
        entry["context"] = event.context
    return entry


def _fields(event: RequestDecided, at: str) -> Data:
    """Return the fields that a decision adds to a request."""
    decision: Data = {"decision": event.decision, "reasoning": event.reasoning}
    fields: Data = {"decided-at": at, "decision": decision}
    if event.injection is not None:
        decision["injection"] = _injection(event.injection)
    if event.deferred_until is not None:
        decision["deferredUntil"] = fields["deferred-until"] = event.deferred_until
    if event.rejection_reason is not None:
        decision["rejectionReason"] = fields["rejection-reason"] = event.rejection_reason
    return fields


def _injection(injection: RequestInjection) -> Data:
    position = {"type": injection.position, "ref": injection.ref}
    said = {
        "position": {key: value for key, value in position.items() if value is not None},
        "prompt": injection.prompt,
        "workflow": injection.workflow,
        "idPrefix": injection.id_prefix,
        "model": injection.model,
    }
    return {key: value for key, value in said.items() if value is not None}
