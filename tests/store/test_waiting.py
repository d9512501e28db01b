"""All locks are waited for in the same way: for a limited time, with a message."""

import fcntl
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from sprintlog.engine.errors import BusyError, RefusedError
from sprintlog.engine.log.port import Wait
from sprintlog.engine.log.stores.descriptors import FileLocks
from sprintlog.engine.log.stores.sqlite import database
from sprintlog.engine.service.work_tree.snapshot import store_of
from sprintlog.engine.sprint.events import NoteAdded, Place, SprintCompiled
from sprintlog.projections.sql.query import ask
from sprintlog.projections.sql.search import search
from sprintlog.projections.workspace import Workspace

LOCKS: dict[str, Callable[[Workspace], object]] = {
    "files.lock": lambda workspace: workspace.refresh("auth"),
    "query.lock": lambda workspace: asked(workspace),
    "search.lock": lambda workspace: search(workspace, "word"),
    "snapshots/lock": lambda workspace: taken(workspace),
}


def asked(workspace: Workspace) -> object:
    """Ask something."""
    with ask(workspace, "SELECT 1", seconds_max=60) as found:
        return list(found.pages)


def taken(workspace: Workspace) -> object:
    """Hold the lock of the snapshots."""
    with store_of(workspace).lock():
        return None


@contextmanager
def holding(path: Path) -> Iterator[None]:
    """Hold a lock file, as another process does."""
    path.parent.mkdir(exist_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a log and a sprint whose file is up to date."""
    with Workspace.init(tmp_path, here=True) as workspace:
        document = {"sprint-id": "auth", "phases": [{"id": "a", "prompt": "x"}]}
        made = SprintCompiled(document, Place("PROGRESS.yaml"))
        workspace.handle_with("auth", lambda sprint, at: [made])
        workspace.handle_with("auth", lambda sprint, at: [NoteAdded("word")])
    return tmp_path


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_is_waited_for_and_said(folder: Path, name: str) -> None:
    """A lock held by others causes an error after the wait, which is reported once."""
    said: list[str] = []
    path = folder / ".sprintlog" / name
    wait = Wait(0.3, said.append, quiet_seconds=0.0)
    with Workspace.open(folder, wait=wait) as workspace, holding(path):
        with pytest.raises((BusyError, RefusedError), match="locked by"):
            LOCKS[name](workspace)
        assert [text.partition(",")[0] for text in said] == [f"waiting for {path}"]


def test_a_short_wait_is_not_told(folder: Path) -> None:
    """A short wait is not reported."""
    said: list[str] = []
    wait = Wait(0.1, said.append, quiet_seconds=60.0)
    with (
        pytest.raises(BusyError),
        holding(folder / "lock"),
        FileLocks(folder, wait).hold("lock"),
    ):
        pytest.fail("somebody else holds it")
    assert said == []


def test_opening_is_waited_for(folder: Path) -> None:
    """Opening a log that another process has locked exclusively waits for it."""
    said: list[str] = []
    database = folder / ".sprintlog" / "log.db"
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode=DELETE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(BusyError, match="locked by"):
            Workspace.open(folder, wait=Wait(0.3, said.append, quiet_seconds=0.0))
        assert len(said) == 1
        other.execute("ROLLBACK")
    Workspace.open(folder, wait=Wait(0.0)).close()


def test_a_person_is_told_and_then_it_goes_on(folder: Path) -> None:
    """A command reports its wait, and continues when the lock is free."""
    path = folder / ".sprintlog" / "files.lock"
    with holding(path):
        process = subprocess.Popen(
            [sys.executable, "-m", "sprintlog.cli", "note", "more"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        said = process.stderr.readline()
    _, rest = process.communicate()
    assert said.startswith(f"waiting for {path}, held by process ")
    assert (process.returncode, rest) == (0, "")


def test_who_waits_long_looks_as_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The polling interval does not grow, so later writers are not preferred."""
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    path = tmp_path / "log.db"
    with closing(sqlite3.connect(path)) as holder, closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA busy_timeout=0")
        holder.execute("BEGIN EXCLUSIVE")
        patience = database.Patience(
            Wait(60), entropy=lambda size: b"\x80" * size, path=path
        )
        for _ in range(500):
            with pytest.raises(sqlite3.OperationalError) as busy:
                raw.execute("BEGIN IMMEDIATE")
            patience.after(busy.value)
    assert slept == [database.JITTER_SECONDS / 2] * 500
