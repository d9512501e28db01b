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
    """Update a stream's state files; record and keep edits that others made to them.

    If the rules of the sprint say so, edits are adopted at once. A stream whose file
    cannot be written is not updated again on exit; one that was interrupted here is.
    """
    try:
        if (sprint_id := sprint_of(stream)) is None:
            refreshed = service.state_files.of_journal().refresh(service.journal())
        else:
            sprint, file = service.sprint(sprint_id), service.state_files.of_sprint()
            policy = edit_policy(sprint)
            if policy == REFUSE and (found := file.check(sprint)).state == "edited":
                # Only `rebuild` replaces such an edit; results may be recorded meanwhile.
                refreshed = found
            else:
                refreshed = file.refresh(sprint)
                if refreshed.kept and policy == ADOPT:
                    refreshed = _adopted(service, sprint_id, refreshed)
                sprint = service.sprint(sprint_id) if refreshed.kept else sprint
                if not sprint.knowledge.tracker.is_empty:
                    refreshed = service.state_files.refresh_loop(sprint, refreshed)
    except SprintlogError:
        service.behind.discard(stream)
        raise
    service.behind.discard(stream)
    return refreshed


def _adopted(service: Service, sprint_id: str, refreshed: Refreshed) -> Refreshed:
    """Record an edit as events, and write the file again."""
    # Imported here: it is needed only where somebody edited a file.
    from .adopt import adopt_latest

    said = adopt_latest(service, sprint_id)
    again = service.state_files.of_sprint().refresh(service.sprint(sprint_id))
    problem = f"{refreshed.problem}; {said}"
    return msgspec.structs.replace(again, kept=refreshed.kept, problem=problem)


def catch_up(service: Service, *, is_failing: bool) -> Iterator[str]:
    """Update the state files of streams with events that they do not contain yet.

    Yield the problems. With `is_failing` an error of a file is yielded, too: the error that
    is being raised is more important.
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
