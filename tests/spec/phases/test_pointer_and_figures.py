"""The pointer and the figures: all derived, nothing stored."""

from typing import Any

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.phases import leaves, lifecycle

from ..conftest import Data, Scenario, for_each, simple

MIXED: Data = {
    "phases": [
        {"id": "a", "prompt": "x"},
        for_each("p", x=("i", "j"), y=("i",)),
        {"id": "z", "prompt": "x"},
    ]
}


def finish(scenario: Scenario, *addresses: str) -> Scenario:
    """Execute leaves successfully."""
    for address in addresses:
        scenario.given(f.PhaseStarted(address), f.PhaseCompleted(address))
    return scenario


@pytest.mark.parametrize(
    ("done", "pointer"),
    [
        ("", (0, None, None)),
        ("a", (1, 0, 0)),
        ("a p/x/i", (1, 0, 1)),
        ("a p/x/i p/x/j", (1, 1, 0)),
        ("a p/x/i p/x/j p/y/i", (2, None, None)),
        ("a p/x/j p/y/i z", (1, 0, 0)),
        ("z", (0, None, None)),
    ],
)
def test_points_at_the_first_open_leaf(
    running: Any, done: str, pointer: tuple[int | None, ...]
) -> None:
    """The pointer is the first leaf that is not finished, 0-based."""
    assert finish(running(MIXED), *done.split()).pointer == pointer


def test_rests_on_the_last_leaf(running: Any) -> None:
    """When everything is finished the pointer is on the last leaf."""
    scenario = finish(running(MIXED), "a", "p/x/i", "p/x/j", "p/y/i", "z")
    assert scenario.pointer == (2, None, None)
    assert scenario.do(lifecycle.CompleteSprint()).pointer == (2, None, None)


def test_skips_over_skipped_leaves(running: Any) -> None:
    """Skipped leaves are finished for the pointer."""
    scenario: Scenario = running(MIXED, f.PhaseSkipped("a"), f.PhaseSkipped("p/x/i"))
    assert scenario.pointer == (1, 0, 1)


@pytest.mark.parametrize("event", [f.PhaseFailed("a", "x"), f.PhaseBlocked("a", "x")])
def test_stays_on_failed_and_blocked_leaves(running: Any, event: Any) -> None:
    """Failed or blocked work is not finished."""
    assert running(MIXED, f.PhaseStarted("a"), event).pointer == (0, None, None)


def test_goes_back_to_a_reopened_leaf(running: Any) -> None:
    """A leaf reopened before the pointer draws it back."""
    scenario = finish(running(MIXED), "a", "p/x/i")
    assert scenario.document["current"]["sub-phase"] == 1
    assert scenario.do(leaves.ReopenPhase(phase="a")).pointer == (0, None, None)
    assert finish(scenario, "a").pointer == (1, 0, 1)


def test_counts_phases_and_steps(running: Any) -> None:
    """Figures count top phases and steps that are completed."""
    scenario = finish(running(MIXED), "a", "p/x/i", "p/x/j")
    stats = scenario.document["stats"]
    assert (stats["total-phases"], stats["completed-phases"]) == (3, 1)
    assert (stats["total-steps"], stats["completed-steps"]) == (2, 1)


def test_counts_skipped_as_not_completed(running: Any) -> None:
    """completed-phases and -steps count `completed` only."""
    scenario: Scenario = running(MIXED, *map(f.PhaseSkipped, ("a", "p/y/i")))
    stats = scenario.document["stats"]
    assert (stats["completed-phases"], stats["completed-steps"]) == (0, 0)


def test_counts_steps_only_in_for_each_phases(running: Any) -> None:
    """Step counters are written only if a for-each phase exists."""
    stats = running(simple("a")).document["stats"]
    assert "total-steps" not in stats
    assert "completed-steps" not in stats


def test_has_no_elapsed_before_the_start(given: Any) -> None:
    """An unstarted sprint has no duration and no activity."""
    document = given(simple("a")).document
    assert "elapsed" not in document["stats"]
    assert "last-activity" not in document


def test_measures_until_the_last_event(running: Any) -> None:
    """The duration of a running sprint ends at its last event."""
    scenario: Scenario = running(simple("a"), "2026-01-15T09:05:00.900Z")
    scenario.given(f.PhaseStarted("a"))
    assert scenario.document["stats"]["elapsed"] == "00:05:00"
    assert scenario.document["last-activity"] == "2026-01-15T09:05:00.900Z"
    scenario.given("2026-01-16T13:00:01Z", f.ActivitySeen())
    assert scenario.document["stats"]["elapsed"] == "28:00:01"
    assert scenario.document["last-activity"] == "2026-01-16T13:00:01Z"


def test_measures_a_finished_sprint_to_its_end(running: Any) -> None:
    """The duration ends at completed-at and includes pauses."""
    scenario = running(simple("a"), f.SprintPaused(), "2026-01-15T11:00:00Z")
    finish(scenario.given(f.SprintResumed()), "a").do(lifecycle.CompleteSprint())
    scenario.given("2026-01-15T12:00:00Z", f.ActivitySeen())
    assert scenario.document["stats"]["elapsed"] == "02:00:00"


def test_lasts_never_less_than_nothing(running: Any) -> None:
    """A clock that went back does not lead to a negative duration."""
    scenario: Scenario = running(simple("a"), "2026-01-14T00:00:00Z", f.PhaseStarted("a"))
    assert scenario.document["stats"]["elapsed"] == "00:00:00"


def test_takes_no_activity_from_notes(running: Any) -> None:
    """Knowledge is not activity of the sprint: the plan reads execution events only."""
    scenario: Scenario = running(simple("a"), "2026-01-15T10:00:00Z", f.NoteAdded("x"))
    assert scenario.document["last-activity"] == "2026-01-15T09:00:00Z"


def test_stands_at_zero_without_phases(running: Any) -> None:
    """Without phases the pointer is 0, null, null and totals are 0."""
    scenario: Scenario = running({"mode": "ralph", "goal": "Win"})
    assert scenario.pointer == (0, None, None)
    assert scenario.document["stats"]["total-phases"] == 0
    assert "phases" not in scenario.document
