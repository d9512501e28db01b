"""A person's command in a stopped sprint: to resume, or to end work."""

from typing import Any

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.phases.leaves import CompletePhase, StartPhase
from sprintlog.engine.sprint.phases.lifecycle import ResumeSprint

from ..conftest import Scenario, simple

NOW = "2026-01-15T10:00:00Z"
STOPS = [
    f.SprintPaused(),
    f.SprintInterrupted(),
    f.SprintBlocked("no disk"),
    f.BreakpointReached("b"),
]


@pytest.mark.parametrize("stop", STOPS, ids=lambda event: str(event.type))
def test_work_that_ends_in_a_stop_is_kept(running: Any, stop: Any) -> None:
    """A pause never loses work: it is done, and is not handed out again."""
    scenario: Scenario = running(simple("a", "b")).do(StartPhase()).given(stop)
    scenario.when(CompletePhase(summary="x")).then(f.WorkDone("a", "x"))
    scenario.when(CompletePhase(summary="x")).then_nothing()
    scenario.given(f.SprintResumed("ana", "fixed"))
    assert next_action(scenario.sprint, now=NOW).do == "end"
    scenario.when(CompletePhase()).then(f.PhaseCompleted("a", "x"))


def test_nothing_is_done_that_was_not_begun(running: Any) -> None:
    """In a stopped sprint, only work in progress can end."""
    scenario: Scenario = running(simple("a", "b"), f.SprintPaused())
    scenario.when(CompletePhase()).then_refused(state="paused")


def test_what_a_person_is_needed_for_is_tried_again_at_once(running: Any) -> None:
    """With `retry` the resume is enough: the leaf is handed out again."""
    scenario: Scenario = running(simple("a", "b")).do(StartPhase())
    scenario.given(f.HumanNeeded("a", "a key"))
    command: dict[str, Any] = {"by": "ana", "why": "here it is", "retry": True}
    scenario.when(ResumeSprint(**command))
    scenario.then(f.SprintResumed("ana", "here it is"), f.PhaseRetried("a", "here it is"))
    assert next_action(scenario.sprint, now=NOW).do == "work"
    scenario.when(ResumeSprint(**command)).then_nothing()


def test_retry_after_the_resume_is_still_heard(running: Any) -> None:
    """After a resume without it, the same command with a retry is accepted."""
    scenario: Scenario = running(simple("a")).do(StartPhase())
    scenario.given(f.PhaseFailed("a", "x"), f.SprintBlocked("x"))
    scenario.do(ResumeSprint(by="ana", why="so"))
    assert next_action(scenario.sprint, now=NOW).do == "stop"
    scenario.when(ResumeSprint(by="ana", why="so", retry=True))
    scenario.then(f.PhaseRetried("a", "so"))


def test_retry_leaves_alone_what_needs_none(running: Any) -> None:
    """A pause has nothing to retry, and a scheduled retry keeps its time."""
    scenario: Scenario = running(simple("a"), f.SprintPaused())
    scenario.when(ResumeSprint(retry=True)).then(f.SprintResumed())
    scenario.do(StartPhase()).given(f.PhaseFailed("a", "429"))
    scenario.given(f.RetryScheduled("a", NOW), f.SprintPaused())
    scenario.when(ResumeSprint(retry=True)).then(f.SprintResumed())
