"""What follows a commit: state files are brought up to date, and edits of them adopted."""

from collections.abc import Iterator

import msgspec

from ..errors import SprintlogError
from ..judging.events import ADOPT, REFUSE
from ..sprint.state.sprint import Sprint
from .port import Refreshed, Service
from .streams.catalogue import sprint_of


def edit_policy(sprint: Sprint) -> str:
    """Return what becomes of an edit of the sprint's file: `rules set --progress-edits`."""
    return sprint.knowledge.tracker.rules_at(sprint.version).progress_edits


def refresh(service: Service, stream: str) -> Refreshed:
    """Bring a stream's state files up to date, and keep what somebody else put there.

    Where edits are adopted, what somebody else put there becomes events at once. A stream
    whose file cannot be written is not behind either; one that was interrupted here is.
    """
    try:
        refreshed = _refresh(service, stream)
    except SprintlogError:
        service.behind.discard(stream)
        raise
    service.behind.discard(stream)
    return refreshed


def _refresh(service: Service, stream: str) -> Refreshed:
    sprint_id = sprint_of(stream)
    policy = edit_policy(service.sprint(sprint_id)) if sprint_id is not None else ""
    if sprint_id is not None and policy == REFUSE:
        # Only `rebuild` replaces the edit; a result may be recorded meanwhile.
        found = service.state_files.compare(service.sprint(sprint_id))
        if found.state == "edited":
            return found
    refreshed = service.state_files.refresh(stream)
    if sprint_id is None:
        return refreshed
    if refreshed.kept and policy == ADOPT:
        # Imported here: it is needed only where somebody edited a file.
        from .adopt import adopt_latest

        said = adopt_latest(service, sprint_id)
        again = service.state_files.refresh(stream)
        problem = f"{refreshed.problem}; {said}"
        refreshed = msgspec.structs.replace(again, kept=refreshed.kept, problem=problem)
    sprint = service.sprint(sprint_id)
    if sprint.knowledge.tracker.is_empty:
        return refreshed
    return service.state_files.refresh_loop(sprint, refreshed)


def catch_up(service: Service, *, is_failing: bool) -> Iterator[str]:
    """Refresh what is behind still, since whoever recorded did not come to it.

    Yield the problems. What ended that matters more than a file that cannot be written.
    """
    for stream in sorted(service.behind):
        try:
            sentence = refresh(service, stream).problem
        except SprintlogError as problem:
            if not is_failing:
                raise
            sentence = problem.message
        if sentence:
            yield sentence
