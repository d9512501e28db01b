"""Helpers for tests of restores, including an interrupted one."""

from pathlib import Path

import pytest

from sprintlog.engine.service.work_tree import restore

from ..adapters.trees import picture
from .conftest import Run

STATE = "PROGRESS.yaml"


def files(root: Path) -> dict[str, bytes]:
    """Return a tree's files except for those of the log and the repository."""
    return {
        name: content
        for name, (kind, _, content) in picture(root, without=(".git",)).items()
        if kind == "file" and name != STATE
    }


def theirs(root: Path) -> object:
    """Return the person's repository: index, stash, branches, hooks and settings."""
    return picture(root / ".git", without=("sprintlog", "sprintlog-tree"))


def cut_short(done: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start an in-place restore whose files are never touched."""
    with monkeypatch.context() as patched:
        patched.setattr(restore, "_finish", lambda *_, **__: [])
        done("rollback", "iter:1", "--files", "--yes")
