"""Writers killed at any moment lose, duplicate and block nothing."""

from pathlib import Path

import pytest

from .. import planted
from .killing import Counts, Killer

SLOW_MACHINE_SECONDS = 10.0


def kill(root: Path, kills: int, *, seed: int) -> Counts:
    """Kill a few writers, on a machine that may be slow."""
    killer = Killer(
        root, slots=6, sprints=2, seed=seed, command_seconds_max=SLOW_MACHINE_SECONDS
    )
    return killer.run(kills=kills, kills_a_round=20, seconds=60)


def test_acknowledged_events_survive_kills(tmp_path: Path) -> None:
    """Acknowledged events exist once, and the next command needs no help."""
    counts = kill(tmp_path / "log", 24, seed=1)
    assert counts.problems == []
    assert counts.kills >= 24
    assert counts.events > 0


@pytest.mark.long
def test_answer_before_the_commit_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kill tester finds a log that acknowledges first and commits then."""
    planted.commit_late(monkeypatch)
    problems = kill(tmp_path / "log", 400, seed=2).problems
    assert [problem for problem in problems if "is lost" in problem]


@pytest.mark.long
def test_keys_that_are_forgotten_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kill tester finds a log that records a repeated command again."""
    planted.forget_keys(monkeypatch)
    problems = kill(tmp_path / "log", 40, seed=3).problems
    assert [problem for problem in problems if "occurs twice" in problem]
