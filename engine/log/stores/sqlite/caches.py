"""Saved states and digests of written files, in the log's database or a local database.

Both are caches, which may be deleted at any time.
"""

import sqlite3
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

from ....errors import RefusedError, SprintlogError
from ...port import Entropy, Wait
from .database import Connection
from .journal_mode import JournalMode
from .schema import CACHES, CHECKPOINTS, rows_holding

_LARGE = 256 * 1024
"""The size above which a state is read with a small page cache."""

_FROM = "FROM checkpoints WHERE stream = ? AND version = ? AND format = ?"
_DROP = "DELETE FROM checkpoints WHERE stream = ? AND version = ?"


class SqliteCheckpoints:
    """Saved states by stream and version.

    On a read-only database, saving has no effect.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def versions(self, stream: str, *, format_: int) -> list[int]:
        """Return the versions saved in a format, newest first."""
        rows = self._connection.rows(
            "SELECT version FROM checkpoints WHERE stream = ? AND format = ?"
            " ORDER BY version DESC",
            (stream, format_),
        )
        return [version for (version,) in rows if isinstance(version, int)]

    def load(self, stream: str, version: int, *, format_: int) -> bytes | None:
        """Return a saved state, or None if there is none in this format."""
        key = (stream, version, format_)
        # The length precedes the state: the pages of a large state are not read here.
        rows = self._connection.rows(
            f"SELECT CASE WHEN length(state) <= {_LARGE} THEN state END {_FROM}", key
        )
        if rows == [(None,)]:
            # Each page of the state is read once.
            with self._connection.walking():
                if (large := self._large(key)) is not None:
                    return large
                rows = self._connection.rows(f"SELECT state {_FROM}", key)
        state = rows[0][0] if rows else None
        return state if isinstance(state, bytes) else None

    def _large(self, key: tuple[str, int, int]) -> bytes | None:
        """Return a large state, read incrementally: a column read would copy it twice.

        Return None if it has since been deleted, is locked, or is in an older table.
        """
        raw = self._connection.raw
        try:
            ((rowid,),) = raw.execute(f"SELECT rowid {_FROM}", key).fetchall()
            with raw.blobopen("checkpoints", "state", rowid, readonly=True) as blob:
                return blob.read()
        except (sqlite3.Error, ValueError):
            return None

    def save(
        self,
        stream: str,
        version: int,
        state: bytes,
        *,
        format_: int,
        drop: Collection[int] = (),
        unless: Callable[[], bool] = bool,
    ) -> None:
        """Save a state; drop other formats' states and states of the versions in `drop`."""
        execute = self._connection.rows
        with suppress(SprintlogError), self._connection.transaction():
            if unless():
                return
            execute(
                "DELETE FROM checkpoints WHERE stream = ? AND (format <> ? OR version = ?)",
                (stream, format_, version),
            )
            execute(
                "INSERT INTO checkpoints (stream, version, format, state)"
                " VALUES (?, ?, ?, ?)",
                (stream, version, format_, state),
            )
            for gone in drop:
                execute(_DROP, (stream, gone))

    def forget(self, stream: str, *, but: Collection[int] = ()) -> None:
        """Drop a stream's status and all saved states except those of versions in `but`."""
        if self._connection.is_behind:
            return
        rows = self._connection.rows(
            "SELECT version FROM checkpoints WHERE stream = ?", (stream,)
        )
        for (version,) in rows:
            if version not in but:
                self._connection.rows(_DROP, (stream, version))
        self._connection.rows("DELETE FROM statuses WHERE stream = ?", (stream,))

    def clear(self) -> None:
        """Drop all saved states."""
        self._connection.rows("DELETE FROM checkpoints")

    def status(self, stream: str, version: int) -> str | None:
        """Return the status saved for exactly this version of a stream, or None."""
        rows = self._connection.rows(
            "SELECT status FROM statuses WHERE stream = ? AND version = ?",
            (stream, version),
        )
        status = rows[0][0] if rows else None
        return status if isinstance(status, str) else None

    def keep_status(self, stream: str, version: int, status: str) -> None:
        """Save the status of a stream at a version."""
        with suppress(SprintlogError):
            self._connection.rows(
                "INSERT INTO statuses (stream, version, status) VALUES (?, ?, ?)"
                " ON CONFLICT (stream) DO UPDATE SET version = excluded.version,"
                " status = excluded.status",
                (stream, version, status),
            )


class SqliteDigests:
    """The digests and versions of written content, by path."""

    def __init__(self, connection: Connection) -> None:
        self._rows = connection.rows
        self._begin_to_write = connection.begin_to_write

    def know(self, path: str, digest: bytes, *, version: int) -> None:
        """Save a digest with its version, or update the version of a known digest."""
        self._begin_to_write()
        self._rows(
            "INSERT INTO written (path, digest, version) VALUES (?, ?, ?)"
            " ON CONFLICT (path, digest) DO UPDATE SET version = excluded.version",
            (path, digest, version),
        )

    def since(self, path: str, digest: bytes) -> int | None:
        """Return the version for which this content was written; None if it never was."""
        rows = self._rows(
            "SELECT version FROM written WHERE path = ? AND digest = ?", (path, digest)
        )
        return rows[0][0] if rows else None

    def written(self, path: str) -> list[tuple[bytes, int]]:
        """Return the digests and versions of content written to a path, newest first."""
        return self._rows(
            "SELECT digest, version FROM written WHERE path = ? ORDER BY version DESC",
            (path,),
        )

    def newest(self, path: str, *, until: int, without: bytes = b"") -> int:
        """Return the newest version of a path, up to `until`; 0 if there is none."""
        ((version,),) = self._rows(
            "SELECT coalesce(max(version), 0) FROM written"
            " WHERE path = ? AND version <= ? AND digest != ?",
            (path, until, without),
        )
        return int(version)

    def below(self, folder: str) -> set[str]:
        """Return all paths below a folder that were ever written."""
        # "0" is the character after "/".
        rows = self._rows(
            "SELECT DISTINCT path FROM written WHERE path > ? AND path < ?",
            (f"{folder}/", f"{folder}0"),
        )
        return {path for (path,) in rows}

    def forget(self, path: str) -> None:
        """Drop all digests for a path."""
        self._begin_to_write()
        self._rows("DELETE FROM written WHERE path = ?", (path,))


_FORMAT = 1
_IN_MEMORY = Path(":memory:")


class LocalCaches:
    """Saved states and digests for a shared log, in a small database on this machine.

    States can be rebuilt from the events, and the digests belong to local files. Without a
    folder, the database is in memory. Data that belongs to another log is deleted.
    """

    NAME = "caches.db"
    """The name of the file."""
    TABLES = ("checkpoints", "statuses", "written")

    def __init__(
        self, folder: Path | None, identity: str, *, entropy: Entropy, wait: Wait
    ) -> None:
        path = _IN_MEMORY if folder is None else folder / self.NAME
        self._identity = identity
        try:
            raw = _opened(path)
        except sqlite3.Error as error:
            raise RefusedError(
                f"{path} cannot be opened: {error}",
                hint="check the folder, or remove the file, which contains only caches",
                path=str(path),
            ) from error
        self._raw = raw
        mode = JournalMode(True, "the caches can be computed again")
        self._connection = Connection(path, raw, entropy=entropy, wait=wait, mode=mode)
        self._make()
        self.checkpoints = SqliteCheckpoints(self._connection)
        self.digests = SqliteDigests(self._connection)

    def _make(self) -> None:
        rows = self._connection.rows
        ((format_,),) = rows("PRAGMA user_version")
        if format_ == _FORMAT and rows("SELECT log FROM kept_of") == [(self._identity,)]:
            return
        with self._connection.transaction():
            for name in ("kept_of", *self.TABLES):
                rows(f"DROP TABLE IF EXISTS {name}")
            for statement in (*CACHES, *CHECKPOINTS):
                rows(statement)
            rows("CREATE TABLE kept_of (log TEXT NOT NULL)")
            rows("INSERT INTO kept_of (log) VALUES (?)", (self._identity,))
            rows(f"PRAGMA user_version = {_FORMAT}")

    def holding(self, forms: Sequence[bytes], parts: Sequence[str]) -> list[str]:
        """Return the rows with a given byte string, each as its table and first columns."""
        return [*rows_holding(self._connection.rows, forms, parts)]

    def problems(self) -> list[str]:
        """Return the problems that SQLite finds in the caches."""
        rows = self._connection.rows("PRAGMA integrity_check(20)")
        return [f"{self.NAME}: {said}" for (said,) in rows if said != "ok"]

    def close(self) -> None:
        """Close the database."""
        self._raw.close()


def _opened(path: Path) -> sqlite3.Connection:
    if path is not _IN_MEMORY and not path.exists():
        path.touch(mode=0o600)
    raw = sqlite3.connect(path, isolation_level=None)
    try:
        raw.execute("PRAGMA trusted_schema=OFF")
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=NORMAL")
    except BaseException:
        raw.close()
        raise
    return raw
