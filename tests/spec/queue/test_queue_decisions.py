"""Decisions on requests: approve, reject, defer, backlog (SPR-157 to SPR-159)."""

from typing import Any

import pytest

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.events import RequestDecided, RequestInjection
from sprintlog.engine.sprint.iterations.rollback import RollBack, Undo
from sprintlog.engine.sprint.phases.lifecycle import CompleteSprint
from sprintlog.engine.sprint.queue import decisions as d

from ..conftest import Data, Make, Scenario, for_each, simple
from ..queued import AT, deferred, entry, found, status

WHY: Data = {"request": "r", "reasoning": "So"}
NODE: Data = {"id": "fix-r-0", "status": "pending", "prompt": "Crash\n\nIt crashes"}
DECISIONS: list[tuple[Make, Data, str]] = [
    (d.ApproveRequest, {}, "approved"),
    (d.RejectRequest, {}, "rejected"),
    (d.DeferRequest, {"until": "next-sprint"}, "deferred"),
    (d.BacklogRequest, {}, "backlog"),
]


def test_approval_injects_in_the_same_append(running: Any) -> None:
    """The phase is built from title and description, after the current work."""
    scenario: Scenario = running(simple("a", "b"), found())
    after = f.InjectionPosition("after-current")
    asked = RequestInjection("after-current", prompt=NODE["prompt"], id_prefix="fix-r")
    scenario.when(d.ApproveRequest(**WHY)).then(
        RequestDecided("r", "approve", "So", injection=asked),
        f.PhaseInjected([NODE], after, into="", after="a", id_prefix="fix-r"),
    )
    assert [p["id"] for p in scenario.document["phases"]] == ["a", "fix-r-0", "b"]


def test_approval_is_shown_with_its_injection(running: Any) -> None:
    """The document has position, prompt, idPrefix and model, with the same times."""
    scenario: Scenario = running(simple("a", "b"), found(context={"x": 1}), AT)
    position = f.InjectionPosition("before", "b")
    scenario.do(
        d.ApproveRequest(**WHY, position=position, prompt="Repair", model="opus",
        id_prefix="x"),
    )  # fmt: skip
    shown = entry(scenario)
    assert list(shown)[-4:] == ["discovered-in", "decided-at", "decision", "context"]
    assert shown["decision"]["injection"] == {
        "position": {"type": "before", "ref": "b"},
        "prompt": "Repair",
        "idPrefix": "x",
        "model": "opus",
    }
    assert scenario.node("x-0")["injected-at"] == shown["decided-at"] == AT


def test_rejection_says_why_twice(running: Any) -> None:
    """The camel-case field repeats the outer one; the reasoning is its default."""
    scenario: Scenario = running(simple("a"), found(), found("q"))
    scenario.do(d.RejectRequest(**WHY, reason="It is right"))
    assert entry(scenario)["rejection-reason"] == "It is right"
    assert entry(scenario)["decision"]["rejectionReason"] == "It is right"
    scenario.do(d.RejectRequest(request="q", reasoning="Known"))
    assert entry(scenario, "q")["rejection-reason"] == "Known"


def test_deferral_says_until_when_twice(running: Any) -> None:
    """The camel-case field repeats the outer one."""
    scenario = deferred(running(simple("a")), "end-of-sprint")
    assert entry(scenario)["deferred-until"] == "end-of-sprint"
    assert entry(scenario)["decision"]["deferredUntil"] == "end-of-sprint"


def test_deferral_keeps_its_phase(running: Any) -> None:
    """The end of the phase is that of the top phase at the pointer."""
    scenario: Scenario = running({"phases": [for_each("p", x=("i", "j"))]}, found())
    scenario.when(d.DeferRequest(**WHY, until="end-of-phase")).then(
        RequestDecided("r", "defer", "So", deferred_until="end-of-phase", phase="p")
    )


@pytest.mark.parametrize(("command", "more", "word"), DECISIONS)
def test_leads_to_its_status(running: Any, command: Make, more: Data, word: str) -> None:
    """approve, reject, defer and backlog lead to the status of the same name."""
    scenario: Scenario = running(simple("a"), found()).at(AT)
    shown = entry(scenario.do(command(**WHY, **more)))
    assert (shown["status"], shown["decided-at"]) == (word, AT)
    assert shown["decision"]["reasoning"] == "So"


@pytest.mark.parametrize(("command", "more", "word"), DECISIONS)
def test_same_decision_again_records_nothing(
    running: Any, command: Make, more: Data, word: str
) -> None:
    """The same decision again is accepted in any status of the sprint."""
    scenario: Scenario = running(simple("a", "b"), found()).do(command(**WHY, **more))
    scenario.given(f.PhaseStarted("a"), f.PhaseCompleted("a"))
    scenario.when(command(**WHY, **more)).then_nothing()


@pytest.mark.parametrize(("command", "more", "word"), DECISIONS)
def test_other_decisions_are_refused(
    running: Any, command: Make, more: Data, word: str
) -> None:
    """A decided request is not decided again: state and command are named."""
    scenario: Scenario = running(simple("a"), found()).do(command(**WHY, **more))
    for other, said, _ in DECISIONS:
        if other is not command:
            refused = other(**WHY, **said)
            asked = refused.name().removesuffix("-request")
            scenario.when(refused)
            scenario.then_refused(state=word, command=asked, allowed=[], request="r")
    scenario.when(command(request="r", reasoning="Otherwise", **more))
    scenario.then_refused(state=word)


@pytest.mark.parametrize(("command", "more", "word"), DECISIONS)
def test_needs_reasoning_and_a_request(
    running: Any, command: Make, more: Data, word: str
) -> None:
    """Every decision requires its reasoning and an existing request."""
    scenario: Scenario = running(simple("a"), found())
    scenario.when(command(request="r", reasoning=" ", **more))
    scenario.then_refused(field="reasoning")
    scenario.when(command(request="q", reasoning="So", **more))
    assert isinstance(scenario.refused, NotFoundError)


def test_rollback_takes_back_approval_and_injection(running: Any) -> None:
    """After the rollback the request is pending again; undo restores both."""
    scenario: Scenario = running(simple("a", "b"), found()).do(d.ApproveRequest(**WHY))
    before = scenario.bytes()
    scenario.do(RollBack(to=3, is_inside_append=False))
    assert status(scenario) == "pending"
    assert "decision" not in entry(scenario)
    assert scenario.sprint.plan.tree.find("fix-r-0") is None
    scenario.do(Undo())
    assert scenario.bytes() == before


def test_approval_after_a_rollback_has_a_new_id(running: Any) -> None:
    """Numbers are never used twice, so the second approval is a new phase."""
    scenario: Scenario = running(simple("a"), found()).do(d.ApproveRequest(**WHY))
    scenario.do(RollBack(to=3, is_inside_append=False)).do(d.ApproveRequest(**WHY))
    assert scenario.node("fix-r-1")["injected"] is True


def test_every_approval_has_phases_of_its_own(running: Any) -> None:
    """Two equal requests are two phases, even with the same prefix."""
    scenario: Scenario = running(simple("a"), found(), found("q"))
    for request in ("r", "q"):
        scenario.do(d.ApproveRequest(request=request, reasoning="So", id_prefix="fix"))
    assert [p["id"] for p in scenario.document["phases"]] == ["a", "fix-0", "fix-1"]


def test_takes_the_phases_of_a_workflow(running: Any) -> None:
    """A workflow's phases replace a prompt; the document names it."""
    scenario: Scenario = running(simple("a"), found())
    nodes = simple("x", "y")["phases"]
    scenario.do(d.ApproveRequest(**WHY, workflow="bugfix", nodes=nodes))
    assert [p["id"] for p in scenario.document["phases"]][1:] == ["fix-r-0", "fix-r-1"]
    injection = entry(scenario)["decision"]["injection"]
    assert injection == {
        "position": {"type": "after-current"},
        "workflow": "bugfix",
        "idPrefix": "fix-r",
    }


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ({"position": f.InjectionPosition("after", "nope")}, "there is no phase nope"),
        ({"position": f.InjectionPosition("there")}, "'there' is unknown"),
        ({"model": "gpt"}, "must be one of"),
        ({"prompt": " "}, "is empty"),
        ({"id_prefix": "x\n"}, "id_prefix"),
    ],
)
def test_refuses_what_cannot_be_injected(running: Any, command: Data, problem: str) -> None:
    """A request that cannot be injected is not approved either."""
    scenario: Scenario = running(simple("a"), found())
    scenario.when(d.ApproveRequest(**WHY, **command)).then_refused(containing=problem)


def test_completed_sprint_takes_nothing_in(running: Any) -> None:
    """A completed sprint approves nothing, and defers only to the next sprint."""
    scenario: Scenario = running(simple("a"), f.PhaseSkipped("a"))
    scenario.do(CompleteSprint()).given(found())
    scenario.when(d.ApproveRequest(**WHY)).then_refused(state="completed")
    for until in ("end-of-phase", "end-of-sprint"):
        scenario.when(d.DeferRequest(**WHY, until=until))
        scenario.then_refused(allowed=["next-sprint"], command="defer")
    scenario.do(d.DeferRequest(**WHY, until="next-sprint"))
    assert status(scenario) == "deferred"


def test_nothing_ends_that_has_ended(running: Any) -> None:
    """If nothing is left to do, a request cannot be deferred to a past end."""
    scenario: Scenario = running(simple("a"), found(), f.PhaseSkipped("a"))
    for until in ("end-of-phase", "end-of-sprint"):
        scenario.when(d.DeferRequest(**WHY, until=until))
        scenario.then_refused(containing="no phase remains")
    scenario.when(d.DeferRequest(**WHY, until="tomorrow"))
    scenario.then_refused(containing="'tomorrow' is unknown")
