"""Files that are removed or replaced while a process is using them."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sprintlog.engine.errors import RefusedError, UnreadableError
from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores import head_file
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from tests import needs

DRAFT = NewEvent(type="noted", payload=b"{}", at="2026-01-15T09:00:00Z", actor="runtime")


def append(log: SqliteLog) -> None:
    """Append one event to a stream."""
    log.append("s", [DRAFT], expect=Expect.ANY)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the database of a log with one event."""
    database = tmp_path / "log" / "log.db"
    with_log = SqliteLog.create(database, clock=lambda: 0, entropy=os.urandom)
    append(with_log)
    with_log.close()
    return database


def opened(path: Path) -> SqliteLog:
    """Return the log, open."""
    return SqliteLog(path, clock=lambda: 0, entropy=os.urandom)


def remove(path: Path) -> None:
    """Remove the database."""
    path.unlink()


def remove_wal(path: Path) -> None:
    """Remove the write-ahead log, as cleaning tools do."""
    path.with_name(f"{path.name}-wal").unlink()


def restore(path: Path) -> None:
    """Replace the database with a copy, as restoring a backup does."""
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    copy.rename(path)


def move_away(path: Path) -> None:
    """Move the folder and put a copy in its place, as a synchronizing tool may do."""
    moved = path.parent.rename(path.parent.with_name("moved"))
    shutil.copytree(moved, path.parent)


@pytest.mark.parametrize("rests", [False, True])
@pytest.mark.parametrize("harm", [remove, remove_wal, restore, move_away])
def test_never_acknowledges_into_a_lost_file(
    path: Path, harm: Callable[[Path], None], rests: bool
) -> None:
    """A writer whose file was removed reports it instead of acknowledging.

    This includes a writer that checks only the folder, which has not changed for a while.
    """
    log = opened(path)
    append(log)
    if harm is remove_wal and not log.journal_mode.wal:
        needs.skip("a local file system", "set TMPDIR to a folder on a local disk")
    if rests:
        time.sleep(0.05)
        append(log)
    harm(path)
    with pytest.raises(UnreadableError, match="removed or replaced"):
        append(log)
    log.close()


@pytest.mark.parametrize("harm", [restore, move_away])
def test_harm_in_the_moment_of_an_append_is_noticed(
    path: Path, harm: Callable[[Path], None]
) -> None:
    """A file that is replaced right after an append is detected by the next one.

    The folder may then have exactly the same change time as before.
    """
    for _ in range(10):
        log = opened(path)
        for _ in range(4):
            append(log)
        harm(path)
        with pytest.raises(UnreadableError, match="removed or replaced"):
            append(log)
        log.close()
        shutil.rmtree(path.parent.with_name("moved"), ignore_errors=True)
        for left in ("log.db-wal", "log.db-shm", "log.db-head"):
            path.with_name(left).unlink(missing_ok=True)


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the files that the log checks, by name, from now on."""
    names: list[str] = []

    def stat(name: str) -> Any:
        names.append(Path(name).name)
        return os.stat(name)

    monkeypatch.setattr(head_file, "stat", stat)
    return names


def test_looks_at_the_folder_alone_once_the_clock_went_on(
    path: Path, looked_at: list[str]
) -> None:
    """While the folder is unchanged, an append checks only the folder."""
    log = opened(path)
    if not log.journal_mode.wal:
        needs.skip("a local file system", "set TMPDIR to a folder on a local disk")
    append(log)
    time.sleep(0.05)
    append(log)
    looked_at.clear()
    for _ in range(5):
        append(log)
    assert looked_at == ["log"] * 5
    path.with_name("other").touch()
    append(log)
    assert looked_at[5:] == ["log", "log.db-wal", "log.db", "log"]
    log.close()


def test_believes_no_folder_that_may_change_within_the_same_moment(
    path: Path, looked_at: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the clock equals the folder's change time, every file is checked."""
    look = vars(head_file)["stat"]

    def standing(name: str) -> Any:
        met = look(name)
        return SimpleNamespace(
            st_dev=met.st_dev, st_ino=met.st_ino, st_nlink=met.st_nlink, st_ctime_ns=7
        )

    monkeypatch.setattr(head_file, "stat", standing)
    log = opened(path)
    if not log.journal_mode.wal:
        needs.skip("a local file system", "set TMPDIR to a folder on a local disk")
    looked_at.clear()
    for _ in range(3):
        append(log)
    assert looked_at == ["log.db-wal", "log.db", "log"] * 3
    log.close()


def test_refuses_a_second_name(path: Path, tmp_path: Path) -> None:
    """A database with two hard links would be locked separately under each name."""
    os.link(path, tmp_path / "other.db")
    with pytest.raises(RefusedError, match="second name"):
        opened(path)
