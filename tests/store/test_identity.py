"""Files that are taken away or replaced under a running process."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sprintlog.engine.errors import RefusedError, UnreadableError
from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.sqlite import identity
from sprintlog.engine.log.stores.sqlite.store import SqliteLog

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
    """Take the database away."""
    path.unlink()


def remove_wal(path: Path) -> None:
    """Take the write-ahead log away, as cleaning tools do."""
    path.with_name(f"{path.name}-wal").unlink()


def restore(path: Path) -> None:
    """Put a copy in the database's place, as restoring a backup does."""
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    copy.rename(path)


def move_away(path: Path) -> None:
    """Move the whole folder and put a copy in its place, as a synchronising tool may."""
    moved = path.parent.rename(path.parent.with_name("moved"))
    shutil.copytree(moved, path.parent)


@pytest.mark.parametrize("rests", [False, True])
@pytest.mark.parametrize("harm", [remove, remove_wal, restore, move_away])
def test_never_acknowledges_into_a_lost_file(
    path: Path,
    harm: Callable[[Path], None],
    rests: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A writer whose file was taken away says so instead of acknowledging.

    Also one that looks only at the folder, since nothing there has changed for a while.
    """
    log = opened(path)
    append(log)
    if harm is remove_wal and not log.journal_mode.wal:
        pytest.skip("this file system keeps a rollback journal")
    if rests:
        monkeypatch.setattr(identity, "SETTLED_NANOSECONDS", 20_000_000)
        time.sleep(0.05)
        append(log)
    harm(path)
    with pytest.raises(UnreadableError, match="removed or replaced"):
        append(log)
    log.close()


def test_refuses_a_second_name(path: Path, tmp_path: Path) -> None:
    """A database with two hard links is locked under each apart, so it is refused."""
    os.link(path, tmp_path / "other.db")
    with pytest.raises(RefusedError, match="second name"):
        opened(path)
