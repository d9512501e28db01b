"""Inferred events of an imported document lead to exactly its versions."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.log.event import Versioned
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.plan.create import ImportDocument
from sprintlog.engine.sprint.plan.imported_documents import losses, observations
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.tree import Tree

from ..sprint_histories import World, copied, worlds
from .test_exchange_laws import laws

AT = "2026-01-15T09:00:00Z"
PICKS = st.lists(st.integers(0, 10**6), min_size=2, max_size=6)


def versions(world: World, picks: list[int]) -> list[dict[str, Any]]:
    """Return documents of one sprint in any order, because a history may go back."""
    numbers = [1 + pick % len(world.events) for pick in picks]
    return [copied(world.rebuilt(number).document) for number in numbers]


@laws
@given(worlds("inject", "iterate", "queue", "import"), PICKS)
def test_observed_events_replay_to_the_same_versions(
    world: World, picks: list[int]
) -> None:
    """After each import the document is its version, byte for byte, and replayed again."""
    sprint, recorded = Sprint("s"), list[Versioned]()
    for document in versions(world, picks):
        command = ImportDocument(document, "x", with_facts=True)
        events = command.decide(sprint, AT)
        news = [(sprint.version + n, AT, copied(e)) for n, e in enumerate(events, start=1)]
        # A fold modifies an imported document, so a copy is stored.
        recorded += [(v, at, copied(e)) for v, at, e in news]
        fold(sprint, news)
        assert msgspec.json.encode(sprint.document) == msgspec.json.encode(document)
        again = fold(Sprint("s"), [(v, at, copied(e)) for v, at, e in recorded])
        assert msgspec.json.encode(again.document) == msgspec.json.encode(document)


@laws
@given(worlds("inject", "iterate"), PICKS)
def test_what_is_equal_tells_nothing(world: World, picks: list[int]) -> None:
    """Comparing a version with itself reports no event and no loss."""
    for document in versions(world, picks):
        assert observations(document, document, source="x") == []
        assert losses(document, document) == ()


@laws
@given(worlds("inject", "iterate"), PICKS)
def test_losses_were_done_and_are_not(world: World, picks: list[int]) -> None:
    """Lost work was completed or skipped before, and not in the later version."""
    older, newer = versions(world, picks)[:2]
    done = {leaf.address for leaf in Tree(older).leaves if leaf.status in _DONE}
    still = {leaf.address for leaf in Tree(newer).leaves if leaf.status in _DONE}
    assert set(losses(older, newer)) <= done - still


_DONE = ("completed", "skipped")
