"""A long loop uses no more resources than one that started a while ago."""

from pathlib import Path

import pytest

from . import long_loop
from .long_loop import Sample

ITERATIONS = 12


@pytest.mark.long
def test_each_iteration_is_paid_and_measured_once(tmp_path: Path) -> None:
    """The short form: the loop works, ends at its limit, and the sums are exact."""
    tree = long_loop.prepare(tmp_path, ITERATIONS)
    found = long_loop.live(tree, ITERATIONS)
    assert found.code == 20, found.said
    assert {one.iteration for one in found.samples} <= {*range(1, ITERATIONS + 1)}
    assert all(one.kib > 0 and one.files > 0 for one in found.samples)
    spent = long_loop.spent(tree)
    assert (spent["runs"], spent["cost_usd"]) == (ITERATIONS, 0.012)


def test_sees_what_grows() -> None:
    """The memory of the second tenth is compared with the maximum of the last one."""
    samples = [Sample(n, 20_000 + n, 12 + n // 50, 1) for n in range(1, 101)]
    early, late = long_loop.growth(samples, 100)
    assert (early.kib, late.kib) == (20_019, 20_100)
    assert (early.files, late.files) == (12, 14)
