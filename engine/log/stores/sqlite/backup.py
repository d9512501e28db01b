"""A consistent copy of a log in one file, checked before it counts as one."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import chain
from pathlib import Path

from ....errors import RESCUE, RefusedError, UnreadableError
from ...chain import START, check_rows, recorded
from ...envelope import Head
from ...port import Clock, Entropy, Log
from ..descriptors import sync
from .connection import explained
from .database import head_path
from .store import SqliteLog

PAGES_A_STEP = 4096


def back_up(
    log: Log,
    target: Path,
    *,
    clock: Clock,
    entropy: Entropy,
    check: Callable[[SqliteLog], None],
) -> Head:
    """Copy a log while others may append; return the head of the copy.

    The copy appears under its name only when it was read back whole, and `check` raised
    nothing. Raise `RefusedError` over an existing file, `UnreadableError` when the copy
    is damaged.
    """
    if os.path.lexists(target):
        raise RefusedError(f"{target} exists: a backup is never written over anything")
    draft = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        if isinstance(log, SqliteLog):
            _copy(log.connection.raw, draft)
        else:
            _take(log, draft, clock=clock, entropy=entropy)
        head = check_copy(draft, clock=clock, entropy=entropy, check=check)
        draft.rename(target)
        sync(target.absolute().parent)
    except OSError as error:
        raise RefusedError(f"{target} cannot be written: {error.strerror}") from error
    except sqlite3.Error as error:
        raise explained(error, target) from error
    finally:
        for name in (draft, head_path(draft)):
            name.unlink(missing_ok=True)
    return head


def check_copy(
    path: Path,
    *,
    clock: Clock,
    entropy: Entropy,
    check: Callable[[SqliteLog], None] = lambda log: None,
) -> Head:
    """Return the head of a log whose whole chain was read; raise at its first problem."""
    with closing(SqliteLog(path, clock=clock, entropy=entropy, readonly=True)) as copy:
        rows = chain.from_iterable(copy.pages())
        for problem in check_rows(rows, after=START):
            raise UnreadableError(problem.problem, position=problem.position, hint=RESCUE)
        check(copy)
        return copy.head()


def _take(log: Log, draft: Path, *, clock: Clock, entropy: Entropy) -> None:
    """Copy the events of a log of another store, in a folder that is only ours."""
    # Imported here: a log in SQLite is copied by SQLite.
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix=f"{draft.name}.", dir=draft.parent) as folder:
        path = Path(folder) / "log" / "log.db"
        with closing(SqliteLog.create(path, clock=clock, entropy=entropy)) as made:
            with made.taking_over() as take:
                for page in log.pages():
                    take([recorded(row) for row in page])
            _copy(made.connection.raw, draft)


def _copy(source: sqlite3.Connection, draft: Path) -> None:
    with closing(sqlite3.connect(draft, isolation_level=None)) as copy:
        source.backup(copy, pages=PAGES_A_STEP)
        # In one file: a copy in WAL mode would need its companions.
        copy.execute("PRAGMA journal_mode=DELETE")
        copy.execute("PRAGMA synchronous=EXTRA")
        copy.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sync(draft)
