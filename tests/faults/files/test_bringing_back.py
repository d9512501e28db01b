"""Restores in place that are cut short, at any of their file operations."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import needs

from ..runner import Runner, fast_folder
from ..shim import Unavailable
from .bringing_back import prepare, sample, sweep

SEED = 20260115


@pytest.fixture
def folder() -> Iterator[Path]:
    """Provide a folder in memory, where the disk's speed does not matter."""
    with fast_folder() as folder:
        yield folder


def test_killed_restore_is_finished_by_the_next_command(
    runner: Runner, folder: Path
) -> None:
    """After a kill at any point, the tree is the old or the new one, without any loss."""
    try:
        ground = prepare(runner, folder)
    except Unavailable as reason:
        pytest.skip(needs.line(str(reason)))
    chosen = sample(ground, size=24, chance=random.Random(SEED))
    assert list(sweep(runner, ground, chosen, folder)) == []


def test_killed_restore_is_given_up_from_anywhere(runner: Runner, folder: Path) -> None:
    """After a kill at any point and giving up, files and state are the earlier ones."""
    try:
        ground = prepare(runner, folder)
    except Unavailable as reason:
        pytest.skip(needs.line(str(reason)))
    chosen = sample(ground, size=16, chance=random.Random(SEED))
    assert list(sweep(runner, ground, chosen, folder, gives_up=True)) == []
