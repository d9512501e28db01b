"""Requests that earlier sprints deferred to the next one, which takes them at its start.

Each request is a separate append under its own key, before the start itself. So it is
transferred exactly once, even if several sprints start at a time or a process is killed.
"""

from hashlib import sha256

from ..sprint.events import RequestOrigin
from ..sprint.queue.requests import TakeOverRequest
from ..sprint.queue.returns import for_the_next_sprint
from .port import Service
from .streams.catalogue import sprint_of


def take_over_all(workspace: Service, sprint_id: str, *, at: str, actor: str) -> int:
    """Let a sprint take over what waits for the next one; return how much was appended."""
    taken = 0
    for other in workspace.sprints():
        if other == sprint_id:
            continue
        for entry in for_the_next_sprint(workspace.sprint(other)):
            origin = RequestOrigin(other, entry["id"])
            first = _first(workspace, other, origin.request)
            digest = sha256(f"{first}\n{origin.request}".encode()).digest()
            outcome = workspace.handle_with(
                sprint_id,
                TakeOverRequest(entry, origin),
                actor=actor,
                at=at,
                key=f"next-sprint/{digest.hex()}",
                key_digest=digest,
            )
            taken += 0 if outcome.duplicate else len(outcome.events)
    return taken


def _first(workspace: Service, sprint_id: str, request: str) -> str:
    """Return the sprint that a request was queued in: a fork of it holds a copy."""
    knowledge = workspace.sprint(sprint_id).knowledge
    version, _ = knowledge.requests.get(request, (0, None))
    origins = (source for last, source in knowledge.forks if version <= last)
    return sprint_of(next(origins, "")) or sprint_id
