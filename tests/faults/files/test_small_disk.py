"""A full or read-only disk: nothing is lost, and reading continues."""

from pathlib import Path

import pytest

from tests import needs

from ..shim import Unavailable
from .small_disk import live_through


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["filling", "full", "readonly"])
def test_disk_that_cannot_be_written_loses_nothing(kind: str, tmp_path: Path) -> None:
    """Appends are refused in one line, reading works, and the log recovers."""
    try:
        problems = live_through(kind, tmp_path, seed=1)
    except Unavailable as reason:
        pytest.skip(needs.line(str(reason)))
    assert problems == []
