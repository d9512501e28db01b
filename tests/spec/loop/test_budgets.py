"""A budget of retries counts from a person's last intervention."""

from typing import Any

import pytest

from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.iterations import goal, loop
from sprintlog.engine.sprint.phases import leaves, lifecycle
from sprintlog.engine.sprint.plan.create import ImportDocument
from sprintlog.engine.sprint.state.sprint import pack, unpack

from ..conftest import Data, Make, Scenario, simple
from ..gated import LEAF, at_its_gate, check, tracking, word
from .test_retry import AT, fail

RESUME: tuple[Make, Data] = (lifecycle.ResumeSprint, {"by": "ana", "why": "repaired"})
NOW = "2026-01-15T10:00:00Z"


def used_up(running: Any) -> Scenario:
    """Return a leaf that failed and was retried as often as the policy allows."""
    scenario: Scenario = running({**simple("a"), "retry": {"maxAttempts": 2}})
    for _ in range(2):
        fail(scenario).go().do(leaves.RetryPhase())
    return fail(scenario).go()


def test_is_used_up(running: Any) -> None:
    """Without a person the retries are not reset."""
    scenario = used_up(running)
    assert scenario.status == "blocked"
    assert scenario.node("a")["retry-count"] == 2


def test_begins_anew_when_a_person_resumes(running: Any) -> None:
    """Resolving a block resets the retries; the document continues to count."""
    command, said = RESUME
    scenario = used_up(running).do(command(**said)).do(leaves.RetryPhase())
    for count in (3, 4, 5):
        assert scenario.node("a")["retry-count"] == count
        scenario.sprint = unpack(pack(scenario.sprint))
        fail(scenario).go()
        if count < 5:
            assert scenario.status == "in-progress"
            scenario.do(leaves.RetryPhase())
    assert scenario.status == "blocked"


def test_goes_on_after_an_interruption(running: Any) -> None:
    """A loop that continues at its stop resolves nothing."""
    scenario: Scenario = running({**simple("a"), "retry": {"maxAttempts": 1}})
    fail(scenario).go().do(leaves.RetryPhase())
    scenario.do(lifecycle.InterruptSprint()).do(lifecycle.ResumeSprint())
    assert fail(scenario).go().status == "blocked"


def test_counts_what_a_document_says(running: Any) -> None:
    """Retries made by another tool count, too."""
    theirs = running({**simple("a"), "retry": {"maxAttempts": 2}}).document
    theirs["phases"][0]["retry-count"] = 2
    scenario = Scenario().do(ImportDocument(document=theirs, source="x"))
    assert fail(scenario).go().status == "blocked"


@pytest.mark.parametrize("plan", [None, LEAF], ids=["steps", "leaf"])
def test_gives_a_gate_its_checks_back(running: Any, plan: Data | None) -> None:
    """A gate that failed without blocking also has all its attempts again."""
    gate = {"script": "make", "max-retries": 1}
    if plan is None:
        scenario = at_its_gate(running, gate)
    else:
        scenario = running({"phases": [{**plan, "gate": gate}]}).do(leaves.StartPhase())
    check(scenario, 1).go().do(lifecycle.BlockSprint(reason="no disk"))
    command, said = RESUME
    scenario.do(command(**said))
    assert (word(scenario), tracking(scenario)["attempts"]) == ("retrying", 1)
    for attempt, expected in ((1, "retrying"), (2, "blocked")):
        assert next_action(scenario.sprint, now=NOW).attempt == attempt
        check(scenario, 1).go()
        assert (word(scenario), tracking(scenario)["attempts"]) == (expected, attempt)


def test_gives_back_what_a_person_retries(running: Any) -> None:
    """A leaf that a person retries has all of its retries, and its gate its attempts."""
    gate = {"script": "make", "max-retries": 1}
    plan = {"phases": [{**LEAF, "gate": gate}], "retry": {"maxAttempts": 1}}
    scenario: Scenario = running(plan).do(leaves.StartPhase())
    check(scenario, 1).go()
    scenario.do(leaves.FailPhase(error="x"), at=AT).do(lifecycle.ResumeSprint(**RESUME[1]))
    scenario.do(leaves.RetryPhase()).do(leaves.StartPhase())
    scenario.do(leaves.FailPhase(error="x", category="network"), at=AT)
    assert scenario.status == "in-progress"
    scenario.do(leaves.RetryPhase()).do(leaves.StartPhase())
    check(scenario, 1).go()
    assert word(scenario) == "retrying"


def test_counts_no_scheduled_retry_as_a_persons(running: Any) -> None:
    """A scheduled retry counts, and does not reset a gate's attempts."""
    gate = {"script": "make", "max-retries": 1}
    scenario: Scenario = running({"phases": [{**LEAF, "gate": gate}]})
    scenario.do(leaves.StartPhase())
    check(scenario, 1).go()
    scenario.do(leaves.FailPhase(error="x", category="network"), at=AT)
    scenario.do(leaves.RetryPhase()).do(leaves.StartPhase())
    check(scenario, 1).go()
    assert word(scenario) == "blocked"


def test_gives_an_iteration_its_retries_back(running: Any) -> None:
    """An iteration towards a goal that failed for good is tried as often again."""
    plan = {"mode": "ralph", "goal": "x", "phases": [], "retry": {"maxAttempts": 1}}
    scenario: Scenario = running(plan).do(loop.StartIteration())
    for resumed in (False, True):
        if resumed:
            scenario.do(lifecycle.ResumeSprint(**RESUME[1]))
        for status in ("in-progress", "blocked"):
            scenario.do(goal.FailIteration(error="x", category="network"), at=AT)
            assert scenario.status == status
