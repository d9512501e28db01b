"""The versions of saved states: close together near the head, sparse before."""

from sprintlog.engine.service.streams.catalogue import EVERY
from sprintlog.engine.service.streams.checkpoints import NEWEST, SLOTS_MAX, slots_of


def grown(head: int, *, state_bytes: int = 0) -> list[int]:
    """Return the saved versions of a stream that grew without a rollback."""
    kept: list[int] = []
    for version in range(EVERY, head + 1, EVERY):
        kept.append(version)
        slots = slots_of(version, state_bytes=state_bytes)
        gone = slots.surplus(kept, discarded_by={})
        kept = [one for one in kept if one not in gone]
    return kept


def test_a_large_stream_keeps_few_states() -> None:
    """There are a number of slots of history, and two per doubling of the distance."""
    for head in (1_000, 30_000, 200_000):
        assert len(grown(head)) <= SLOTS_MAX + 2 * head.bit_length() + NEWEST


def test_what_lies_between_states_grows_with_the_distance() -> None:
    """No version of a stream is further from the one before than two slots are wide."""
    head = 50_000
    kept = grown(head)
    for version in range(EVERY, head, 97):
        before = max(one for one in kept if one <= version)
        assert version - before <= 2 * slots_of(head).width(version)
    assert kept[-3:] == [head - head % EVERY - n * EVERY for n in (2, 1, 0)]


def test_large_states_stand_further_apart() -> None:
    """Except for the ten newest, they take at most 128 bytes per event."""
    for size in (100_000, 3_000_000):
        for head in (1_000, 100_000):
            kept = grown(head, state_bytes=size)
            assert (len(kept) - 10) * size <= 128 * head
            assert len(kept) >= NEWEST


def test_a_state_in_force_for_longer_stays() -> None:
    """Of two in a slot, the one effective for longer stays; the newest always stay."""
    gone_since = {1_000: 1_100, 1_040: 1_200}
    found = slots_of(100_000).surplus(
        [*gone_since, 1_010, 1_020, *range(99_991, 99_991 + NEWEST)],
        discarded_by=gone_since,
    )
    assert sorted(found) == [1_000, 1_020, 1_040]


def test_the_next_slot_is_the_one_after() -> None:
    """From the beginning to the head, narrower and narrower."""
    slots, version, widths = slots_of(10_000), 0, []
    while (after := slots.after(version)) < slots.head:
        widths.append(after - version)
        version = after
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == EVERY
