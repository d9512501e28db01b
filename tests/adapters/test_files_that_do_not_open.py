"""A file of the snapshots' store that the disk does not open is damaged, and no defect."""

import builtins
import os
from errno import EACCES, EIO
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.adapters.snapshots import objects

from .trees import fill, store_in, taken


def failing(monkeypatch: pytest.MonkeyPatch, name: str, number: int) -> None:
    """Make opening files with this suffix fail."""

    def opening(path: Any, *arguments: Any, **settings: Any) -> Any:
        if str(path).endswith(name):
            raise OSError(number, os.strerror(number), str(path))
        return plain(path, *arguments, **settings)

    plain = open
    monkeypatch.setattr(builtins, "open", opening)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Provide the folder of a store with one snapshot."""
    root, store = tmp_path / "tree", store_in(tmp_path)
    root.mkdir()
    fill(root)
    taken(store, root)
    assert list(objects.unsound(store.git.folder)) == []
    return store.git.folder


def test_what_the_disk_does_not_open_is_damaged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is reported as unreadable on the disk."""
    failing(monkeypatch, "/HEAD", EIO)
    assert [found.path.name for found in objects.unsound(folder)] == ["HEAD"]


def test_what_may_be_over_in_a_moment_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failures that may be temporary are raised, and no file is set aside."""
    failing(monkeypatch, "/HEAD", EACCES)
    with pytest.raises(PermissionError):
        list(objects.unsound(folder))
