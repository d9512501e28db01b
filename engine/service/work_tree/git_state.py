"""Where the person's repository stands when an iteration ends."""

from functools import lru_cache
from pathlib import Path

from msgspec.structs import replace

from ...adapters.git.state import repository_state
from ...log.event import Event
from ...sprint.events import AgentRan, GitState, IterationEnded, SnapshotTaken
from ..port import Service
from .own_paths import own_paths


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
    return _found(service.location.root, at, _Asking(service))


class _Asking:
    """Who asks; it makes no difference to the answer."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asking)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=1)
def _found(root: Path, at: str, asking: _Asking) -> GitState | None:
    """Return where git stands; asked once a moment, also where all is decided anew."""
    service = asking.service
    environment, own = service.environment, lambda: own_paths(service)
    found = repository_state(root, environment, but=own)
    return None if found is None else GitState(found.head, found.is_dirty)
