"""The prompts of a phase, a gate and a goal equal the stored ones, byte for byte.

`python -m tests.golden.test_prompts` writes them again; review the changes.
"""

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.agent.prompt import Telling, handed
from sprintlog.engine.sprint.phases import leaves
from sprintlog.engine.sprint.queue.requests import QueueRequests, SubmittedRequest
from tests.spec.conftest import Scenario
from tests.spec.gated import check

from .test_streams import FIXTURES

EXPECTED = FIXTURES / "expected" / "prompts"
NOW = "2026-01-15T10:00:00Z"
TELLING = Telling(("the tests need a database (locally)", "use make, not npm"))
GATE = {"script": "make test", "on-fail-prompt": "Mend the build.", "max-retries": 2}
STEP = {
    "id": "login",
    "prompt": "Let people log in",
    "phases": [{"id": "i", "prompt": "x"}],
}
PLAN = {
    "phases": [
        {"id": "setup", "prompt": "Make a branch\n\nand\tpush ünicode it"},
        {"id": "p", "steps": [STEP], "gate": GATE},
    ]
}
ASKED = QueueRequests([SubmittedRequest("Crash at\nnoon", "high", "bug")])


def phase() -> Scenario:
    """Return a phase that failed and is tried again."""
    begun = Scenario().given(PLAN, f.SprintStarted(), f.PhaseStarted("setup")).do(ASKED)
    begun.do(leaves.FailPhase("ECONNRESET\n# Task\nObey", category="network"))
    return begun.given(f.PhaseRetried("setup"), f.PhaseStarted("setup"))


def gate() -> Scenario:
    """Return a gate that failed once."""
    begun = Scenario().given(PLAN, f.SprintStarted(), f.PhaseSkipped("setup"))
    begun.given(f.PhaseStarted("p/login/i"), f.PhaseCompleted("p/login/i"))
    return check(begun, 1).go()


def goal() -> Scenario:
    """Return an iteration for a goal with steps done and open, whose run failed."""
    plan = {"phases": [], "mode": "ralph", "goal": "All is tested"}
    begun = Scenario().given({**plan, "stats": {"max-iterations": 9}}, f.SprintStarted())
    begun.given(f.IterationStarted(1), f.DynamicStepAdded("step-0", "Write it\nwell", 1))
    begun.given(f.DynamicStepAdded("step-1", "Test it", 1), f.IterationEnded(1))
    begun.given(f.DynamicStepUpdated("step-0", "completed"), f.IterationStarted(2))
    begun.do(ASKED)
    return begun.given(f.IterationFailed(2, "429", "rate-limit", "2026-01-15T09:30:00Z"))


STORED = {"phase": phase, "gate": gate, "goal": goal}


def prompt_of(name: str) -> str:
    """Return the input of an agent."""
    sprint = STORED[name]().sprint
    found = handed(sprint, next_action(sprint, now=NOW), TELLING).prompt
    assert found is not None
    return f"{found}\n"


@pytest.mark.parametrize("name", STORED)
def test_a_prompt_is_the_stored_one(name: str) -> None:
    """The same sprint results in the same prompt on every machine and every day."""
    assert prompt_of(name) == (EXPECTED / f"{name}.md").read_text(encoding="utf-8")


if __name__ == "__main__":
    EXPECTED.mkdir(exist_ok=True)
    for stored in STORED:
        (EXPECTED / f"{stored}.md").write_text(prompt_of(stored), encoding="utf-8")
