"""Where the person's repository stands when an iteration ends."""

from pathlib import Path

from msgspec.structs import replace

from ...adapters.git.untrusted import repository_state
from ...log.event import Event
from ...sprint.events import AgentRan, GitState, IterationEnded, SnapshotTaken
from ..port import Service
from .own_paths import own_paths

_found: dict[tuple[Path, str], GitState | None] = {}
"""The last answer, by the root and the time for which it was asked."""


def with_git(service: Service, events: list[Event], *, at: str) -> list[Event]:
    """Return events, the ends of iterations and snapshots with where git stands."""
    # A run whose end was watched says it already.
    stands = next((x.git_after for x in events if isinstance(x, AgentRan)), None)
    if stands is None:
        stands = _stands(service, at)
    if stands is None:
        return events
    return [
        replace(event, git=stands)
        if isinstance(event, IterationEnded | SnapshotTaken) and event.git is None
        else event
        for event in events
    ]


def _stands(service: Service, at: str) -> GitState | None:
    """Return the state of the repository; read once for each moment."""
    root = service.location.root
    if (root, at) not in _found:
        found = repository_state(root, service.environment, but=lambda: own_paths(service))
        _found.clear()
        _found[root, at] = found and GitState(found.head, found.is_dirty)
    return _found[root, at]
