"""Sprints with a goal, for the tests of Ralph mode."""

from typing import Any

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.agent.runs import EndTurn, StartTurn
from sprintlog.engine.sprint.answers.verdict import Verdict
from sprintlog.engine.sprint.events import AgentRan, SprintStarted
from sprintlog.engine.sprint.iterations.loop import EndIteration, StartIteration
from sprintlog.engine.sprint.state.document_fields import ralph_fields, steps_of

from .conftest import Data, Scenario

LEARNING: Data = {"id": "learning", "workflow": "w", "parallel": True, "enabled": True}
DOCS: Data = {"id": "docs", "prompt": "Write", "parallel": False, "enabled": True}


def goal(*hooks: Data, **more: Any) -> Data:
    """Return a plan with a goal and nothing else to do."""
    return ralph_fields("Win", hooks=list(hooks), **more)


def begun(plan: Data | None = None, *history: Event) -> Scenario:
    """Return a sprint with a goal that was started."""
    return Scenario().given(goal() if plan is None else plan, SprintStarted(), *history)


def iterate(scenario: Scenario, verdict: Verdict) -> Scenario:
    """Start an iteration and end its agent's run with the given result."""
    scenario.do(StartTurn())
    number = scenario.sprint.plan.turns.number
    ran = AgentRan("", verdict.status, iteration=number)
    return scenario.do(EndTurn(ran=ran, verdict=verdict), at=scenario.now)


def idle(scenario: Scenario, times: int) -> Scenario:
    """Add iterations without progress."""
    for _ in range(times):
        scenario.do(StartIteration()).do(EndIteration())
    return scenario


def statuses(scenario: Scenario) -> dict[str, str]:
    """Return the status of every step by its id."""
    return {i: step["status"] for i, step in steps_of(scenario.document).items()}
