"""The journal mode of a log, by its file system."""

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.stores.sqlite import journal_mode
from sprintlog.engine.log.stores.sqlite.journal_mode import (
    WAL_BYTES_MAX,
    JournalMode,
    choose_journal_mode,
    file_system,
    set_journal_mode,
)
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from tests import needs

MOUNTS = r"""
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /mnt rw - nfs4 server:/export rw
31 30 0:41 / /mnt/fast\040disk rw shared:7 master:2 - xfs /dev/vdb rw
32 22 0:42 / /over rw - tmpfs tmpfs rw
33 22 0:43 / /over rw - fuse.sshfs host: rw
a line that is not of this form
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/user/project", "ext4"),
        ("/mnt/project", "nfs4"),
        ("/mnt", "nfs4"),
        ("/mnt/fast disk/project", "xfs"),
        ("/mnt/fast disks", "nfs4"),
        ("/mntx", "ext4"),
        ("/over/project", "fuse.sshfs"),
    ],
)
def test_file_system_is_that_of_the_nearest_mount(path: str, kind: str) -> None:
    """The longest mount point above a path determines it, the later of equals."""
    assert file_system(Path(path), MOUNTS) == kind


def test_without_mounts_nothing_is_known() -> None:
    """If no mount point matches, the file system is unknown."""
    assert file_system(Path("/home"), "") is None


@pytest.mark.parametrize(
    ("kind", "wal"),
    [("ext4", True), ("overlay", True), ("nfs4", False), ("9p", False), ("new", False)],
)
def test_only_file_systems_known_as_local_get_wal(
    kind: str, wal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write-ahead log is used only if it is known to be safe."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"22 1 0:1 / / rw - {kind} none rw\n")
    monkeypatch.setattr(journal_mode, "MOUNTS", mounts)
    mode = choose_journal_mode(tmp_path)
    assert mode.wal is wal
    assert kind in mode.reason


def test_system_without_mountinfo_gets_the_rollback_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On an unknown file system nothing is risked."""
    monkeypatch.setattr(journal_mode, "MOUNTS", tmp_path / "absent")
    assert not choose_journal_mode(tmp_path).wal


def test_rollback_journal_keeps_the_same_log(
    log: SqliteLog, reopen: Callable[..., SqliteLog], new_event: NewEvent
) -> None:
    """A log works in either mode and survives a change; the folder is also synced."""
    log.append("a", [new_event], expect=0)
    log.close()
    again = reopen()
    set_journal_mode(again.connection.raw, JournalMode(False, "for this test"))
    assert again.connection.raw.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert again.connection.raw.execute("PRAGMA synchronous").fetchone() == (3,)
    again.append("a", [new_event] * 100, expect=1)
    again.append("b", [new_event], expect=0)
    assert list(check_chain(again.read())) == []
    assert not again.path.with_name("log.db-wal").exists()


def test_wal_is_full_and_never_carried_over_by_sqlite_itself(log: SqliteLog) -> None:
    """Commits wait for the disk, and only our own checkpoints transfer pages."""
    if not log.journal_mode.wal:
        needs.skip("a local file system", "set TMPDIR to a folder on a local disk")
    assert log.connection.raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert log.connection.raw.execute("PRAGMA synchronous").fetchone() == (2,)
    assert log.connection.raw.execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)


def test_write_ahead_log_stays_bounded(log: SqliteLog, new_event: NewEvent) -> None:
    """A large write-ahead log is carried over into the database while appending."""
    if not log.journal_mode.wal:
        needs.skip("a local file system", "set TMPDIR to a folder on a local disk")
    wal = log.path.with_name("log.db-wal")
    for version in range(0, 20_000, 2_000):
        log.append("a", [new_event] * 2_000, expect=version)
        assert wal.stat().st_size < 2 * WAL_BYTES_MAX
    assert log.path.stat().st_size > WAL_BYTES_MAX


@pytest.mark.parametrize(("platform", "wanted"), [("darwin", 1), ("linux", 0)])
def test_a_sync_reaches_the_disk_itself(
    platform: str, wanted: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a sync ends in the disk's cache, SQLite is configured to flush that."""
    monkeypatch.setattr(sys, "platform", platform)
    with closing(sqlite3.connect(tmp_path / "log.db")) as connection:
        set_journal_mode(connection, JournalMode(True, "is local"))
        for pragma in ("fullfsync", "checkpoint_fullfsync"):
            assert connection.execute(f"PRAGMA {pragma}").fetchone() == (wanted,)
