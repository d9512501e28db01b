"""The second head: its contents, and when it is an alarm."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sprintlog.engine.errors import UnreadableError
from sprintlog.engine.log.envelope import Head, NewEvent
from sprintlog.engine.log.stores import open_log
from sprintlog.engine.log.stores.head_file import HeadFile
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from tests import needs

Reopen = Callable[..., SqliteLog]


def test_head_file_follows_every_append(log: SqliteLog, new_event: NewEvent) -> None:
    """After an append the head file has the log's head."""
    assert log.acknowledged() == log.head()
    log.append("a", [new_event], expect=0)
    assert log.acknowledged() == log.head()
    log.append("a", [new_event] * 100, expect=1)
    assert log.acknowledged() == log.head() == Head(101, log.head().hash)


def test_head_ahead_of_the_log_is_an_alarm(
    log: SqliteLog, reopen: Reopen, new_event: NewEvent
) -> None:
    """A log that ends before an acknowledged event is not opened as if it were whole."""
    log.append("a", [new_event], expect=0)
    with closing(HeadFile(log.path.with_name("log.db-head"))) as file:
        file.write(Head(2, bytes(32)))
    with pytest.raises(UnreadableError, match="its end is lost") as caught:
        reopen()
    assert caught.value.fields["position"] == 2
    with pytest.raises(UnreadableError):
        log.check_acknowledged()
    with pytest.raises(UnreadableError, match="its end is lost"):
        open_log(str(log.path), clock=lambda: 0, entropy=os.urandom)


def test_other_event_at_the_head_is_an_alarm(
    log: SqliteLog, reopen: Reopen, new_event: NewEvent
) -> None:
    """A log with a different event at the position of the head is a different log."""
    log.append("a", [new_event, new_event], expect=0)
    with closing(HeadFile(log.path.with_name("log.db-head"))) as file:
        file.write(Head(1, bytes(32)))
    with pytest.raises(UnreadableError, match="not the one"):
        reopen(readonly=True)


def test_log_set_back_under_a_writer_is_an_alarm(
    log: SqliteLog, new_event: NewEvent, tmp_path: Path
) -> None:
    """A writer does not continue if an event that it acknowledged has vanished."""
    log.append("a", [new_event], expect=0)
    older = sqlite3.connect(tmp_path / "older.db")
    log.connection.raw.backup(older)
    log.append("a", [new_event], expect=1)
    older.backup(log.connection.raw)
    older.close()
    with pytest.raises(UnreadableError, match="its end is lost"):
        log.append("a", [new_event], expect=2)
    assert log.head().position == 1


def test_cut_tail_can_be_looked_into(
    log: SqliteLog, reopen: Reopen, new_event: NewEvent
) -> None:
    """To examine the damage, the log can be opened without the check."""
    log.append("a", [new_event], expect=0)
    with closing(HeadFile(log.path.with_name("log.db-head"))) as file:
        file.write(Head(9, bytes(32)))
    assert reopen(check_head=False, readonly=True).head().position == 1


def test_lost_tail_of_the_journal_is_noticed(
    log: SqliteLog, path: Path, tmp_path: Path, new_event: NewEvent
) -> None:
    """A copy whose write-ahead log lost its last frames ends early without an error."""
    for version in range(5):
        log.append("a", [new_event], expect=version)
    if not log.journal_mode.wal:
        needs.skip("a local file system", "set TMPDIR to a folder on a local disk")
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("log.db", "log.db-wal", "log.db-head"):
        (copy / name).write_bytes(path.with_name(name).read_bytes())
    wal = copy / "log.db-wal"
    wal.write_bytes(wal.read_bytes()[:-4096])
    raw = sqlite3.connect(copy / "log.db")
    assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert raw.execute("SELECT max(position) FROM events").fetchone() == (4,)
    raw.close()
    with pytest.raises(UnreadableError, match="its end is lost"):
        SqliteLog(copy / "log.db", clock=lambda: 0, entropy=os.urandom)


@pytest.mark.parametrize("content", [b"", b"short", bytes(48), b"slh1" + bytes(60)])
def test_torn_head_file_says_nothing(
    log: SqliteLog, reopen: Reopen, new_event: NewEvent, content: bytes
) -> None:
    """A torn head file proves nothing; the next append renews it."""
    log.append("a", [new_event], expect=0)
    log.close()
    path = log.path.with_name("log.db-head")
    path.write_bytes(content)
    again = reopen()
    assert again.acknowledged() is None
    again.append("a", [new_event], expect=1)
    assert again.acknowledged() == again.head()


def test_head_file_behind_the_log_is_fine(
    log: SqliteLog, reopen: Reopen, new_event: NewEvent
) -> None:
    """The head file is not waited for, so it may be older than the log, or missing."""
    first = log.append("a", [new_event], expect=0).events[0]
    log.append("a", [new_event], expect=1)
    with closing(HeadFile(log.path.with_name("log.db-head"))) as file:
        file.write(Head(1, first.hash))
    assert reopen().head().position == 2
    log.path.with_name("log.db-head").unlink()
    assert reopen().head().position == 2


def test_head_that_cannot_be_written_does_not_deny_the_event(
    log: SqliteLog, reopen: Reopen, new_event: NewEvent
) -> None:
    """An event that is durable is acknowledged even when the head file fails."""
    log.close()
    head = log.path.with_name("log.db-head")
    head.unlink()
    head.mkdir()
    again = reopen(check_head=False)
    assert again.append("a", [new_event], expect=0).events[0].position == 1
