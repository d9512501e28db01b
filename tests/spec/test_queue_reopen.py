"""A decision that is taken back: the request is open again, and nothing else moves."""

from typing import Any

import pytest

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.sprint.events import RequestReopened, SprintImported
from sprintlog.engine.sprint.iterations.rollback import roll_back, undo_rollback
from sprintlog.engine.sprint.queue import decisions as d

from .conftest import Command, Data, Scenario, simple
from .queued import entry, found, status
from .test_queue_decisions import DECISIONS, WHY

AGAIN: Data = {"request": "r", "reason": "People wait for it"}


@pytest.mark.parametrize(("command", "said", "word"), DECISIONS)
def test_every_decision_can_be_taken_back(
    running: Any, command: Command, said: Data, word: str
) -> None:
    """A reopened request is pending and shows nothing of what was decided."""
    scenario: Scenario = running(simple("a", "b"), found())
    before = entry(scenario)
    scenario.do(command, **WHY, **said)
    assert status(scenario) == word
    scenario.when(d.reopen_request, **AGAIN).then(RequestReopened("r", AGAIN["reason"]))
    assert entry(scenario) == before


def test_nothing_else_moves(running: Any) -> None:
    """What an approval put into the plan stays there, with all that was done since."""
    scenario: Scenario = running(simple("a", "b"), found())
    scenario.do(d.approve_request, **WHY)
    phases = scenario.document["phases"]
    scenario.do(d.reopen_request, **AGAIN)
    assert scenario.document["phases"] == phases
    scenario.do(d.reject_request, **WHY)
    assert status(scenario) == "rejected"
    assert scenario.document["phases"] == phases


def test_approved_again_comes_in_again(running: Any) -> None:
    """Ids that an earlier approval gave are not given again."""
    scenario: Scenario = running(simple("a", "b"), found())
    scenario.do(d.approve_request, **WHY).do(d.reopen_request, **AGAIN)
    scenario.do(d.approve_request, **WHY)
    ids = [phase["id"] for phase in scenario.document["phases"]]
    assert ids == ["a", "fix-r-0", "fix-r-1", "b"]


def test_the_same_wish_again_changes_nothing(running: Any) -> None:
    """Who repeats it is not refused; a request that nobody decided on is."""
    scenario: Scenario = running(simple("a"), found(), found("q"))
    scenario.do(d.backlog_request, **WHY).do(d.reopen_request, **AGAIN)
    scenario.when(d.reopen_request, **AGAIN).then_nothing()
    scenario.when(d.reopen_request, request="q", reason="x").then_refused(
        containing="no decision"
    )
    scenario.when(d.reopen_request, request="r", reason=" ").then_refused(
        containing="reason"
    )
    with pytest.raises(NotFoundError):
        d.reopen_request(scenario.sprint, request="nope", reason="x")


def test_what_a_document_decided_can_be_taken_back(running: Any) -> None:
    """A decision that came in with a document is taken back like one of ours."""
    scenario: Scenario = running(simple("a"), found())
    scenario.do(d.reject_request, **WHY)
    document = {**scenario.document, "sprint-id": scenario.sprint.id}
    scenario.given(SprintImported("x", document=document))
    assert status(scenario) == "rejected"
    scenario.do(d.reopen_request, **AGAIN)
    assert status(scenario) == "pending"
    assert "decision" not in entry(scenario)


def test_a_rollback_takes_it_back_like_a_decision(running: Any) -> None:
    """Behind a rollback the decision counts again; undo opens the request anew."""
    scenario: Scenario = running(simple("a"), found())
    scenario.do(d.backlog_request, **WHY)
    decided = scenario.sprint.version
    scenario.do(d.reopen_request, **AGAIN)
    scenario.do(roll_back, to=decided, is_inside_append=False)
    assert status(scenario) == "backlog"
    scenario.do(undo_rollback)
    assert status(scenario) == "pending"
