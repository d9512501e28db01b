"""The laws of a sprint's states hold if its events come from a server."""

from contextlib import closing
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.stores.postgres.store import PostgresLog
from sprintlog.engine.service.streams.catalogue import SPRINTS, new_event, sprint_stream
from sprintlog.engine.service.streams.checkpoints import SavedStates
from sprintlog.engine.service.streams.repository import Repository
from sprintlog.engine.sprint.state.sprint import pack
from tests.lengths import examples
from tests.properties.sprint_histories import World, worlds

from .conftest import made
from .server import TRIED, Server, server, why_not

KINDS = ("import", "inject", "queue", "back", "back", "undo")
few = settings(
    max_examples=examples(6),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
number = st.integers(0, 10**6)


@pytest.fixture(scope="module", params=TRIED)
def any_server(request: pytest.FixtureRequest) -> Server:
    """Provide a server of every available version."""
    if reason := why_not(request.param):
        pytest.skip(reason)
    return server(request.param)


def record(log: PostgresLog, world: World, ends: list[int]) -> None:
    """Append a world's events, in the same appends."""
    for start, end in pairwise(ends):
        part = world.events[start:end]
        news = [new_event(event, at=at, actor="runtime") for _, at, event in part]
        log.append(sprint_stream("s"), news, expect=start)


@few
@given(world=worlds(*KINDS), kept=st.sets(number, max_size=3), k=number)
def test_every_version_is_what_it_is_from_nothing(
    any_server: Server, world: World, kept: set[int], k: int
) -> None:
    """Whatever states are saved, a version equals its fold; and so does the head."""
    with closing(made(any_server.new_url())) as log:
        record(log, world, world.ends)
        states = SavedStates(log.checkpoints, SPRINTS, log)
        for version in sorted({1 + n % len(world.events) for n in kept}):
            states.save(sprint_stream("s"), world.rebuilt(version), since=0)
        reader = Repository(log, SPRINTS, log.checkpoints)
        version = k % (len(world.events) + 1)
        assert pack(reader.at_version("s", version)) == pack(world.rebuilt(version))
        head = reader.at_version("s", len(world.events))
        assert pack(head) == pack(world.sprint)
        assert list(check_chain(log.read())) == []


@few
@given(world=worlds(*KINDS), k=number)
def test_catching_up_is_rebuilding(any_server: Server, world: World, k: int) -> None:
    """A state that was read before more was appended is updated to the same head."""
    cut = k % len(world.ends)
    with closing(made(any_server.new_url())) as log:
        record(log, world, world.ends[: cut + 1])
        reader = Repository(log, SPRINTS, log.checkpoints)
        known = reader.at_version("s", world.ends[cut])
        record(log, world, world.ends[cut:])
        assert pack(reader.catch_up(known)) == pack(world.rebuilt())
