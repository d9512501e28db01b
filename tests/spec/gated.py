"""Sprints that wait for a gate, and running it in a scenario."""

from typing import Any

from sprintlog.engine.errors import NotFoundError, RefusedError
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.phases import gate_checks as g
from sprintlog.engine.sprint.phases.gate import GateResult, find_gate
from sprintlog.engine.sprint.state.sprint import Sprint

from .conftest import Data, Scenario, for_each

EACH = {**for_each("p", x=("i",)), "gate": {"script": "make"}}
LEAF = {"id": "p", "prompt": "x", "gate": {"script": "make"}}
NEXT = {"id": "q", "prompt": "x"}
BY: Data = {"pid": 7, "process_started": "99", "boot_id": "b"}


def at_its_gate(running: Any, gate: Data | None = None, **keys: Any) -> Scenario:
    """Return a for-each phase with completed leaves, followed by another phase."""
    phase = {**EACH, "gate": {"script": "make", **(gate or {})}, **keys}
    scenario: Scenario = running({"phases": [phase, NEXT]}, f.PhaseStarted("p/x/i"))
    return scenario.given(f.PhaseCompleted("p/x/i"))


def lost(sprint: Sprint, phase: str | None = None) -> str | None:
    """Return a gate's run in progress whose process no longer exists."""
    try:
        started = g.run_of(sprint.plan, find_gate(sprint, phase))
    except (NotFoundError, RefusedError):
        return None
    return started.run if started is not None else None


def start(scenario: Scenario, run: str = "r", *, alive: bool = False) -> Scenario:
    """Start the gate that the pointer waits for."""
    gone = None if alive else lost(scenario.sprint)
    return scenario.when(g.StartGate(run=run, lost=gone, **BY))


def check(scenario: Scenario, code: int = 0, **said: Any) -> Scenario:
    """Run the gate with the given result."""
    start(scenario).go()
    return scenario.when(g.CheckGate(phase="p", run="r", result=GateResult(code, **said)))


def tracking(scenario: Scenario) -> Data:
    """Return the gate's state as PROGRESS.yaml has it."""
    return dict(scenario.node("p")["gate-tracking"])


def word(scenario: Scenario) -> str:
    """Return the gate's status."""
    return str(tracking(scenario)["status"])


def record(scenario: Scenario, code: int, **said: Any) -> Scenario:
    """Record an external result."""
    return scenario.when(g.RecordGate(GateResult(code), **said))
