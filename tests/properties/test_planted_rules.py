"""The laws detect rules that were broken on purpose."""

import pytest

from .planted_rules import IN_LOOPS, PLANTED, find, find_in_loops

LIVES = 2_000


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_defect_is_found(name: str) -> None:
    """A broken rule of `next` or of hints violates a law in some life."""
    assert find(name, seed=5, lives=LIVES) is not None


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", IN_LOOPS)
def test_a_planted_defect_of_loops_is_found(name: str) -> None:
    """A rule of judgements or of snapshots that is broken on purpose breaks its law."""
    assert find_in_loops(name)
