"""A night with kills ends like an undisturbed one."""

import random
from pathlib import Path

import pytest

from . import nights

KILLS_MIN = 12


@pytest.mark.sampled(0, 1)  # `make accept` plays both, and many more nights
@pytest.mark.parametrize("kind", nights.NIGHTS)
def test_killed_at_every_step_it_ends_the_same(tmp_path: Path, kind: str) -> None:
    """Documents, tracker, files and sums are equal; no run of the agent is paid twice."""
    rng = random.Random(7)
    calm = nights.bring_to_end(nights.prepare(tmp_path / "calm", kind), rng, kills=0)
    places = ("run-started", "run-ended", *{*calm.outcome["types"]} - nights.BEFORE)
    tree = nights.prepare(tmp_path / "killed", kind)
    night = nights.bring_to_end(tree, rng, kills=KILLS_MIN, places=places)
    assert len(night.kills) >= KILLS_MIN
    assert nights.unlike(calm, night) == []
    assert calm.outcome["back"] == [3, 4]
    assert calm.outcome["queue"]
    assert calm.outcome["types"]["retry-scheduled"] == 1
    assert calm.outcome["selected"] is not None


def test_sees_a_run_that_is_paid_twice() -> None:
    """A call that no kill explains, and any other difference, are reported."""
    calm = nights.Night({"spent": 1}, [], 3, 3, "")
    assert nights.unlike(calm, calm) == []
    assert nights.unlike(calm, calm._replace(calls=4))
    assert nights.unlike(calm, calm._replace(outcome={"spent": 2}))
    cut = [nights.Killed("while: work", 1)]
    assert nights.unlike(calm, calm._replace(calls=4, kills=cut)) == []
    assert nights.unlike(calm, calm._replace(calls=5, kills=[nights.Killed("x", 2)]))
