"""Requests in the operator queue: fields, ids, places (SPR-150 to SPR-155)."""

from typing import Any

import pytest

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.events import RequestOrigin, RequestQueued
from sprintlog.engine.sprint.iterations.rollback import RollBack
from sprintlog.engine.sprint.queue.requests import (
    QueueRequests,
    SubmittedRequest,
    TakeOverRequest,
    find_request,
)
from sprintlog.engine.sprint.state.sprint import Sprint

from ..conftest import Scenario, for_each, simple
from ..queued import AT, BUG, entry, found, queue


def ids(scenario: Scenario) -> list[str]:
    """Return the ids of the queue in its order."""
    return [request["id"] for request in scenario.document["operator-queue"]]


def test_stands_in_the_document(running: Any) -> None:
    """A request has every field of the specification, and is pending."""
    scenario: Scenario = running(simple("a"), AT)
    context = {"relatedFiles": ["x.ts"], "codeSnippet": "a.b()", "more": {"n": [1, None]}}
    asked = SubmittedRequest(
        "Crash", "high", "bug", description="It crashes", context=context
    )
    assert entry(queue(scenario, asked), "req-1") == {
        "id": "req-1",
        "title": "Crash",
        "description": "It crashes",
        "priority": "high",
        "type": "bug",
        "status": "pending",
        "created-at": AT,
        "discovered-in": "a",
        "context": context,
    }


def test_is_one_append(running: Any) -> None:
    """Several requests are added together, in the given order."""
    scenario: Scenario = running(simple("a"))
    many = [SubmittedRequest("x", "low", "docs"), BUG, SubmittedRequest("y", "low", "test")]
    assert ids(queue(scenario, *many)) == ["req-1", "r", "req-2"]


def test_stands_where_the_pointer_is(running: Any) -> None:
    """By default it is the pointer's path, with ids joined as in the document."""
    plan = {"phases": [for_each("p", x=("i", "a/b"))]}
    scenario: Scenario = running(plan, f.PhaseSkipped("p/x/i"))
    assert entry(queue(scenario, BUG))["discovered-in"] == "p > x > a/b"


def test_stands_in_the_sprint_without_phases(given: Any) -> None:
    """Without a phase the place is the sprint."""
    scenario: Scenario = given({"mode": "ralph", "goal": "g"})
    assert entry(queue(scenario, BUG))["discovered-in"] == "s"


def test_comes_before_the_last_activity(running: Any) -> None:
    """The document has its keys in the order of the interface."""
    scenario = queue(running(simple("a")), BUG)
    assert list(scenario.document)[-2:] == ["operator-queue", "last-activity"]


def test_keeps_recording_order(running: Any) -> None:
    """Requests are in the order of recording, not of creation."""
    scenario = queue(running(simple("a")).at("2026-01-20T10:30:00Z"), BUG)
    queue(scenario.at("2026-01-20T10:25:00Z"), SubmittedRequest("x", "low", "docs"))
    assert ids(scenario) == ["r", "req-1"]


def test_takes_the_time_that_is_given(running: Any) -> None:
    """A request may have been created earlier; its time is stored in our format."""
    early = SubmittedRequest("x", "low", "docs", created_at="2026-01-20T11:00:00+01:00")
    scenario = queue(running(simple("a")), early)
    assert entry(scenario, "req-1")["created-at"] == "2026-01-20T10:00:00Z"


def test_is_not_lost_by_a_rollback(running: Any) -> None:
    """A request is knowledge: it survives every rollback."""
    scenario = queue(running(simple("a"), f.PhaseStarted("a")), BUG)
    scenario.do(RollBack(to=2, is_inside_append=False))
    assert ids(scenario) == ["r"]


def test_never_allots_an_id_twice(running: Any) -> None:
    """Numbers continue after the highest one ever, including given ones."""
    scenario = queue(
        running(simple("a")), SubmittedRequest("x", "low", "docs", request="req-7")
    )
    scenario.given(f.RolledBack(2))
    assert ids(queue(scenario, SubmittedRequest("y", "low", "docs"))) == ["req-7", "req-8"]


def test_never_allots_the_id_of_a_document(given: Any) -> None:
    """Ids in imported documents are in use, even after a rollback."""
    document = {"sprint-id": "s", "status": "in-progress", "phases": []}
    taken = {"id": "req-3", "title": "t", "status": "pending"}
    scenario: Scenario = given(
        f.SprintImported("x", document=document),
        f.SprintImported("x", patch=[
            {"op": "add", "path": "/operator-queue", "value": [taken]}
        ]),
        f.SprintImported("x", patch=[
            {"op": "replace", "path": "/operator-queue/0/id", "value": "req-5"}
        ]),
        f.RolledBack(1),
    )  # fmt: skip
    assert ids(queue(scenario, SubmittedRequest("y", "low", "docs"))) == ["req-6"]


def test_accepts_the_same_request_again(running: Any) -> None:
    """The same id with the same content records nothing."""
    scenario = queue(running(simple("a", "b")), BUG).given(f.PhaseSkipped("a"))
    scenario.when(QueueRequests(requests=[BUG]), at=AT).then_nothing()
    two = [BUG, SubmittedRequest("x", "low", "docs", request="q")]
    decided = scenario.when(QueueRequests(requests=two), at=AT).decided or []
    assert [x.request for x in decided if isinstance(x, RequestQueued)] == ["q"]


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        (SubmittedRequest("Other", "high", "bug", request="r"), "requests[0].id"),
        (SubmittedRequest("", "high", "bug"), "requests[0].title"),
        (SubmittedRequest("x", "high", "bug", description=" "), "requests[0].description"),
        (SubmittedRequest("x", "high", "bug", request="\n"), "requests[0].id"),
        (SubmittedRequest("x", "high", "bug", request="x" * 129), "requests[0].id"),
        (SubmittedRequest("x", "high", "bug", created_at="now"), "requests[0].created-at"),
        (SubmittedRequest("x", "urgent", "bug"), None),
        (SubmittedRequest("x", "high", "idea"), None),
    ],
)
def test_refuses_what_is_no_request(
    running: Any, asked: SubmittedRequest, field: str | None
) -> None:
    """The error names the invalid field, and nothing is recorded."""
    scenario = queue(running(simple("a")), BUG)
    scenario.when(QueueRequests(requests=[asked]), at=AT).then_refused(
        field=field, containing="requests[0]."
    )


def test_refuses_all_or_nothing(running: Any) -> None:
    """One invalid request prevents the others, and duplicate ids are invalid."""
    scenario: Scenario = running(simple("a"))
    twice = [BUG, SubmittedRequest("Other", "high", "bug", request="r")]
    scenario.when(QueueRequests(requests=twice), at=AT).then_refused(field="requests[1].id")
    assert "operator-queue" not in scenario.document


def test_needs_a_sprint() -> None:
    """Without a plan there is no queue, and no request can be found."""
    for scenario in (Scenario(), Scenario().given(simple("a"))):
        scenario.when(find_request_of("r"))
        assert isinstance(scenario.refused, NotFoundError)


def find_request_of(identity: str) -> Any:
    """Return a command that finds a request."""

    def command(sprint: Sprint, at: str) -> Any:
        find_request(sprint, identity)

    return command


def test_goes_on_with_a_request_of_another_sprint(running: Any) -> None:
    """It keeps its data and, if free, its id, and names its origin."""
    origin = RequestOrigin("before", "r")
    known = {"id": "r", "title": "Crash", "priority": "high", "type": "bug"}
    known |= {"created-at": AT, "discovered-in": "x > y", "description": "It crashes"}
    scenario: Scenario = running(simple("a"))
    for identity in ("r", "req-1"):
        event = found(identity, discovered_in="x > y", origin=origin)
        scenario.when(TakeOverRequest(entry=known, origin=origin), at=AT).then(event)
    assert entry(scenario)["taken-over-from"] == {"sprint": "before", "request": "r"}
