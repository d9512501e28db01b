"""The operator queue of documents that other tools wrote, and of plans."""

from typing import Any

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.events import RequestReturned
from sprintlog.engine.sprint.iterations.rollback import RollBack
from sprintlog.engine.sprint.phases import leaves
from sprintlog.engine.sprint.phases.lifecycle import AddNote
from sprintlog.engine.sprint.plan.adoption import AdoptEdit
from sprintlog.engine.sprint.plan.create import ImportDocument
from sprintlog.engine.sprint.plan.recompile import TakePlan, has_begun
from sprintlog.engine.sprint.queue import decisions as d
from sprintlog.engine.sprint.queue.requests import SubmittedRequest
from sprintlog.engine.sprint.state.patch import diff

from ..conftest import Data, Scenario, simple
from ..queued import BUG, deferred, derived, entry, found, queue, status

WHY: Data = {"request": "x", "reasoning": "So"}
skip = derived(leaves.SkipPhase())


def imported(*requests: Any) -> Scenario:
    """Return a sprint imported with a document and its queue."""
    document = {
        "sprint-id": "s",
        "status": "in-progress",
        "phases": [{**phase, "status": "pending"} for phase in simple("a", "b")["phases"]],
        "operator-queue": [*requests],
        "last-activity": "2026-01-15T09:00:00Z",
    }
    return Scenario().do(ImportDocument(document=document, source="x"))


def theirs(**keys: Any) -> Data:
    """Return a request as another tool wrote it."""
    return {"id": "x", "title": "T", "status": "pending", "own": 1, **keys}


def test_document_stays_as_it_came() -> None:
    """An untouched queue is the imported one, unknown keys included."""
    requests = [theirs(), {"title": "no id"}, 7, theirs(title="twice")]
    assert imported(*requests).document["operator-queue"] == requests


def test_imported_requests_are_decided() -> None:
    """An imported request follows our rules; its other fields are preserved."""
    scenario = imported(theirs()).do(d.ApproveRequest(**WHY))
    shown = entry(scenario, "x")
    assert (shown["status"], shown["own"]) == ("approved", 1)
    assert scenario.node("fix-x-0")["prompt"] == "T"
    scenario.when(d.RejectRequest(**WHY)).then_refused(state="approved")


@pytest.mark.parametrize("word", ["approved", "rejected", "deferred", "backlog"])
def test_imported_decisions_stand(word: str) -> None:
    """Another tool's decision is not made again."""
    scenario = imported(theirs(status=word))
    scenario.when(d.BacklogRequest(**WHY)).then_refused(state=word)


def test_our_requests_follow_theirs() -> None:
    """The queue has their requests first and ours after them, in recording order."""
    scenario = queue(imported(theirs()), BUG)
    assert [e["id"] for e in scenario.document["operator-queue"]] == ["x", "r"]
    assert list(scenario.document)[-1] == "last-activity"


def test_imported_deferral_comes_back() -> None:
    """Its phase is unknown: the next top phase that ends returns it, once."""
    scenario = imported(theirs(status="deferred", **{"deferred-until": "end-of-phase"}))
    scenario.when(skip).then(f.PhaseSkipped("a"), RequestReturned("x", "end-of-phase"))
    assert status(scenario, "x") == "pending"
    scenario.when(skip).then(f.PhaseSkipped("b"))


def test_imported_deferral_to_the_end_comes_back() -> None:
    """A request deferred to the end of the sprint returns then."""
    until = {"deferred-until": "end-of-sprint"}
    scenario = imported(theirs(status="deferred", **until))
    scenario.when(skip).then(f.PhaseSkipped("a"))
    scenario.when(skip).then(f.PhaseSkipped("b"), RequestReturned("x", "end-of-sprint"))


def test_import_of_our_own_document_records_nothing(running: Any) -> None:
    """Our output equals our knowledge: requests and decisions are no difference."""
    scenario = queue(running(simple("a")), BUG)
    scenario.do(d.DeferRequest(request="r", reasoning="So", until="end-of-phase"))
    scenario.when(ImportDocument(document=scenario.document, source="x")).then_nothing()


def test_edited_document_stands_for_the_queue(running: Any) -> None:
    """If another tool changed our document, its queue replaces ours."""
    scenario = queue(running(simple("a")), BUG).given(found("q"))
    document = scenario.document
    document["operator-queue"][0]["title"] = "Other"
    document["operator-queue"][0]["status"] = "backlog"
    del document["operator-queue"][1]
    scenario.do(ImportDocument(document=document, source="x"))
    assert scenario.document == document
    shown = queue(scenario, SubmittedRequest("New", "low", "docs")).document[
        "operator-queue"
    ]
    assert [e["id"] for e in shown] == ["r", "req-1"]
    scenario.do(RollBack(to=4, is_inside_append=False))
    ids = [e["id"] for e in scenario.document["operator-queue"]]
    assert ids == ["r", "q", "req-1"]


def test_plan_compiled_again_keeps_requests(given: Any) -> None:
    """Requests are knowledge, so another plan leaves them; a decision is a beginning."""
    scenario: Scenario = queue(given(simple("a")), BUG)
    scenario.when(TakePlan(plan=simple("a"))).then_nothing()
    scenario.do(TakePlan(plan=simple("b")))
    assert status(scenario) == "pending"
    scenario.do(d.BacklogRequest(request="r", reasoning="So"))
    assert has_begun(scenario.sprint)


def test_completed_document_is_left_alone() -> None:
    """A note does not change the document of a finished sprint."""
    scenario = imported(theirs(status="deferred"))
    document = {**scenario.document, "status": "completed"}
    scenario.do(ImportDocument(document=document, source="x"))
    scenario.when(derived(AddNote(text="hello"))).then(f.NoteAdded("hello"))
    assert status(scenario, "x") == "deferred"


def test_document_that_leaves_the_queue_leaves_decisions(running: Any) -> None:
    """A document with other changes does not affect the queue."""
    scenario = deferred(queue(running(simple("a", "b")), BUG), "end-of-phase", "q")
    document = scenario.document
    document["goal"] = "g"
    scenario.do(ImportDocument(document=document, source="x"))
    (_, _, event) = scenario.events[-1]
    assert isinstance(event, f.SprintImported)
    assert "operator-queue" not in str(event.patch)
    assert scenario.document == document
    assert status(scenario, "q") == "deferred"
    assert scenario.sprint.plan.decisions["q"].event.phase == "a"
    assert status(scenario.do(skip), "q") == "pending"


@pytest.mark.parametrize("is_of_the_queue", [False, True])
def test_adopted_edit_keeps_the_queue(running: Any, is_of_the_queue: bool) -> None:
    """An adopted edit keeps all requests, whatever else it changed."""
    scenario = deferred(queue(running(simple("a", "b")), BUG), "end-of-phase", "q")
    scenario.do(d.BacklogRequest(request="r", reasoning="So"))
    base = scenario.document
    theirs = scenario.document
    theirs["phases"][0] |= {"status": "skipped", "own": 1}
    if is_of_the_queue:
        theirs["operator-queue"][0]["title"] = "Other"
    observed = f.EditObserved("P", "ab", "kept", 5, diff(base, theirs))
    scenario.do(derived(AdoptEdit(6, observed, base, "ana")))
    assert [e["id"] for e in scenario.document["operator-queue"]] == ["r", "q"]
    assert (status(scenario), status(scenario, "q")) == ("backlog", "pending")
    assert scenario.node("a")["own"] == 1
    assert entry(scenario)["title"] == ("Other" if is_of_the_queue else "Crash")


@pytest.mark.parametrize("queues", [[], [[]], [[theirs()]]])
def test_document_that_drops_requests_drops_them(queues: Any) -> None:
    """A queue equal to the one before our requests removes ours."""
    document = {"sprint-id": "s", "status": "in-progress", "phases": []}
    document |= {"operator-queue": queues[0]} if queues else {}
    scenario = Scenario().do(ImportDocument(document=document, source="x"))
    before = scenario.document
    scenario.given(found())
    scenario.do(ImportDocument(document=before, source="x"))
    assert scenario.document == before


def test_document_that_ends_a_phase_stands_as_it_came(running: Any) -> None:
    """Requests that are due return with the first regular event, once."""
    scenario = deferred(running(simple("a", "b", "c")), "end-of-phase")
    document = scenario.document
    document["phases"][0]["status"] = "completed"
    scenario.do(derived(ImportDocument(document, "x")))
    assert scenario.document == document
    scenario.when(derived(leaves.SkipPhase("b")))
    scenario.then(f.PhaseSkipped("b"), RequestReturned("r", "end-of-phase"))
    scenario.when(derived(leaves.SkipPhase("c"))).then(f.PhaseSkipped("c"))
