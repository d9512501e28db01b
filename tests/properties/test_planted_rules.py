"""The laws of next and of hints find the defects that once were there."""

import pytest

from .planted_rules import IN_LOOPS, PLANTED, find, find_in_loops

LIVES = 2_000


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_defect_is_found(name: str) -> None:
    """A rule that is put back as it once was breaks a law in some life."""
    assert find(name, seed=5, lives=LIVES) is not None


@pytest.mark.parametrize("name", IN_LOOPS)
def test_a_planted_defect_of_loops_is_found(name: str) -> None:
    """A judgement or a snapshot as it once was breaks the law about it."""
    assert find_in_loops(name)
