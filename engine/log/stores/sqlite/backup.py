"""Copies of a log: a verified backup in one file, and private copies for examination.

SQLite recovers a write-ahead log and creates files even when it only reads, so a log that
must not change is examined in a private copy.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from ....errors import RESCUE, RefusedError, UnreadableError
from ...chain import START, check_rows, recorded
from ...envelope import Head
from ...port import Clock, Entropy, Log
from ..descriptors import sync
from . import database, errors, page_rows
from .store import SqliteLog

PAGES_A_STEP = 4096
Stamp = tuple[int, int, int] | None


def back_up(
    log: Log,
    target: Path,
    *,
    clock: Clock,
    entropy: Entropy,
    check: Callable[[SqliteLog], None],
) -> Head:
    """Copy a log, even while other processes append to it; return the copy's head.

    The copy gets its final name only after it has been read back completely and `check` has
    accepted it. Raise `RefusedError` if the file exists, and `UnreadableError` if the copy
    is damaged.
    """
    if os.path.lexists(target):
        raise RefusedError(f"{target} already exists, and a backup never overwrites a file")
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
        raise errors.explained(error, target) from error
    finally:
        for name in (draft, database.head_path(draft)):
            name.unlink(missing_ok=True)
    return head


def check_copy(
    path: Path,
    *,
    clock: Clock,
    entropy: Entropy,
    check: Callable[[SqliteLog], None] = lambda log: None,
) -> Head:
    """Verify a log's complete chain, and return its head.

    Raise `UnreadableError` at the first problem.
    """
    with closing(SqliteLog(path, clock=clock, entropy=entropy, readonly=True)) as copy:
        for problem in check_rows(chain.from_iterable(copy.pages()), after=START):
            raise UnreadableError(problem.problem, position=problem.position, hint=RESCUE)
        check(copy)
        return copy.head()


def _take(log: Log, draft: Path, *, clock: Clock, entropy: Entropy) -> None:
    """Copy a log from another kind of store to a SQLite draft."""
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
        # In one file: a copy in WAL mode would require its companion files.
        copy.execute("PRAGMA journal_mode=DELETE")
        copy.execute("PRAGMA synchronous=EXTRA")
        copy.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sync(draft)


def files_now(path: Path) -> list[Stamp]:
    """Return the inode, size and change time of each of a log's files."""
    found: list[Stamp] = []
    for name in _files(path):
        try:
            file = name.stat()
            found.append((file.st_ino, file.st_size, file.st_mtime_ns))
        except FileNotFoundError:
            found.append(None)
    return found


@contextmanager
def private_copy(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary copy of a log; raise `OSError` if copying fails.

    A concurrent writer can corrupt the copy; compare `files_now` before and after. Do not
    call this in a process that has the log open: closing a file that was read would release
    SQLite's locks on it.
    """
    with TemporaryDirectory(prefix="sprintlog-doctor-") as folder:
        copy = Path(folder).resolve() / path.name
        # The head is copied first: a head that is older than the log is valid.
        names = [(database.head_path(path), database.head_path(copy))]
        for source, target in [*names, *zip(_files(path), _files(copy), strict=True)]:
            if source.exists():
                shutil.copyfile(source, target)
        yield copy


def _files(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in page_rows.SUFFIXES]
