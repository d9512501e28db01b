"""The decisions of `append` for the events of the operator queue."""

from typing import Any

import pytest

from sprintlog.engine.command import decided
from sprintlog.engine.errors import RefusedError
from sprintlog.engine.sprint.commands import command_for, to_event
from sprintlog.engine.sprint.events import InjectionPosition, RequestDecided, RequestQueued
from sprintlog.engine.sprint.queue import decisions, requests

from ..conftest import Data, Make, Scenario, simple
from ..log.test_commands_of_events import AT, asked

FOUND = RequestQueued("r", "Find", "x", "high", "bug", AT, "a")
WHY: Data = {"request": "r", "reasoning": "so"}
ASKED = {"position": "after", "ref": "a", "prompt": "y", "model": "opus"}
CASES: list[tuple[str, Data, Make, Data]] = [
    (
        "request-queued",
        {"title": "x", "priority": "low", "request_type": "docs", "context": {}},
        requests.QueueRequests,
        {"requests": [requests.SubmittedRequest("x", "low", "docs", context={})]},
    ),
    (
        "request-decided",
        {**WHY, "decision": "approve", "rule": "z"},
        decisions.ApproveRequest,
        {**WHY, "rule": "z"},
    ),
    (
        "request-decided",
        {**WHY, "decision": "approve", "injection": ASKED},
        decisions.ApproveRequest,
        {**WHY, **ASKED, "position": InjectionPosition("after", "a")},
    ),
    (
        "request-decided",
        {**WHY, "decision": "reject", "rejection_reason": "no"},
        decisions.RejectRequest,
        {**WHY, "reason": "no"},
    ),
    (
        "request-decided",
        {**WHY, "decision": "defer", "deferred_until": "end-of-sprint"},
        decisions.DeferRequest,
        {**WHY, "until": "end-of-sprint"},
    ),
    ("request-decided", {**WHY, "decision": "backlog"}, decisions.BacklogRequest, WHY),
]


def test_takes_a_decision_back_as_the_command_does(given: Any) -> None:
    """A reopening by its event type results in the decision of `queue reopen`."""
    again = {"request": "r", "reason": "so"}
    rejected = RequestDecided("r", "reject", "no")
    scenario: Scenario = given(simple("a"), FOUND, rejected)
    expected = scenario.when(decisions.ReopenRequest(**again)).decided
    assert expected
    asked(scenario, "request-reopened", again).then(*expected)


@pytest.mark.parametrize(("tag", "data", "command", "arguments"), CASES)
def test_decides_what_the_command_decides(
    given: Any, tag: str, data: Data, command: Make, arguments: Data
) -> None:
    """A request or decision given by its type results in the events of its command."""
    said = {name: value for name, value in arguments.items() if name != "ref"}
    scenario: Scenario = given(simple("a"), FOUND)
    expected = scenario.when(command(**said)).decided
    assert expected
    asked(scenario, tag, data).then(*expected)


def test_takes_no_resolved_phase() -> None:
    """The phase at whose end a request returns depends on when it is deferred."""
    data = {"request": "r", "decision": "defer", "reasoning": "so", "phase": "a"}
    with pytest.raises(RefusedError, match="omit it"):
        to_event("request-decided", data)


def test_takes_no_workflow_without_its_phases(given: Any) -> None:
    """The command reads the workflow; an event alone has none of its phases."""
    data = {**WHY, "decision": "approve", "injection": {**ASKED, "workflow": "w"}}
    scenario: Scenario = given(simple("a"), FOUND)
    asked(scenario, "request-decided", data).then_refused(field="workflow")


def test_observed_requests_obey_the_rules(given: Any) -> None:
    """An observed request also needs its id and its text."""

    def command(sprint: Any, at: str) -> Any:
        data = {"title": "x", "priority": "urgent", "request_type": "bug"}
        event = to_event("request-queued", data)
        return decided(command_for(event, is_observed=True), sprint, AT)

    given(simple("a")).when(command).then_refused(containing="'urgent' is unknown")
