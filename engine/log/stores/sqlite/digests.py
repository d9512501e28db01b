"""The digests of all that was ever written to a path, in the log's own database."""

from .connection import Connection


class SqliteDigests:
    """Digests by path, with the version that each stands for."""

    def __init__(self, connection: Connection) -> None:
        self._rows = connection.rows
        self._begin_to_write = connection.begin_to_write

    def know(self, path: str, digest: bytes, *, version: int) -> None:
        """Keep a digest."""
        self._begin_to_write()
        self._rows(
            "INSERT INTO written (path, digest, version) VALUES (?, ?, ?)"
            " ON CONFLICT (path, digest) DO UPDATE SET version = excluded.version",
            (path, digest, version),
        )

    def since(self, path: str, digest: bytes) -> int | None:
        """Return the version that these bytes were written for, None if never."""
        rows = self._rows(
            "SELECT version FROM written WHERE path = ? AND digest = ?", (path, digest)
        )
        return rows[0][0] if rows else None

    def written(self, path: str) -> list[tuple[bytes, int]]:
        """Return digest and version of all that was written to a path, newest first."""
        return self._rows(
            "SELECT digest, version FROM written WHERE path = ? ORDER BY version DESC",
            (path,),
        )

    def newest(self, path: str, *, until: int, without: bytes = b"") -> int:
        """Return the newest version written to a path up to one; 0 when there is none."""
        ((version,),) = self._rows(
            "SELECT coalesce(max(version), 0) FROM written"
            " WHERE path = ? AND version <= ? AND digest != ?",
            (path, until, without),
        )
        return int(version)

    def below(self, folder: str) -> set[str]:
        """Return the paths below a folder that were ever written to."""
        # The character after the slash ends what begins so.
        rows = self._rows(
            "SELECT DISTINCT path FROM written WHERE path > ? AND path < ?",
            (f"{folder}/", f"{folder}0"),
        )
        return {path for (path,) in rows}

    def forget(self, path: str) -> None:
        """Drop all digests of a path."""
        self._begin_to_write()
        self._rows("DELETE FROM written WHERE path = ?", (path,))
