"""A tree, a snapshot store next to it, and a tree that is full of traps."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sprintlog.engine.adapters.snapshots import file_stats
from sprintlog.engine.adapters.snapshots.store import Store
from tests import needs

from .traps import Trap
from .trees import store_in


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Provide the root of a tree, next to which there is space for a store."""
    root = tmp_path / "tree"
    root.mkdir()
    return root


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """Provide the root of a tree on a disk: in memory, no file counts as unchanged."""
    with tempfile.TemporaryDirectory(prefix="sprintlog-", dir="/var/tmp") as name:
        if file_stats.kind_of(Path(name)) in file_stats.IN_MEMORY:
            needs.skip("a folder on a disk", "mount one at /var/tmp")
        yield Path(name)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Provide a store outside the tree."""
    return store_in(tmp_path)


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    """Provide a tree with active traps."""
    trap = Trap(tmp_path)
    trap.set()
    trap.mark.unlink(missing_ok=True)
    return trap
