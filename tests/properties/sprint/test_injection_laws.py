"""Laws of injection: any started sprint, any position, any injected work.

`make test-long` uses more examples, with `SPRINTLOG_EXAMPLES=10` ten times as many.
"""

from copy import deepcopy
from typing import Any

import msgspec
from hypothesis import assume, given
from hypothesis import strategies as st

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.events import Injection
from sprintlog.engine.sprint.iterations.rollback import RollBack
from sprintlog.engine.sprint.phases.leaves import SkipPhase
from sprintlog.engine.sprint.plan.injection import addresses
from sprintlog.engine.sprint.plan.insertion_points import END_OF_WORKFLOW
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.tree import Node, Tree
from sprintlog.engine.sprint.state.words import FINISHED

from ..injections import inject, injection
from ..sprint_histories import Data, World, saved, worlds, written
from ..sprint_plans import walk
from .test_sprint_laws import laws

HISTORIES = ("import", "inject", "inject", "back", "undo")
number = st.integers(0, 209)


def injected(world: World, i: int, j: int) -> Injection:
    """Inject work; a refused injection is not an example."""
    assume(world.handle_with(inject, asked=injection(world.sprint, i, j)))
    event = world.events[-1][2]
    assert isinstance(event, Injection)
    return event


def at_pointer(document: Any) -> Data:
    """Return the node that the document's pointer leads to."""
    current = document["current"]
    for key, index in zip(("phases", "steps", "phases"), current.values(), strict=True):
        document = document if index is None else document[key][index]
    return dict(document)


@laws
@given(worlds(*HISTORIES), number, number)
def test_keeps_the_pointer_on_the_same_work(world: World, i: int, j: int) -> None:
    """The pointer stays on the same work, at any index."""
    working = world.sprint.plan.tree.open_leaf()
    before = deepcopy(working.data) if working is not None else None
    event = injected(world, i, j)
    pointed = world.sprint.plan.pointed()
    assume(world.sprint.plan.status != "not-started")
    if working is None:
        leaf = world.sprint.plan.tree.open_leaf()
        assert leaf is None or leaf.address.startswith(tuple(addresses(event)))
    elif before is not None and before.get("steps") == [] != working.data["steps"]:
        # A phase without steps received some.
        assert pointed is not None
        assert pointed.address.startswith(f"{working.address}/")
    elif before is not None and before["status"] not in FINISHED:
        assert pointed is not None
        assert pointed.data is working.data
        assert at_pointer(world.sprint.document) == before
    else:
        # It was only waiting for a gate; its phase may have received more work, which comes
        # first.
        assert pointed is not None
        assert (
            pointed.data is working.data
            or pointed.address.partition("/")[0] == working.address.partition("/")[0]
        )


@laws
@given(worlds(*HISTORIES), number, number)
def test_gives_every_node_an_id_of_its_own(world: World, i: int, j: int) -> None:
    """Every injected address is new and leads to its node; no other id changes."""
    known = {
        id(node.data): node.data["id"] for node in world.sprint.plan.tree.nodes.values()
    }
    found = set(world.sprint.plan.tree.nodes)
    event = injected(world, i, j)
    tree = world.sprint.plan.tree
    new = addresses(event)
    assert len(set(new)) == len(event.nodes)
    assert found.isdisjoint(new)
    assert [tree.nodes[a].data["id"] for a in new] == [n["id"] for n in event.nodes]
    for node in tree.nodes.values():
        assert known.get(id(node.data), node.data["id"]) == node.data["id"]
        assert id(node.data) in known or node.data["injected"] is True


@laws
@given(worlds("inject", "inject", "inject", "back", "undo"))
def test_has_unique_ids_among_siblings(world: World) -> None:
    """Without documents of other tools, no two siblings ever share an id."""
    document = world.sprint.document
    for holder in (document, *(node for node, _ in walk(document))):
        for key in ("phases", "steps"):
            ids = [child["id"] for child in holder.get(key) or ()]
            assert len(ids) == len(set(ids))


@laws
@given(worlds(*HISTORIES), number, number)
def test_adds_and_takes_nothing_away(world: World, i: int, j: int) -> None:
    """Without the injected work, the plan is the same, except for derived parents."""
    derived = ("status", "started-at", "completed-at", "elapsed", "gate-tracking", "error")

    def rest(document: Data, new: list[int]) -> Data:
        """Return a copy without new or derived parts."""
        taken = {
            key: [
                rest(c, new) if isinstance(c, dict) else c
                for c in value
                if id(c) not in new
            ]
            if key in ("phases", "steps") and isinstance(value, list)
            else value
            for key, value in document.items()
        }
        below = "steps" in taken or taken.get("phases")
        return {k: v for k, v in taken.items() if not (below and k in derived)}

    plan = world.sprint.plan
    before = msgspec.json.encode(rest(plan.document, []))
    event = injected(world, i, j)
    new = [id(plan.tree.nodes[address].data) for address in addresses(event)]
    after = rest(plan.document, new)
    if b'"phases"' not in before:
        after.pop("phases", None)
    assert msgspec.json.encode(after) == before


@laws
@given(worlds(*HISTORIES), number, number)
def test_rebuilds_and_undoes_to_the_same_bytes(world: World, i: int, j: int) -> None:
    """A rebuild equals an update, and a rollback restores the bytes from before."""
    before, version = written(world.sprint), world.sprint.version
    injected(world, i, j)
    after = written(world.sprint)
    assert saved(world.rebuilt()) == saved(world.sprint)
    world.handle_with(RollBack(to=version, is_inside_append=False))
    assert written(world.sprint) == before
    world.move(("undo", 0, 0))
    assert written(world.sprint) == after


@laws
@given(worlds(*HISTORIES, "inject"))
def test_indexes_as_if_built_anew(world: World) -> None:
    """The index that grew with the plan equals the one built from its document."""
    grown = world.sprint.plan
    built = Tree(grown.document, held=grown.held)
    assert index_of(grown.tree) == index_of(built)
    assert place_of(grown.tree.open_leaf()) == place_of(built.open_leaf())


def place_of(leaf: Node | None) -> tuple[int, ...] | None:
    """Return the position of the pointer in an index."""
    return leaf.place if leaf is not None else None


def index_of(tree: Tree) -> Any:
    """Return the complete content of an index."""
    return (
        {a: (n.address, n.place, n.leaf, n.tally, n.peers) for a, n in tree.nodes.items()},
        [leaf.address for leaf in tree.leaves],
        [node.address for node in tree.root.walk()],
        sorted((node.address, before) for node, before in tree.empty),
        (tree.inert, tree.phases, tree.steps, tree.is_plain),
        tree.held and tree.held.address,
    )


@laws
@given(worlds(*HISTORIES), number, number)
def test_records_nothing_the_second_time(world: World, i: int, j: int) -> None:
    """Repeating the command changes nothing, wherever `current` is then."""
    command = injection(world.sprint, i, j)
    working = world.sprint.plan.tree.open_leaf()
    assume(world.handle_with(inject, asked=command))
    pointed = world.sprint.plan.pointed()
    seen_from_there = not command.position.ref and command.position.type != END_OF_WORKFLOW
    if not seen_from_there or (pointed and working and pointed.data is working.data):
        assert inject(world.sprint, asked=command) == []


@laws
@given(worlds(*HISTORIES, "inject", "inject"))
def test_never_gives_an_id_twice(world: World) -> None:
    """Ids generated from a prefix are always new, even after rollbacks."""
    given_ids = [
        node["id"]
        for _, _, event in world.events
        if isinstance(event, Injection) and event.id_prefix
        for node in event.nodes
    ]
    assert len(given_ids) == len(set(given_ids))


@laws
@given(worlds("inject", "inject", "back"))
def test_leaves_nothing_behind(world: World) -> None:
    """Following the pointer reaches every leaf, also injected ones before it."""
    if world.sprint.plan.status in ("blocked", "needs-human", "completed"):
        return
    world.move(("wake", 0, 0))
    for _ in range(len(world.sprint.plan.tree.leaves) + 1):
        if world.sprint.plan.tree.open_leaf() is None or not _skipped(world.sprint, world):
            break
        world.move(("wake", 0, 0))
    open_leaf = world.sprint.plan.tree.open_leaf()
    # Only a phase that waits for its gate may remain.
    assert open_leaf is None or open_leaf.data["status"] in FINISHED


def _skipped(sprint: Sprint, world: World) -> bool:
    leaf = sprint.plan.pointed()
    assert leaf is not None
    if leaf.data["status"] in FINISHED:
        return False

    def command(state: Sprint) -> list[Event]:
        return SkipPhase(phase=leaf.address).decide(state, "2026-01-15T09:00:00Z")

    return world.handle_with(command)
