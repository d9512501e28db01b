"""Whether a writer of an open file exists, according to the system."""

import os
import sys
from pathlib import Path

import pytest

from sprintlog.engine.log.stores.descriptors import held_open, is_being_written
from tests import needs


@needs.linux
@pytest.mark.parametrize("has_inner_module", [True, False])
def test_a_writer_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_inner_module: bool
) -> None:
    """A writer is also detected if Python has no inner module for the signal number."""
    if not has_inner_module:
        monkeypatch.setitem(sys.modules, "_signal", None)
    path = tmp_path / "file"
    path.write_bytes(b"x")
    with held_open(path, os.O_RDONLY) as held:
        assert not is_being_written(held)
        with path.open("ab"):
            assert is_being_written(held)
        assert not is_being_written(held)
