"""Laws of the operator queue, with work, rollbacks and undos."""

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.events import (
    Injection,
    RequestDecided,
    RequestQueued,
    RequestReopened,
    RequestReturned,
)
from sprintlog.engine.sprint.phases import leaves as phases
from sprintlog.engine.sprint.phases import lifecycle
from sprintlog.engine.sprint.phases.gate import GateResult
from sprintlog.engine.sprint.phases.gate_checks import RecordGate
from sprintlog.engine.sprint.plan.injection import addresses
from sprintlog.engine.sprint.state.effective_history import is_effective
from sprintlog.engine.sprint.state.words import REQUEST_STATUSES

from ..sprint_histories import Data, World, worlds
from ..sprint_plans import plans
from .test_sprint_laws import laws, naive_leaves

MOVES = ("queue",) * 8 + ("back", "undo")
STEADY = ("queue",) * 4 + ("work",) * 6 + ("back", "undo", "complete")


@st.composite
def steady(draw: st.DrawFn) -> World:
    """Return a sprint that works step by step while the queue is used."""
    world = World(draw(plans()))
    kind, number = st.sampled_from(STEADY), st.integers(0, 59)
    for _ in range(draw(st.sampled_from([10, 20, 40]))):
        move = draw(kind), draw(number), draw(number)
        if move[0] == "work":
            work(world)
        elif move[0] == "complete":
            world.handle_with(lifecycle.CompleteSprint())
        else:
            world.move(move)
    return world


def work(world: World) -> None:
    """Do the work at the pointer, and let its gate pass."""
    world.move(("wake", 0, 0))
    for command in (phases.StartPhase, phases.CompletePhase):
        leaf = world.sprint.plan.pointed()
        if leaf is not None and leaf.status in ("pending", "in-progress"):
            world.handle_with(command(phase=leaf.address))
    world.handle_with(RecordGate(result=GateResult(0)))
    if (leaf := world.sprint.plan.pointed()) is not None and leaf.status == "in-progress":
        world.handle_with(phases.CompletePhase(phase=leaf.address))


@laws
@given(worlds(*MOVES, "inject"))
def test_every_request_stands_there_once(world: World) -> None:
    """Each request has one documented status, in recording order, and is never lost."""
    for version in world.ends[1:]:
        events = [event for _, _, event in world.events[:version]]
        queued = [event.request for event in events if isinstance(event, RequestQueued)]
        queue = world.rebuilt(version).queue
        assert [entry["id"] for entry in queue] == queued
        assert len(set(queued)) == len(queued)
        assert all(entry["status"] in REQUEST_STATUSES for entry in queue)
        assert all(("decision" in e) == (e["status"] != "pending") for e in queue)


@laws
@given(worlds(*MOVES, "import", "import"))
def test_every_request_has_one_status_in_any_document(world: World) -> None:
    """Even with imported documents that change the queue, an id is one request."""
    ids = [entry["id"] for entry in world.sprint.queue]
    assert len(set(ids)) == len(ids)
    assert all(entry["status"] in REQUEST_STATUSES for entry in world.sprint.queue)


@laws
@given(st.one_of(worlds(*MOVES, "inject"), steady()))
def test_every_approval_has_its_phases(world: World) -> None:
    """The work of an approval is in the plan exactly as long as the approval is effective.

    If only the decision is discarded, the work remains.
    """
    for version in world.ends[1:]:
        sprint, live = world.rebuilt(version), world.live(version)
        approved = set()
        for at, _, event in world.events[:version]:
            if isinstance(event, RequestReopened) and is_effective(live, at):
                approved.discard(event.request)
            if not isinstance(event, RequestDecided) or event.decision != "approve":
                continue
            came = world.events[at][2]
            assert isinstance(came, Injection)
            counts = is_effective(live, at)
            there = [sprint.plan.tree.find(a) is not None for a in addresses(came)]
            assert there == [counts] * len(there)
            approved |= {event.request} if counts else set()
        shown = {e["id"] for e in sprint.queue if e["status"] == "approved"}
        assert shown == approved


@laws
@given(st.one_of(worlds(*MOVES), steady(), steady(), steady()))
def test_every_deferral_comes_back_once(world: World) -> None:
    """A deferred request returns in the append that reaches its end, once; else it waits.

    A request that a person has reopened in the meantime does not return.
    """
    version = len(world.events)
    live = world.live(version)
    path = [(at, event) for at, _, event in world.events if is_effective(live, at)]
    ends = [end for end in world.ends[1:] if is_effective(live, end)]
    documents = {end: world.rebuilt(end).document for end in ends}
    for place, (at, event) in enumerate(path):
        after = [(v, x) for v, x in path[place + 1 :] if about(x) == about(event)]
        if isinstance(event, RequestReturned):
            before = [x for v, x in path[:place] if about(x) == event.request]
            assert isinstance(before[-1], RequestDecided)
            assert before[-1].deferred_until == event.until
        if not isinstance(event, RequestDecided) or event.deferred_until is None:
            continue
        if after and isinstance(after[0][1], RequestReopened):
            continue
        later = [end for end in ends if end >= at]
        steps = pairwise(later)
        reached = [e for b, e in steps if is_reached(event, documents[b], documents[e])]
        if not reached or event.deferred_until == "next-sprint":
            assert after == []
            continue
        returned, what = after[0]
        assert isinstance(what, RequestReturned)
        assert returned <= reached[0]
        assert not [end for end in ends if returned <= end < reached[0]]


def about(event: Event) -> str | None:
    """Return the request that a decision or a return is about."""
    kinds = RequestDecided | RequestReturned | RequestReopened
    return event.request if isinstance(event, kinds) else None


def is_reached(event: RequestDecided, before: Data, document: Data) -> bool:
    """Decide with a naive reader whether the boundary of a deferral is reached."""
    words = [passed for _, passed in naive_leaves(document)]
    is_over = words and all(words) and document.get("mode") != "ralph"
    if document["status"] == "completed" or is_over:
        return True
    if event.deferred_until == "end-of-sprint":
        return False
    # If no phase was open, the next phase to end is meant, even if it ended before.
    news = over(document) - over(before)
    return event.phase in over(document) if event.phase is not None else bool(news)


def over(document: Data) -> set[str]:
    """Return the ids of the phases whose leaves may all be passed."""
    leaves = naive_leaves(document)
    ids: list[Any] = [phase["id"] for phase in document["phases"]]
    open_ones = {ids[where[0]] for where, passed in leaves if not passed}
    return {ids[where[0]] for where, _ in leaves} - open_ones
