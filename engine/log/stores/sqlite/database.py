"""Creation and opening of the database file, which is not trusted, and its identity.

Pragmas and modes are set here. If a file is replaced, removed or restored while a process
has it open, SQLite goes on writing into a file without a name, and those writes are lost.
`Identity` detects that.
"""

import os
import sqlite3
from contextlib import closing
from errno import ENOLCK
from os import stat
from pathlib import Path

import msgspec

from .... import errors
from ...port import Entropy, Wait
from ..descriptors import sync
from ..locks import NO_LOCKS, take
from .connection import WAIT_MILLISECONDS, Patience, explained, is_busy
from .journal_mode import JournalMode, choose_journal_mode, set_journal_mode
from .schema import APPLICATION_ID, MIGRATIONS, check_schema, migrate, stand_in

SQLITE_VERSION = sqlite3.sqlite_version_info
_PLAIN_IN_URI = b"/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ESCAPED = {byte: f"%{byte:02X}" for byte in {*range(256)} - {*_PLAIN_IN_URI}}


class Opened(msgspec.Struct, frozen=True):
    """An open database, and how it was opened."""

    connection: sqlite3.Connection
    mode: JournalMode
    only_read: errors.SprintlogError | None
    """Why it is read-only, if opening it for writing failed."""
    is_behind: bool
    """Whether its schema is older; the first write migrates it."""


def head_path(path: Path) -> Path:
    """Return the path of the head file of a database."""
    return path.with_name(f"{path.name}-head")


def wal_path(path: Path) -> Path:
    """Return the path of the write-ahead log of a database."""
    return path.with_name(f"{path.name}-wal")


def mark_path(path: Path) -> Path:
    """Return the path of the file that marks an unfinished erasure."""
    return path.with_name(f"{path.name}-erasing")


def uri_of(path: Path) -> str:
    """Return the URI of a file; `Path.as_uri` would import the URL parser."""
    return f"file://{os.fsencode(path.absolute()).decode('latin-1').translate(_ESCAPED)}"


def check_is_sqlite(path: Path, what: str) -> None:
    """Raise `RefusedError` unless there is a SQLite file: other stores have none."""
    if not path.exists():
        raise errors.RefusedError(
            f"{what} is for logs in SQLite, and there is none at {path}",
            hint="`sprintlog store export` writes any log as lines",
            path=str(path),
        )


def create_database(path: Path, *, wait: Wait) -> None:
    """Create an empty log; it appears under its name only when complete."""
    try:
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        _make_folder(path.parent)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _not_created(path, error) from error
    try:
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
    finally:
        os.close(folder)


def open_database(path: Path, *, readonly: bool, wait: Wait, entropy: Entropy) -> Opened:
    """Return a connection to an existing log with the current or an older schema.

    A log with an older schema is read-only until `bring_up_to_date`; a log on a full disk
    or a read-only file system stays read-only. Raise `BusyError` if other processes hold
    it beyond the wait.
    """
    mode = choose_journal_mode(path.parent)
    patience: Patience | None = None
    while True:
        try:
            return _open_as_it_can(path, mode, readonly=readonly)
        except sqlite3.Error as error:
            patience = patience or Patience(wait, entropy=entropy, path=path)
            patience.after(error)


def _open_as_it_can(path: Path, mode: JournalMode, *, readonly: bool) -> Opened:
    try:
        return _open(path, mode, readonly=readonly)
    except errors.RefusedError as error:
        if readonly or isinstance(error, errors.NotFoundError):
            raise
        try:
            opened = _open(path, mode, readonly=True)
            return msgspec.structs.replace(opened, only_read=error)
        except errors.SprintlogError:
            raise error from None


def bring_up_to_date(opened: Opened) -> str:
    """Migrate the schema, enable writes, and return a line that reports it."""
    opened.connection.execute("PRAGMA query_only=OFF")
    set_journal_mode(opened.connection, opened.mode)
    migrate(opened.connection)
    return f"schema {len(MIGRATIONS)} now, which older versions of sprintlog refuse"


def _open(path: Path, mode: JournalMode, *, readonly: bool) -> Opened:
    if not path.exists():
        raise errors.NotFoundError(f"there is no log at {path}", path=str(path))
    try:
        connection = _connect_readonly(path) if readonly else _connect(path, "mode=rw")
        try:
            if is_behind := check_schema(connection):
                stand_in(connection)
                connection.execute("PRAGMA query_only=ON")
            elif not readonly:
                set_journal_mode(connection, mode)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        if is_busy(error):
            raise
        raise explained(error, path) from error
    except UnicodeDecodeError as error:
        # Python cannot decode the message in which SQLite quotes the schema.
        raise errors.UnreadableError(
            f"{path} is damaged: its schema is no text", hint=errors.RESCUE
        ) from error
    return Opened(connection, mode, None, is_behind)


def _fill(draft: Path) -> None:
    with closing(_connect(draft, "mode=rw")) as connection:
        connection.execute("PRAGMA synchronous=EXTRA")
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        migrate(connection)
        set_journal_mode(connection, choose_journal_mode(draft.parent))


def _connect(path: Path, query: str) -> sqlite3.Connection:
    # A URI, because a plain name would create a missing file.
    connection = sqlite3.connect(
        f"{uri_of(path)}?{query}",
        uri=True,
        isolation_level=None,
        timeout=WAIT_MILLISECONDS / 1000,
    )
    try:
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA recursive_triggers=ON")
        if query != "mode=rw":
            # The first statement that touches the file.
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_readonly(path: Path) -> sqlite3.Connection:
    try:
        return _connect(path, "mode=ro")
    except sqlite3.OperationalError as error:
        # In a read-only folder SQLite cannot share its write-ahead log; without one,
        # the database file is complete.
        wal = wal_path(path)
        if is_busy(error) or (wal.exists() and wal.stat().st_size):
            raise
        return _connect(path, "mode=ro&immutable=1")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return
    # The umask may have removed even the owner's permissions.
    folder.chmod(0o700)


def _refuse_leftovers(path: Path) -> None:
    if os.path.lexists(path):
        raise errors.RefusedError(
            f"{path} exists: a log is never created over another", path=str(path)
        )
    for name in (wal_path(path), path.with_name(f"{path.name}-journal"), head_path(path)):
        if os.path.lexists(name):
            # SQLite would apply another log's journal to the new one.
            raise errors.RefusedError(
                f"{name} is left of a log that is gone",
                hint="restore that log, or move the file away to begin a new one",
                path=str(name),
            )


def _remove(draft: Path) -> None:
    for suffix in ("", "-journal", "-wal", "-shm"):
        draft.with_name(draft.name + suffix).unlink(missing_ok=True)


def _not_created(path: Path, error: OSError) -> errors.RefusedError:
    hint = "check the permissions of the folder, and the free space on its disk"
    return errors.RefusedError(
        f"{path} cannot be created: {error.strerror}",
        hint=NO_LOCKS if error.errno == ENOLCK else hint,
        path=str(path),
    )


class Identity:
    """The identity of the database file and its write-ahead log when they were opened."""

    def __init__(self, path: Path) -> None:
        self._path, self._wal = os.fspath(path), os.fspath(wal_path(path))
        self._folder = os.fspath(path.absolute().parent)
        self._settled: os.stat_result | None = None
        """The stat of the folder when its names were last known to be right.

        Saved only after the clock has advanced, so that later changes have a later time.
        """
        found = stat(self._path)
        self._known = found.st_dev, found.st_ino
        self._known_wal: tuple[int, int] | None = None
        if found.st_nlink > 1:
            raise errors.RefusedError(
                f"{path} has a second name (a hard link): two names, two locks",
                hint="`sprintlog doctor` says how to find the other one; remove that",
                path=self._path,
            )

    def check(self, *, wal: bool) -> None:
        """Raise `LostLogError` if a file was removed or replaced.

        `wal` states that this process has just written to the write-ahead log.
        """
        # Adding, removing or replacing a name changes the time of its folder. Checking
        # only the folder saves a third of an append: after a stat of a file, Linux gives
        # its next write an exact time, which is expensive.
        if (
            (settled := self._settled)
            and (folder := _met(self._folder))
            and folder.st_ctime_ns == settled.st_ctime_ns
            and folder.st_ino == settled.st_ino
            and folder.st_dev == settled.st_dev
        ):
            return
        self._look(wal=wal)

    def _look(self, *, wal: bool) -> None:
        """Check each file, and the folder last."""
        self._settled = None
        # First: later writes get the time of our last write or a later one.
        met = _met(self._wal) if wal else None
        if _file(_met(self._path)) != self._known:
            raise self._lost(self._path)
        if not wal:
            return
        if self._known_wal is None:
            self._known_wal = _file(met)
        elif _file(met) != self._known_wal:
            raise self._lost(self._wal)
        # Last: a folder whose change time precedes that write has not changed since, so
        # the names checked above are valid, and its next change has a later time.
        folder = _met(self._folder)
        if met and folder and folder.st_ctime_ns < met.st_ctime_ns:
            self._settled = folder

    def _lost(self, name: str) -> errors.LostLogError:
        return errors.LostLogError(
            f"{name} was removed or replaced while it was open: what was recorded last "
            "may be lost",
            hint="end every sprintlog process, then `sprintlog verify`",
        )


def _met(name: str) -> os.stat_result | None:
    try:
        return stat(name)
    except FileNotFoundError:
        return None


def _file(met: os.stat_result | None) -> tuple[int, int] | None:
    return met and (met.st_dev, met.st_ino)
