"""When something happened: what somebody says of it must fit what is known."""

from ..errors import InvalidInputError, RefusedError
from ..log.event import Event, Kind
from .events import PhaseStarted, SprintCompleted
from .state.sprint import Sprint
from .state.times import parse


def check_moment(sprint: Sprint, events: list[Event], at: str) -> None:
    """Raise `RefusedError` for an end before the beginning, of a leaf or of the sprint."""
    for event in events:
        if isinstance(event, SprintCompleted):
            _check(f"sprint {sprint.id}", sprint.plan.given_stats.get("started-at"), at)
        phase = getattr(event, "phase", None)
        node = sprint.plan.tree.find(phase) if phase else None
        is_about = event.kind is Kind.EXECUTION and not isinstance(event, PhaseStarted)
        if node is not None and is_about:
            _check(f"phase {node.address}", node.data.get("started-at"), at)


def _check(what: str, started: object, at: str) -> None:
    try:
        is_before = isinstance(started, str) and parse(at) < parse(started)
    except InvalidInputError:
        # Another tool wrote it; what nobody can read bounds nothing.
        return
    if is_before:
        raise RefusedError(
            f"--at {at} is before {what} began, at {started}", field="at", at=at
        )
