"""The stated time of an event must be consistent with known times."""

from typing import Any

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.state.transitions import check_moment

from ..conftest import Scenario, simple

BEGAN, STARTED = "2026-01-15T09:00:00Z", "2026-01-15T09:10:00Z"


def working(running: Any) -> Scenario:
    """Return a sprint whose first leaf was started ten minutes after the sprint."""
    return running(simple("a", "b"), STARTED, f.PhaseStarted("a"))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("event", "at", "what"),
    [
        (f.PhaseCompleted("a"), "2026-01-15T09:09:59Z", "phase a started"),
        (f.PhaseFailed("a", "x"), "2026-01-15T09:00:00Z", "phase a started"),
        (f.GateChecked("a", 1, 0), "2026-01-15T09:00:00Z", "phase a started"),
        (f.SprintCompleted(), "2025-01-15T09:00:00Z", "sprint s started"),
    ],
)
def test_refuses_what_was_before(running: Any, event: Event, at: str, what: str) -> None:
    """No sprint ends before its start, and no leaf has events before its start."""
    with pytest.raises(RefusedError, match=what) as refused:
        check_moment(working(running).sprint, [event], at)
    assert refused.value.fields["field"] == "at"


@pytest.mark.parametrize(
    ("event", "at"),
    [
        (f.PhaseCompleted("a"), STARTED),
        (f.PhaseStarted("a"), BEGAN),
        (f.PhaseSkipped("b"), BEGAN),
        (f.PhaseStarted("b"), "2026-01-15T08:59:59Z"),
        (f.NoteAdded("x"), "2025-01-15T09:00:00Z"),
    ],
)
def test_takes_what_fits(running: Any, event: Event, at: str) -> None:
    """The same time is accepted; knowledge and restarts have no further limits."""
    check_moment(working(running).sprint, [event], at)


def test_takes_what_nobody_can_compare(running: Any) -> None:
    """An unreadable time from another tool imposes no limit."""
    scenario = working(running)
    scenario.node("a")["started-at"] = "yesterday"
    check_moment(scenario.sprint, [f.PhaseCompleted("a")], BEGAN)
