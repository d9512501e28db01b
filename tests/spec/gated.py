"""Sprints that wait for a gate, and how it is run in a scenario."""

from typing import Any

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.gates import checks as g
from sprintlog.engine.sprint.gates.gate import GateResult

from .conftest import Data, Scenario, for_each

EACH = {**for_each("p", x=("i",)), "gate": {"script": "make"}}
LEAF = {"id": "p", "prompt": "x", "gate": {"script": "make"}}
NEXT = {"id": "q", "prompt": "x"}
BY = {"pid": 7, "process_started": "99", "boot_id": "b"}


def at_its_gate(running: Any, gate: Data | None = None, **keys: Any) -> Scenario:
    """Return a for-each phase whose leaves are completed, and a phase behind it."""
    phase = {**EACH, "gate": {"script": "make", **(gate or {})}, **keys}
    scenario: Scenario = running({"phases": [phase, NEXT]}, f.PhaseStarted("p/x/i"))
    return scenario.given(f.PhaseCompleted("p/x/i"))


def start(scenario: Scenario, run: str = "r", *, alive: bool = False) -> Scenario:
    """Begin to run the gate that the pointer waits for."""
    return scenario.when(g.start_gate, run=run, is_alive=lambda started: alive, **BY)


def check(scenario: Scenario, code: int = 0, **said: Any) -> Scenario:
    """Run the gate and let it end so."""
    start(scenario).go()
    return scenario.when(g.check_gate, phase="p", run="r", result=GateResult(code, **said))


def tracking(scenario: Scenario) -> Data:
    """Return the gate's state as PROGRESS.yaml has it."""
    return dict(scenario.node("p")["gate-tracking"])


def word(scenario: Scenario) -> str:
    """Return the gate's word."""
    return str(tracking(scenario)["status"])


def record(scenario: Scenario, code: int, **said: Any) -> Scenario:
    """Hand in a result from elsewhere."""
    return scenario.when(g.record_gate, result=GateResult(code), **said)
