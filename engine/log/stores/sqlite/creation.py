"""Creates a log's database file."""

import os
import sqlite3
from contextlib import closing
from errno import ENOLCK
from pathlib import Path

from ....errors import RefusedError
from ...port import Wait
from ..descriptors import NO_LOCKS, held_open, sync, take
from .database import connect, head_path, wal_path
from .errors import explained
from .journal_mode import choose_journal_mode, set_journal_mode
from .schema import APPLICATION_ID, migrate


def create_database(path: Path, *, wait: Wait) -> None:
    """Create an empty log; its file gets its final name only when it is complete."""
    try:
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        _make_folder(path.parent)
        with held_open(path.parent, os.O_RDONLY | os.O_DIRECTORY) as folder:
            # Otherwise two concurrent creators would replace each other's log.
            take(folder, path.parent, wait)
            _refuse_leftovers(path)
            draft = path.with_name(f"{path.name}-new")
            _remove(draft)
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            draft.chmod(0o600)
            _fill(draft)
            draft.rename(path)
            os.fsync(folder)
        # The folder may be new too, and its name must survive a power failure.
        sync(path.parent.parent)
    except OSError as error:
        raise _not_created(path, error) from error
    except sqlite3.Error as error:
        raise explained(error, path) from error


def _fill(draft: Path) -> None:
    with closing(connect(draft, "mode=rw")) as connection:
        connection.execute("PRAGMA synchronous=EXTRA")
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        migrate(connection)
        set_journal_mode(connection, choose_journal_mode(draft.parent))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return
    # The umask may have removed even the owner's permissions.
    folder.chmod(0o700)


def _refuse_leftovers(path: Path) -> None:
    if os.path.lexists(path):
        raise RefusedError(
            f"{path} already exists, and a new log never overwrites another", path=str(path)
        )
    for name in (wal_path(path), path.with_name(f"{path.name}-journal"), head_path(path)):
        if os.path.lexists(name):
            # SQLite would apply another log's journal to the new one.
            raise RefusedError(
                f"{name} belongs to a deleted log",
                hint="restore that log, or move the file away to create a new one",
                path=str(name),
            )


def _remove(draft: Path) -> None:
    for suffix in ("", "-journal", "-wal", "-shm"):
        draft.with_name(draft.name + suffix).unlink(missing_ok=True)


def _not_created(path: Path, error: OSError) -> RefusedError:
    hint = "check the folder's permissions and the free space on its disk"
    return RefusedError(
        f"{path} cannot be created: {error.strerror}",
        hint=NO_LOCKS if error.errno == ENOLCK else hint,
        path=str(path),
    )
