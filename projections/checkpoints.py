"""Saved states and other caches: thrown away at will, never the truth."""

from typing import Generic, Protocol

import msgspec

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.log.stores.sqlite.queries import SqliteReading
from sprintlog.engine.sprint.state.words import SPRINT_STATUSES

from .catalogue import Reading, State

EVERY = 64
"""A state is saved when its stream has grown by this many events."""
KEPT = 4
"""How many saved states of a stream are kept, the newest ones."""


class Checkpoints(Protocol[State]):
    """Saved states by stream and version."""

    def versions(self, stream: str) -> list[int]:
        """Return the versions that are saved, newest first."""
        ...

    def load(self, stream: str, version: int) -> State | None:
        """Return a saved state, or None when it is gone or unreadable."""
        ...

    def save(self, stream: str, state: State) -> None:
        """Keep a state, and drop the oldest ones."""
        ...

    def forget(self, stream: str) -> None:
        """Drop every state of a stream, and its status."""
        ...


class NoCheckpoints(Generic[State]):
    """Keeps nothing: what is asked for is read from the log."""

    def versions(self, stream: str) -> list[int]:
        """Return the versions that are saved: none."""
        return []

    def load(self, stream: str, version: int) -> State | None:
        """Return nothing."""
        return None

    def save(self, stream: str, state: State) -> None:
        """Let it go."""

    def forget(self, stream: str) -> None:
        """Have nothing to drop."""


class MemoryCheckpoints(Generic[State]):
    """Saved states that go with the process."""

    def __init__(self, reading: Reading[State]) -> None:
        self._reading = reading
        self._saved: dict[str, dict[int, bytes]] = {}

    def versions(self, stream: str) -> list[int]:
        """Return the versions that are saved, newest first."""
        return sorted(self._saved.get(stream, {}), reverse=True)

    def load(self, stream: str, version: int) -> State | None:
        """Return a saved state, or None when it is gone."""
        saved = self._saved.get(stream, {}).get(version)
        return self._reading.unpack(saved) if saved is not None else None

    def save(self, stream: str, state: State) -> None:
        """Keep a state, and drop the oldest ones."""
        saved = self._saved.setdefault(stream, {})
        saved[state.version] = self._reading.pack(state)
        for version in self.versions(stream)[KEPT:]:
            del saved[version]

    def forget(self, stream: str) -> None:
        """Drop every state of a stream."""
        self._saved.pop(stream, None)


class SqliteCheckpoints(Generic[State]):
    """Saved states in the log's own database.

    They are caches: a database that may not be written is read without them.
    """

    def __init__(self, log: SqliteReading, reading: Reading[State]) -> None:
        self._log = log
        self._reading = reading

    def versions(self, stream: str) -> list[int]:
        """Return the versions that are saved in today's format, newest first."""
        rows = self._log.rows(
            "SELECT version FROM checkpoints WHERE stream = ? AND format = ?"
            " ORDER BY version DESC",
            (stream, self._reading.format),
        )
        return [version for (version,) in rows if isinstance(version, int)]

    def load(self, stream: str, version: int) -> State | None:
        """Return a saved state, or None when it is gone or unreadable."""
        rows = self._log.rows(
            "SELECT state FROM checkpoints WHERE stream = ? AND version = ? AND format = ?",
            (stream, version, self._reading.format),
        )
        try:
            return self._reading.unpack(bytes(rows[0][0])) if rows else None
        except (msgspec.MsgspecError, ValueError, TypeError):
            # A cache with a damaged bit is no worse than none.
            return None

    def save(self, stream: str, state: State) -> None:
        """Keep a state, and drop the oldest ones and those of another format."""
        try:
            self._log.rows("BEGIN IMMEDIATE")
            self._save(stream, state)
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
        status = rows[0][0] if rows else None
        return status if status in SPRINT_STATUSES else None

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

    def _save(self, stream: str, state: State) -> None:
        execute = self._log.rows
        execute(
            "DELETE FROM checkpoints WHERE stream = ? AND (format <> ? OR version = ?)",
            (stream, self._reading.format, state.version),
        )
        execute(
            "INSERT INTO checkpoints (stream, version, format, state) VALUES (?, ?, ?, ?)",
            (stream, state.version, self._reading.format, self._reading.pack(state)),
        )
        execute(
            "DELETE FROM checkpoints WHERE stream = ? AND version NOT IN"
            " (SELECT version FROM checkpoints WHERE stream = ?"
            " ORDER BY version DESC LIMIT ?)",
            (stream, stream, KEPT),
        )
