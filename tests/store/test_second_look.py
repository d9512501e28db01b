"""Logs that SQLite calls malformed: damaged, or only unreadable."""

from pathlib import Path

from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.stores.sqlite.errors import was_not_read
from sprintlog.engine.log.stores.sqlite.store import SqliteLog


def test_sound_log_was_only_not_read(log: SqliteLog, new_event: NewEvent) -> None:
    """Data that is intact on a second read was not damaged."""
    log.append("a", [new_event] * 100, expect=0)
    assert was_not_read(log.path)


def test_damaged_page_stays_damaged(
    log: SqliteLog, path: Path, new_event: NewEvent
) -> None:
    """A page that is also invalid when read again is damaged."""
    log.append("a", [new_event] * 100, expect=0)
    log.close()
    content = bytearray(path.read_bytes())
    content[4096 * 2 : 4096 * 3] = b"\xff" * 4096
    path.write_bytes(content)
    assert not was_not_read(path)


def test_changed_schema_stays_damaged(log: SqliteLog, path: Path) -> None:
    """Tables other than ours are damage, even if SQLite tolerates them."""
    log.close()
    path.write_bytes(
        path.read_bytes().replace(b"CHECK (position > 0)", b"CHECK (position > p)")
    )
    assert not was_not_read(path)
