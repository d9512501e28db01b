"""Saved states and other caches: thrown away at will, never the truth."""

from typing import Protocol

import msgspec

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.log.stores.sqlite_reading import SqliteReading
from sprintlog.engine.sprint.state import STATE_FORMAT, Sprint, pack, unpack

EVERY = 64
"""A state is saved when its stream has grown by this many events."""
KEPT = 4
"""How many saved states of a stream are kept, the newest ones."""


class Checkpoints(Protocol):
    """Saved states by stream and version."""

    def versions(self, stream: str) -> list[int]:
        """Return the versions that are saved, newest first."""
        ...

    def load(self, stream: str, version: int) -> Sprint | None:
        """Return a saved state, or None when it is gone or unreadable."""
        ...

    def save(self, stream: str, sprint: Sprint) -> None:
        """Keep a state, and drop the oldest ones."""
        ...

    def forget(self, stream: str) -> None:
        """Drop every state of a stream, and its status."""
        ...

    def status(self, stream: str, version: int) -> str | None:
        """Return the sprint's status kept for exactly this version."""
        ...

    def keep_status(self, stream: str, version: int, status: str) -> None:
        """Keep the sprint's status at a version."""
        ...


class MemoryCheckpoints:
    """Saved states that go with the process."""

    def __init__(self) -> None:
        self._saved: dict[str, dict[int, bytes]] = {}
        self._statuses: dict[str, tuple[int, str]] = {}

    def versions(self, stream: str) -> list[int]:
        """Return the versions that are saved, newest first."""
        return sorted(self._saved.get(stream, {}), reverse=True)

    def load(self, stream: str, version: int) -> Sprint | None:
        """Return a saved state, or None when it is gone."""
        saved = self._saved.get(stream, {}).get(version)
        return unpack(saved) if saved is not None else None

    def save(self, stream: str, sprint: Sprint) -> None:
        """Keep a state, and drop the oldest ones."""
        saved = self._saved.setdefault(stream, {})
        saved[sprint.version] = pack(sprint)
        for version in self.versions(stream)[KEPT:]:
            del saved[version]

    def forget(self, stream: str) -> None:
        """Drop every state of a stream, and its status."""
        self._saved.pop(stream, None)
        self._statuses.pop(stream, None)

    def status(self, stream: str, version: int) -> str | None:
        """Return the sprint's status kept for exactly this version."""
        kept = self._statuses.get(stream)
        return kept[1] if kept and kept[0] == version else None

    def keep_status(self, stream: str, version: int, status: str) -> None:
        """Keep the sprint's status at a version."""
        self._statuses[stream] = (version, status)


class SqliteCheckpoints:
    """Saved states in the log's own database.

    They are caches: a database that may not be written is read without them.
    """

    def __init__(self, log: SqliteReading) -> None:
        self._log = log

    def versions(self, stream: str) -> list[int]:
        """Return the versions that are saved in today's format, newest first."""
        rows = self._log.rows(
            "SELECT version FROM checkpoints WHERE stream = ? AND format = ?"
            " ORDER BY version DESC",
            (stream, STATE_FORMAT),
        )
        return [version for (version,) in rows]

    def load(self, stream: str, version: int) -> Sprint | None:
        """Return a saved state, or None when it is gone or unreadable."""
        rows = self._log.rows(
            "SELECT state FROM checkpoints WHERE stream = ? AND version = ? AND format = ?",
            (stream, version, STATE_FORMAT),
        )
        try:
            return unpack(rows[0][0]) if rows else None
        except (msgspec.MsgspecError, ValueError):
            # A cache with a damaged bit is no worse than none.
            return None

    def save(self, stream: str, sprint: Sprint) -> None:
        """Keep a state, and drop the oldest ones and those of another format."""
        try:
            self._log.rows("BEGIN IMMEDIATE")
            self._save(stream, sprint)
            self._log.rows("COMMIT")
        except SprintlogError:
            if self._log.connection.in_transaction:
                self._log.connection.rollback()

    def forget(self, stream: str) -> None:
        """Drop every state of a stream, and its status."""
        self._log.rows("DELETE FROM checkpoints WHERE stream = ?", (stream,))
        self._log.rows("DELETE FROM statuses WHERE stream = ?", (stream,))

    def status(self, stream: str, version: int) -> str | None:
        """Return the sprint's status kept for exactly this version."""
        rows = self._log.rows(
            "SELECT status FROM statuses WHERE stream = ? AND version = ?",
            (stream, version),
        )
        return rows[0][0] if rows else None

    def keep_status(self, stream: str, version: int, status: str) -> None:
        """Keep the sprint's status at a version."""
        try:
            self._log.rows(
                "INSERT INTO statuses (stream, version, status) VALUES (?, ?, ?)"
                " ON CONFLICT (stream) DO UPDATE SET version = excluded.version,"
                " status = excluded.status",
                (stream, version, status),
            )
        except SprintlogError:
            return

    def _save(self, stream: str, sprint: Sprint) -> None:
        execute = self._log.rows
        execute(
            "DELETE FROM checkpoints WHERE stream = ? AND (format <> ? OR version = ?)",
            (stream, STATE_FORMAT, sprint.version),
        )
        execute(
            "INSERT INTO checkpoints (stream, version, format, state) VALUES (?, ?, ?, ?)",
            (stream, sprint.version, STATE_FORMAT, pack(sprint)),
        )
        execute(
            "DELETE FROM checkpoints WHERE stream = ? AND version NOT IN"
            " (SELECT version FROM checkpoints WHERE stream = ?"
            " ORDER BY version DESC LIMIT ?)",
            (stream, stream, KEPT),
        )
