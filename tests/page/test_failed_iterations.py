"""A failed iteration shows the reason in its row and in the timeline, with one state."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.facts import sprint_facts
from sprintlog.projections.facts.course import NOTES_MAX, IterationFailures
from sprintlog.projections.facts.sprint_facts import SprintFacts
from sprintlog.projections.page.iterations import iterations
from sprintlog.projections.page.timeline import laid_out

from .night import SPRINT, night
from .test_odd_logs import workspace_with

PLAN = {
    "sprint-id": "odd",
    "status": "in-progress",
    "phases": [{"id": name, "status": "pending"} for name in ("fetch", "store")],
}


def failed() -> Iterator[Event]:
    """Yield a plan without measurements whose second phase fails."""
    yield f.SprintCompiled(PLAN, f.Place("PROGRESS.yaml"))
    yield f.SprintStarted()
    yield f.IterationStarted(1, phase="fetch")
    yield f.PhaseStarted("fetch")
    yield f.AgentRan("fetch", "completed", 0)
    yield f.PhaseCompleted("fetch")
    yield f.IterationStarted(2, phase="store")
    yield f.PhaseStarted("store")
    yield f.AgentRan("store", "failed", 3, error="exit code 3: table rates exists")
    yield f.PhaseFailed("store", "exit code 3: table rates exists")
    yield f.SprintBlocked("phase store failed")


@pytest.fixture
def facts(tmp_path: Path) -> Iterator[SprintFacts]:
    """Return the text about that plan."""
    with workspace_with(tmp_path, failed()) as workspace:
        yield sprint_facts(workspace, "odd")


def rows(facts: SprintFacts) -> dict[str, str]:
    """Return the text of each row of the iterations, by number."""
    found = re.findall(r'<tr[^>]* data-n="(\d+)">(.*?)</tr>', str(iterations(facts)))
    return {number: re.sub("<[^>]+>", " ", row) for number, row in found}


def test_a_row_says_why_its_run_failed(facts: SprintFacts) -> None:
    """The last output and the exit code, and that it was not measured."""
    found = rows(facts)
    assert [*found] == ["2", "1"]
    assert "not measured; its run completed" in found["1"]
    why = "not measured; its run failed; store failed: exit code 3: table rates exists"
    assert why in found["2"]


def test_what_failed_is_not_open_as_well(facts: SprintFacts) -> None:
    """Its bar shows a failure, although its end was not recorded."""
    bars = {bar.of.version: bar.of for bar in laid_out(facts).bars}
    assert (bars[3].tone, bars[7].tone) == ("plain", "bad")
    assert bars[3].about.startswith("iteration 1, not measured")
    assert bars[7].about.startswith("iteration 2, failed, store failed: exit code 3")


def test_a_gate_that_failed_is_named_with_its_last_line(tmp_path: Path) -> None:
    """The iteration's row names the gate, its exit status and its output."""
    with night(tmp_path) as workspace:
        found = rows(sprint_facts(workspace, SPRINT))
    said = (
        "the gate of payment failed with exit code 2: FAILED tests/test_cards.py: 4 of 74"
    )
    assert [number for number, row in found.items() if said in row] == ["7"]


def test_of_many_failures_the_first_and_the_last_are_kept() -> None:
    """However often it failed, a row stays a row, and ends with the newest."""
    found = IterationFailures()
    for event in (
        f.IterationStarted(1),
        *(f.PhaseFailed("a", f"no {n}") for n in range(9)),
    ):
        found.take(event)
    assert found.of(1) == ("a failed: no 0", "a failed: no 1", "a failed: no 8")
    assert len(found.of(1)) == NOTES_MAX
