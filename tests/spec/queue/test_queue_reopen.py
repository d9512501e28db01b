"""A reversed decision: the request is open again, and nothing else changes."""

from typing import Any

import pytest

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.sprint.events import RequestReopened, SprintImported
from sprintlog.engine.sprint.iterations.rollback import RollBack, Undo
from sprintlog.engine.sprint.queue import decisions as d

from ..conftest import Data, Make, Scenario, simple
from ..queued import entry, found, status
from .test_queue_decisions import DECISIONS, WHY

AGAIN: Data = {"request": "r", "reason": "People wait for it"}


@pytest.mark.parametrize(("command", "said", "word"), DECISIONS)
def test_every_decision_can_be_taken_back(
    running: Any, command: Make, said: Data, word: str
) -> None:
    """A reopened request is pending and shows no decision."""
    scenario: Scenario = running(simple("a", "b"), found())
    before = entry(scenario)
    scenario.do(command(**WHY, **said))
    assert status(scenario) == word
    scenario.when(d.ReopenRequest(**AGAIN)).then(RequestReopened("r", AGAIN["reason"]))
    assert entry(scenario) == before


def test_nothing_else_moves(running: Any) -> None:
    """Work that an approval injected remains, with all later progress."""
    scenario: Scenario = running(simple("a", "b"), found())
    scenario.do(d.ApproveRequest(**WHY))
    phases = scenario.document["phases"]
    scenario.do(d.ReopenRequest(**AGAIN))
    assert scenario.document["phases"] == phases
    scenario.do(d.RejectRequest(**WHY))
    assert status(scenario) == "rejected"
    assert scenario.document["phases"] == phases


def test_approved_again_comes_in_again(running: Any) -> None:
    """Ids used by an earlier approval are not used again."""
    scenario: Scenario = running(simple("a", "b"), found())
    scenario.do(d.ApproveRequest(**WHY)).do(d.ReopenRequest(**AGAIN))
    scenario.do(d.ApproveRequest(**WHY))
    ids = [phase["id"] for phase in scenario.document["phases"]]
    assert ids == ["a", "fix-r-0", "fix-r-1", "b"]


def test_the_same_command_again_changes_nothing(running: Any) -> None:
    """A repetition is accepted; an undecided request is refused."""
    scenario: Scenario = running(simple("a"), found(), found("q"))
    scenario.do(d.BacklogRequest(**WHY)).do(d.ReopenRequest(**AGAIN))
    scenario.when(d.ReopenRequest(**AGAIN)).then_nothing()
    scenario.when(d.ReopenRequest(request="q", reason="x")).then_refused(
        containing="no decision"
    )
    scenario.when(d.ReopenRequest(request="r", reason=" ")).then_refused(
        containing="reason"
    )
    with pytest.raises(NotFoundError):
        d.ReopenRequest(request="nope", reason="x").decide(
            scenario.sprint, "2026-01-15T09:00:00Z"
        )


def test_what_a_document_decided_can_be_taken_back(running: Any) -> None:
    """A decision in an imported document is reversed like a regular one."""
    scenario: Scenario = running(simple("a"), found())
    scenario.do(d.RejectRequest(**WHY))
    document = {**scenario.document, "sprint-id": scenario.sprint.id}
    scenario.given(SprintImported("x", document=document))
    assert status(scenario) == "rejected"
    scenario.do(d.ReopenRequest(**AGAIN))
    assert status(scenario) == "pending"
    assert "decision" not in entry(scenario)


def test_a_rollback_takes_it_back_like_a_decision(running: Any) -> None:
    """After a rollback the decision applies again; undo reopens the request."""
    scenario: Scenario = running(simple("a"), found())
    scenario.do(d.BacklogRequest(**WHY))
    decided = scenario.sprint.version
    scenario.do(d.ReopenRequest(**AGAIN))
    scenario.do(RollBack(to=decided, is_inside_append=False))
    assert status(scenario) == "backlog"
    scenario.do(Undo())
    assert status(scenario) == "pending"
