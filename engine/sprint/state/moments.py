"""When something happened: what somebody says of it must fit what is known."""

from ...errors import InvalidInputError, RefusedError
from ...log.fact import Fact, Kind
from ..events import PhaseStarted, SprintCompleted
from .sprint import Sprint
from .times import parse


def check_moment(sprint: Sprint, facts: list[Fact], at: str) -> None:
    """Raise `RefusedError` for an end before the beginning, of a leaf or of the sprint."""
    for fact in facts:
        if isinstance(fact, SprintCompleted):
            _check(f"sprint {sprint.id}", sprint.plan.given_stats.get("started-at"), at)
        phase = getattr(fact, "phase", None)
        node = sprint.plan.tree.find(phase) if phase else None
        is_about = fact.kind is Kind.EXECUTION and not isinstance(fact, PhaseStarted)
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
