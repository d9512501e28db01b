"""Automatic rules decide only when requested; the first matching rule applies."""

from typing import Any

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.events import RequestDecided
from sprintlog.engine.sprint.phases.lifecycle import CompleteSprint
from sprintlog.engine.sprint.queue.decisions import ApproveRequest
from sprintlog.engine.sprint.queue.rules import DEFAULT_RULES, Rule, decide_by_rules
from sprintlog.engine.sprint.state.words import PRIORITIES, REQUEST_TYPES

from ..conftest import Scenario, simple
from ..queued import AT, entry, found


def decide(scenario: Scenario, *rules: Rule) -> list[RequestDecided]:
    """Let rules decide on all pending requests; return their decisions."""
    chosen = rules or DEFAULT_RULES

    def command(sprint: Any, at: str) -> Any:
        rulings = decide_by_rules(sprint, rules=chosen, at=at)
        return [event for ruling in rulings for event in ruling.events]

    events = scenario.when(command, at=AT).decided or []
    scenario.go()
    return [event for event in events if isinstance(event, RequestDecided)]


@pytest.mark.parametrize("priority", PRIORITIES)
@pytest.mark.parametrize("kind", REQUEST_TYPES)
def test_decides_by_our_own_rules(running: Any, priority: str, kind: str) -> None:
    """Urgent bugs and security are approved, low docs deferred, all others wait."""
    request = found(priority=priority, request_type=kind)
    scenario: Scenario = running(simple("a"), request)
    (decided,) = decide(scenario)
    expected = "defer"
    if priority in ("critical", "high") and kind in ("bug", "security"):
        expected = "approve"
    if (priority, kind) == ("low", "docs"):
        expected = "backlog"
    assert decided.decision == expected
    assert decided.rule in ("urgent", "low-docs", "rest")
    assert decided.reasoning.startswith(f"rule {decided.rule}: ")
    if expected == "approve":
        assert decided.injection is not None
        assert decided.injection.position == "after-current"
    if expected == "defer":
        assert entry(scenario)["deferred-until"] == "end-of-phase"


def test_decides_otherwise_than_the_example(running: Any) -> None:
    """The example's approval of a medium improvement is a person's, not a rule's."""
    request = found(priority="medium", request_type="improvement")
    (decided,) = decide(running(simple("a"), request))
    assert (decided.decision, decided.rule) == ("defer", "rest")


def test_keeps_the_order_of_what_is_approved(running: Any) -> None:
    """Several approvals in one append follow each other in recording order."""
    scenario: Scenario = running(simple("a", "z"), found("q"), found("r"))
    decide(scenario)
    assert [p["id"] for p in scenario.document["phases"]] == [
        "a",
        "fix-q-0",
        "fix-r-0",
        "z",
    ]


def test_first_rule_that_fits_decides(running: Any) -> None:
    """Rules are tried in order; if none matches, a request stays pending."""
    scenario: Scenario = running(simple("a"), found(), found("q", priority="low"))
    rules = [
        Rule("bugs", "reject", types=("bug",), priorities=("high",), rejection_reason="no"),
        Rule("highs", "approve", priorities=("high",)),
    ]
    (decided,) = decide(scenario, *rules)
    assert (decided.request, decided.rule, decided.rejection_reason) == ("r", "bugs", "no")
    assert entry(scenario, "q")["status"] == "pending"


def test_takes_what_a_rule_says(running: Any) -> None:
    """A rule's reasoning, position, model and end apply to its decisions."""
    end = f.InjectionPosition("end-of-workflow")
    scenario: Scenario = running(simple("a", "b"), found(), found("q", priority="low"))
    decide(
        scenario,
        Rule("x", "approve", ("high",), reasoning="Hot", position=end, model="haiku"),
        Rule("y", "defer", deferred_until="next-sprint"),
    )
    assert entry(scenario)["decision"]["reasoning"] == "Hot"
    assert scenario.document["phases"][-1]["model"] == "haiku"
    assert entry(scenario, "q")["deferred-until"] == "next-sprint"


def test_leaves_what_is_decided(running: Any) -> None:
    """Only pending requests are decided; a second time nothing is recorded."""
    scenario: Scenario = running(simple("a"), found(), found("q"))
    scenario.do(ApproveRequest(request="r", reasoning="So"))
    assert [event.request for event in decide(scenario)] == ["q"]
    assert decide(scenario) == []


def test_leaves_pending_what_is_refused(running: Any) -> None:
    """A refused decision is reported, and does not prevent others."""
    docs = found("q", priority="low", request_type="docs")
    scenario: Scenario = running(simple("a"), f.PhaseSkipped("a"))
    scenario.do(CompleteSprint()).given(found(), docs)
    rulings = decide_by_rules(scenario.sprint, rules=DEFAULT_RULES, at=AT)
    assert [(r.request, r.decision, bool(r.events)) for r in rulings] == [
        ("r", "approve", False),
        ("q", "backlog", True),
    ]
    assert "cannot inject" in str(rulings[0].problem)
