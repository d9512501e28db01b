"""Saved states do not change results, and bound the number of folded events."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.service.streams.catalogue import EVERY
from sprintlog.engine.service.streams.checkpoints import slots_of
from sprintlog.engine.service.streams.repository import Repository
from sprintlog.engine.sprint.events import ActivitySeen
from sprintlog.engine.sprint.state.effective_history import (
    discarded_by,
    effective_ranges,
    is_effective,
    is_in_force,
)
from sprintlog.engine.sprint.state.sprint import Sprint, pack
from tests.kept_states import saved_states

from ..branching import STREAM, Branching
from ..sprint.test_sprint_laws import laws
from ..sprint_histories import World, worlds
from .test_blame_laws import reader_of

KINDS = ("import", "inject", "iterate", "queue", "back", "back", "back", "undo", "undo")
number = st.integers(0, 10**6)


def bound(version: int, head: int) -> int:
    """Return the maximum number of events folded to read a version from saved states.

    Both the plan and the knowledge have a state at most two slots before. If rollbacks were
    undone, the state of a slot may be on another branch, which adds one slot for each.
    """
    return 6 * (slots_of(head).width(version) + EVERY)


@laws
@given(worlds(*KINDS), st.sets(number, max_size=6), number)
def test_every_version_is_what_it_is_from_nothing(
    world: World, kept: set[int], k: int
) -> None:
    """Any version of any branch equals its fold, whatever states are saved."""
    version = k % (len(world.events) + 1)
    found = reader_of(world, kept).at_version("s", version)
    assert pack(found) == pack(world.rebuilt(version))


@laws
@given(worlds(*KINDS), st.sets(number, max_size=6), number)
def test_a_rollback_is_caught_up_with(world: World, kept: set[int], k: int) -> None:
    """A state in memory is updated to the head over any rollbacks."""
    reader = reader_of(world, kept)
    known = world.rebuilt(k % (len(world.events) + 1))
    assert pack(reader.catch_up(known)) == pack(world.rebuilt())


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 45)), max_size=9))
def test_what_is_in_force_is_what_lies_on_the_path(steps: list[tuple[int, int]]) -> None:
    """For every version, after any rollbacks, undone or not."""
    rollbacks: list[tuple[int, int]] = []
    at = 0
    for step, to in steps:
        at += step
        rollbacks.append((at, to))
    head = at + 3
    taken = discarded_by(range(1, head + 1), rollbacks)
    for version in range(1, head + 1):
        assert is_in_force(version, rollbacks, until=head) == is_effective(
            effective_ranges(rollbacks, head), version
        )
        by = None
        for before, _ in rollbacks:
            if before > version:
                is_live = is_effective(effective_ranges(rollbacks, before), version)
                by = None if is_live else by or before
        assert taken.get(version) == by


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(3))
def test_reading_any_version_folds_in_proportion_to_its_distance(seed: int) -> None:
    """Reads of every branch are near, even in a new process, after many rollbacks."""
    chance = random.Random(seed)
    stream = Branching()
    stream.live(2000, chance, far=(0.0, 0.05, 0.5)[seed])
    head = stream.head
    for version in [*range(1, head, 37), *range(head - 100, head, 3)]:
        folded = _folded(stream, stream.reader(), version)
        assert folded <= bound(version, head), (version, head)
    assert len(stream.log.checkpoints.versions(STREAM, format_=_format(stream))) < 100


@pytest.mark.sampled(2)
@pytest.mark.parametrize("to", [1, 700, 2000, 2900, 3600])
def test_a_rollback_folds_no_more_than_reading_its_target(to: int) -> None:
    """Both in the process that goes back and in the next one, though nothing was saved."""
    stream = Branching()
    stream.work(4000, random.Random(1))
    head = stream.head
    before = stream.log.folded
    stream.go_back(to, saving=False)
    mine = stream.repository.current("s")
    assert stream.log.folded - before <= bound(to, head)
    before = stream.log.folded
    next_one = stream.reader().current("s")
    assert stream.log.folded - before <= bound(to, head)
    assert pack(mine) == pack(next_one) == pack(stream.repository.from_nothing("s"))


def test_a_rollback_saves_its_state_at_once() -> None:
    """The next command after it folds nothing that was there before."""
    stream = Branching()
    stream.work(1000, random.Random(2))
    stream.go_back(300)
    before = stream.log.folded
    stream.reader().current("s")
    assert stream.log.folded == before


def test_only_what_is_in_force_counts_as_near() -> None:
    """A state discarded by a rollback does not prevent saving one."""
    stream = Branching()
    stream.work(1000, random.Random(3))
    newest = max(stream.log.checkpoints.versions(STREAM, format_=_format(stream)))
    stream.go_back(newest - 2)
    stream.work(EVERY, random.Random(4))
    before = stream.log.folded
    stream.reader().current("s")
    assert stream.log.folded - before < EVERY


def test_a_rebuild_saves_states_on_the_way() -> None:
    """Afterwards old versions are near a saved state, although none existed before."""
    stream = Branching()
    stream.live(3000, random.Random(5), far=0.1)
    stream.log.checkpoints.forget(STREAM)
    before = stream.log.folded
    rebuilt = stream.repository.rebuild("s")
    assert stream.log.folded - before == stream.head
    assert pack(rebuilt) == pack(stream.repository.from_nothing("s"))
    for first, last in stream.path(stream.head):
        for version in range(first, last + 1, 41):
            folded = _folded(stream, stream.reader(), version)
            assert folded <= bound(version, stream.head)


def test_a_long_read_leaves_states_for_the_next_one() -> None:
    """A long fold happens once; a reader that trusts no saved state leaves none."""
    stream = Branching()
    for _ in range(2):
        stream.add(*[ActivitySeen()] * 10_000)
    stream.reader().from_nothing("s")
    assert not stream.log.checkpoints.versions(STREAM, format_=_format(stream))
    assert _folded(stream, stream.reader(), 10_000) == 10_000
    assert _folded(stream, stream.reader(), 10_001) <= 4096


def _format(stream: Branching) -> int:
    return stream.repository.kind.format


def _folded(stream: Branching, reader: Repository[Sprint], version: int) -> int:
    """Return the number of events folded to read a version, which must be right."""
    before = stream.log.folded
    found = reader.at_version("s", version)
    folded = stream.log.folded - before
    nothing = stream.repository.at_version("s", version, among=())
    assert pack(found) == pack(nothing)
    return folded


def test_a_state_of_another_history_is_not_believed() -> None:
    """After a log was restored, the state of a version may belong to another history."""
    mine, other = Branching(), Branching()
    mine.work(200, random.Random(1))
    other.work(200, random.Random(2))
    for key, (format_, state) in saved_states(mine.log).items():
        other.log.checkpoints.save(*key, state, format_=format_)
    found = other.reader().current("s")
    assert pack(found) == pack(other.repository.from_nothing("s"))
    # They do not prevent the next save, which removes them.
    reader = other.reader()
    reader.save(reader.current("s"))
    saved = reader.checkpoints
    kept = saved.versions(STREAM)
    assert kept
    assert all(saved.load(STREAM, version) is not None for version in kept[:1])
