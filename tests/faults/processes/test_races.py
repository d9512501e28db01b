"""Concurrent appends to one stream get the expected version, or a conflict."""

from pathlib import Path

import pytest

from .. import planted
from .racing import race_to_act, race_to_append


def test_every_expectation_holds_in_a_race(tmp_path: Path) -> None:
    """With every form of expectation and with keys, nothing is duplicated or omitted."""
    counts = race_to_append(tmp_path / "log", writers=6, rounds=6, seconds=60)
    assert counts.problems == []
    assert counts.conflicts > 0
    assert counts.duplicates > 0


def test_racing_commands_happen_once(tmp_path: Path) -> None:
    """A sprint led by many processes completes every phase once, with unique numbers."""
    counts = race_to_act(tmp_path / "log", writers=6, rounds=4, seconds=60)
    assert counts.problems == []
    assert counts.conflicts > 0


def test_expectations_not_checked_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race detects a log that appends at any version."""
    planted.believe_all(monkeypatch)
    problems = race_to_append(tmp_path / "a", writers=4, rounds=4, seconds=60).problems
    assert [problem for problem in problems if "not one winner" in problem]
    problems = race_to_act(tmp_path / "b", writers=4, rounds=2, seconds=60).problems
    assert problems


def test_keys_not_looked_up_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race detects a log that lets different commands use the same key."""
    planted.forget_keys(monkeypatch)
    problems = race_to_append(tmp_path / "log", writers=4, rounds=2, seconds=60).problems
    assert [problem for problem in problems if "not one winner" in problem]
