"""What a machine keeps of a shared log for itself: saved states, and digests of its files.

Both are about this machine: a state is made anew from the events anywhere, and files are
written where the work tree is. Whatever belongs to another log is thrown away.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from ....errors import RefusedError
from ...port import Entropy, Wait
from ..sqlite.caches import SqliteCheckpoints, SqliteDigests
from ..sqlite.connection import Connection
from ..sqlite.row_search import rows_holding
from ..sqlite.schema import CACHES, CHECKPOINTS

NAME = "caches.db"
TABLES = ("checkpoints", "statuses", "written")
_FORMAT = 1
_IN_MEMORY = Path(":memory:")


class LocalCaches:
    """Saved states and digests in a small database of this machine."""

    def __init__(
        self, folder: Path | None, identity: str, *, entropy: Entropy, wait: Wait
    ) -> None:
        path = _IN_MEMORY if folder is None else folder / NAME
        self._identity = identity
        try:
            raw = _opened(path)
        except sqlite3.Error as error:
            raise RefusedError(
                f"{path} cannot be opened: {error}",
                hint="it holds caches only: check the folder, or remove it",
                path=str(path),
            ) from error
        self._raw = raw
        self._connection = Connection(path, raw, entropy=entropy, wait=wait)
        self._make()
        self.checkpoints = SqliteCheckpoints(self._connection)
        self.digests = SqliteDigests(self._connection)

    def _make(self) -> None:
        rows = self._connection.rows
        ((format_,),) = rows("PRAGMA user_version")
        if format_ == _FORMAT and rows("SELECT log FROM kept_of") == [(self._identity,)]:
            return
        with self._connection.transaction():
            for name in ("kept_of", *TABLES):
                rows(f"DROP TABLE IF EXISTS {name}")
            for statement in (*CACHES, *CHECKPOINTS):
                rows(statement)
            rows("CREATE TABLE kept_of (log TEXT NOT NULL)")
            rows("INSERT INTO kept_of (log) VALUES (?)", (self._identity,))
            rows(f"PRAGMA user_version = {_FORMAT}")

    def holding(self, forms: Sequence[bytes], parts: Sequence[str]) -> list[str]:
        """Return table and first columns of the rows that hold one of some forms."""
        return [*rows_holding(self._connection.rows, forms, parts)]

    def problems(self) -> list[str]:
        """Return what SQLite finds wrong with the caches."""
        rows = self._connection.rows("PRAGMA integrity_check(20)")
        return [f"{NAME}: {said}" for (said,) in rows if said != "ok"]

    def close(self) -> None:
        """Give the file back."""
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
