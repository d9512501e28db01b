"""When a running sprint counts as stale."""

from typing import Any

import pytest

from sprintlog.engine.sprint.events import SprintPaused
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.phases.lifecycle import StartSprint, is_stale
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.state.sprint import Sprint

AT = "2026-01-15T09:00:00Z"


@pytest.fixture
def running() -> Sprint:
    """Return a sprint that started at nine and was silent since."""
    sprint = Sprint("x")
    plan: Any = {"phases": [{"id": "a", "prompt": "p"}]}
    fold(sprint, [(1, AT, CreateSprint(plan=plan).decide(sprint, AT)[0])])
    return fold(sprint, [(2, AT, StartSprint().decide(sprint, AT)[0])])


@pytest.mark.parametrize(
    ("now", "stale"), [("2026-01-15T09:15:00Z", False), ("2026-01-15T09:15:01Z", True)]
)
def test_is_stale_after_fifteen_minutes(running: Sprint, now: str, stale: bool) -> None:
    """15 minutes of silence are not stale, one second more is."""
    assert is_stale(running, now=now) is stale


def test_a_rollback_is_a_sign_of_life(running: Sprint) -> None:
    """A recent rollback is activity, however old the effective state is."""
    now = "2026-01-15T12:00:00Z"
    assert not is_stale(running, now=now, moved="2026-01-15T11:59:00Z")
    assert is_stale(running, now=now, moved="2026-01-15T08:00:00Z")


def test_is_never_stale_while_paused(running: Sprint) -> None:
    """Only a sprint in progress can be stale."""
    fold(running, [(3, AT, SprintPaused())])
    assert not is_stale(running, now="2026-02-01T00:00:00Z")
