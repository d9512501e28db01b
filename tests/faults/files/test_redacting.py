"""A redaction is finished or not started, at whatever file operation it is killed."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..runner import Runner, fast_folder
from ..sweep import sample
from .redacting import prepare, sweep

SEED = 20260115


@pytest.fixture
def folder() -> Iterator[Path]:
    """Provide a folder in memory, where the disk's speed does not matter."""
    with fast_folder() as folder:
        yield folder


@pytest.mark.long
@pytest.mark.parametrize(
    ("mode", "size"), [("write_ahead_log", 5), ("rollback_journal", 3)]
)
def test_finished_or_not_begun(mode: str, size: int, runner: Runner, folder: Path) -> None:
    """The next user, a command or the library, finds it complete or not started."""
    template = prepare(runner, folder, mode)
    chosen = sample(template, size=size, chance=random.Random(SEED))
    assert list(sweep(runner, template, chosen, folder)) == []
