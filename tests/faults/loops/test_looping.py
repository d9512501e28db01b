"""A loop that is killed at any moment ends like an undisturbed one."""

import random
from pathlib import Path

import pytest

from . import looping

KILLS = 8


@pytest.mark.long
def test_a_killed_loop_ends_the_same(tmp_path: Path) -> None:
    """Killed and started again, `run` writes the same PROGRESS.yaml, times aside."""
    lives = []
    for name, kills in (("calm", 0), ("killed", KILLS)):
        folder = tmp_path / name
        folder.mkdir()
        looping.prepare(folder)
        lives.append(looping.bring_to_end(folder, random.Random(7), kills=kills))
    calm, killed = lives
    assert killed.document == calm.document
    assert killed.kills > 0
    phases = calm.document["phases"]
    assert [phase["status"] for phase in phases] == ["completed"] * (looping.PHASES + 2)
    assert phases[3]["retry-count"] == 1
    assert [p["id"] for p in phases if p.get("injected")] == ["extra-p8", "extra-p10"]
    assert {p["gate-tracking"]["attempts"] for p in phases if "gate" in p} == {2}


def test_sees_a_difference() -> None:
    """Statuses, counts and texts are compared, times are not."""
    document = {"status": "x", "phases": [{"retry-count": 1, "started-at": "t"}]}
    assert looping.without_times(document) == {
        "status": "x",
        "phases": [{"retry-count": 1}],
    }
