"""The starts of iterations are stored compactly, and read back unchanged."""

from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.sprint.state.knowledge import add_start, newest_first

NUMBERS = st.one_of(st.integers(0, 3), st.integers(-(2**63) + 1, 2**63 - 1))
STEPS = st.one_of(st.integers(1, 300), st.sampled_from([65_535, 65_536, 2**40]))


@given(st.lists(st.tuples(st.booleans(), NUMBERS, STEPS)))
def test_starts_are_read_as_they_were_given(given_: list[tuple[bool, int, int]]) -> None:
    """They are read newest first, with any numbers and any distances."""
    starts, expected = bytearray(), []
    number = version = 0
    for goes_on, other, step in given_:
        number = min(number + 1, 2**63 - 1) if goes_on else other
        version += step
        add_start(starts, number, version)
        expected.append((number, version))
    assert list(newest_first(starts)) == expected[::-1]


def test_a_loop_takes_two_bytes_an_iteration() -> None:
    """Ten thousand of them take 20 kB."""
    starts = bytearray()
    for number in range(1, 10_001):
        add_start(starts, number, 46 * number)
    assert len(starts) < 20_100
