"""External results of gates: recorded, or observed."""

from typing import Any

import pytest

from sprintlog.engine.sprint import events as f

from ..conftest import Scenario
from ..gated import NEXT, at_its_gate, check, record, start


def test_takes_a_result_from_elsewhere(running: Any) -> None:
    """An external result counts like a regular one, and is marked."""
    scenario = record(at_its_gate(running), 1)
    scenario.then(f.GateChecked("p", 1, 1, elsewhere=True))
    record(scenario, 0, phase="p").then(f.GateChecked("p", 2, 0, elsewhere=True))
    assert scenario.node("p")["status"] == "completed"


def test_takes_a_result_once(running: Any) -> None:
    """Recording the same result of the same attempt again changes nothing."""
    scenario = record(at_its_gate(running, {"max-retries": 1}), 1, attempt=1).go()
    record(scenario, 1, attempt=1).then_nothing()
    record(scenario, 2, attempt=1).then_refused(field="attempt", allowed=[2])
    record(scenario, 1, attempt=3).then_refused(field="attempt", allowed=[2])
    record(scenario, 1, attempt=2).go()
    assert record(scenario, 1, attempt=2).then_nothing().status == "blocked"


def test_takes_no_other_result_once_passed(running: Any) -> None:
    """A passed gate accepts only the same result again."""
    scenario = record(at_its_gate(running), 0).go()
    record(scenario, 0, phase="p").then_nothing()
    record(scenario, 1, phase="p").then_refused(containing="has passed", state="passed")


def test_takes_no_result_beside_a_run(running: Any) -> None:
    """Whether a run is still alive is not for a result to guess."""
    scenario = start(at_its_gate(running)).go()
    record(scenario, 0).then_refused(pid=7)
    record(scenario, 0, lost="r").then(
        f.GateInterrupted("p", "process 7 is gone and left no result"),
        f.GateChecked("p", 1, 0, elsewhere=True),
    )


@pytest.mark.parametrize(
    "event",
    [
        f.GateStarted("p", -3, "r", 1, "", "", 0),
        f.GateChecked("p", -3, 1),
        f.GateInterrupted("p"),
        f.GateBlocked("q", "x"),
        f.GateBlocked("nowhere", "x"),
    ],
)
def test_takes_whatever_was_observed(running: Any, event: Any) -> None:
    """Gate values from another tool cause no error, and counts are never below 0."""
    scenario: Scenario = at_its_gate(running).given(event)
    assert scenario.node("p").get("gate-tracking", {}).get("attempts", 0) >= 0
    assert scenario.node("q") == NEXT | {"status": "pending"}
    assert check(scenario, 0).go().pointer == (1, None, None)


def test_opens_again_when_observed_so(running: Any) -> None:
    """An observed failure of a passed gate moves the pointer back to its phase."""
    scenario = check(at_its_gate(running)).go()
    pointers = [scenario.pointer]
    scenario.given(f.GateChecked("p", 2, 1))
    assert [*pointers, scenario.pointer] == [(1, None, None), (0, 0, 0)]
    assert scenario.node("p")["status"] == "in-progress"
    assert "completed-at" not in scenario.node("p")
