"""Complete reads and writes through file descriptors, and file locks with a bounded wait.

A long wait is reported. The holders of a database's locks are read from the system's lock
table, if it has one.
"""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOLCK
from pathlib import Path

from ...errors import BusyError, RefusedError
from ..port import Wait


@contextmanager
def held_open(path: Path | str, flags: int, *, dir_fd: int | None = None) -> Iterator[int]:
    """Yield a descriptor of a file or folder, which child processes do not inherit."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600, dir_fd=dir_fd)
    try:
        yield descriptor
    finally:
        give_back(descriptor)


def read_whole(path: Path, *, at_most: int = -1) -> bytes:
    """Return a file's bytes, or at most the first `at_most` of them."""
    with held_open(path, os.O_RDONLY) as held, open(held, "rb", closefd=False) as file:
        return file.read(at_most)


def write_whole(descriptor: int, content: bytes) -> None:
    """Write all bytes, even if the system accepts only some of them per call."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def sync(path: Path) -> None:
    """Wait until a file's contents or a folder's entries are on disk."""
    with held_open(path, os.O_RDONLY) as descriptor:
        try:
            os.fsync(descriptor)
        except OSError as error:
            # The error contains only a number.
            error.filename = os.fspath(path)
            raise


def give_back(descriptor: int) -> None:
    """Close a descriptor that is no longer needed, ignoring errors.

    The system closes the descriptor even if it reports an error, and earlier reads and
    syncs remain valid.
    """
    try:  # noqa: SIM105 - a restore closes a file for each that it writes.
        os.close(descriptor)
    except OSError:
        pass


def is_being_written(descriptor: int) -> bool:
    """Return whether any process has the file open for writing; false if unknown."""
    # Imported here: only waiting processes check this. `_signal` contains the number;
    # `signal` first creates enums for all numbers, which takes longer than the check.
    try:
        from _signal import SIGURG  # type: ignore[import-not-found]
    except ImportError:
        from signal import SIGURG

    try:
        # The signal sent if a process opens the file for writing must not end this process.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, SIGURG)
        # A read lease is refused as long as any process has the file open for writing.
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except AttributeError:
        return False
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False


_LOCKS = Path("/proc/locks")
NO_LOCKS = "check the disk; mount a network file system with locks"


class Waiting:
    """A bounded wait for a file; its time limit starts when the object is created."""

    def __init__(self, wait: Wait, path: Path) -> None:
        self._wait = wait
        self._path = path
        self._since = time.monotonic()
        self._said = False

    def is_over(self) -> bool:
        """Return whether the time limit was reached; report a long wait once."""
        waited = time.monotonic() - self._since
        if waited >= self._wait.seconds:
            return True
        if not self._said and waited >= self._wait.quiet_seconds:
            self._said = True
            left = self._wait.seconds - waited
            self._wait.say(
                f"waiting for {self._path}, held by {_named(lock_holders(self._path))}:"
                f" {left:.0f} s at most"
            )
        return False

    def pause(self) -> None:
        """Sleep briefly; pauses are shorter before the wait is reported."""
        time.sleep(0.05 if self._said else 0.002)


class FileLocks:
    """Named locks, each of which is a file in the log's folder."""

    def __init__(self, folder: Path, wait: Wait) -> None:
        self._folder = folder
        self.wait = wait

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Hold a lock exclusively (see `port.Locks`).

        Raise `BusyError` if other processes do not release it in time.
        """
        path = self._folder / name
        flags = os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK
        with held_open(path, flags) as descriptor:
            take(descriptor, path, self.wait)
            yield


class MemoryLocks:
    """Named locks within one process; acquiring a held lock fails without waiting."""

    def __init__(self, wait: Wait) -> None:
        self.wait = wait
        self._held: set[str] = set()

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Hold a lock exclusively; raise `BusyError` if it is already held."""
        if name in self._held:
            raise BusyError(f"{name} is locked by this process", holders=["this process"])
        self._held.add(name)
        try:
            yield
        finally:
            self._held.discard(name)


def take(descriptor: int, path: Path, wait: Wait) -> None:
    """Lock an open file; raise `BusyError` if other processes do not release it in time."""
    waiting: Waiting | None = None
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            waiting = waiting or Waiting(wait, path)
            if waiting.is_over():
                raise held(path, "") from error
            waiting.pause()
        except OSError as error:
            if error.errno == ENOLCK:
                said = f"{path}: the disk does not support locks ({error.strerror})"
                raise RefusedError(said, hint=NO_LOCKS) from error
            raise
        else:
            return


def held(path: Path, said: str) -> BusyError:
    """Return the error for a lock that other processes did not release in time."""
    holders = lock_holders(path)
    return BusyError(
        f"{said}{path} is locked by {_named(holders)}",
        hint="wait for the process to finish, or end it, and repeat the command",
        path=str(path),
        holders=holders,
    )


def lock_holders(path: Path) -> list[str]:
    """Return the other processes that hold a write lock on a database or its files.

    The description of a process has the format `process 4711 (python3)`. The list is empty
    if the system does not list locks.
    """
    names = (path, path.with_name(f"{path.name}-shm"), path.with_name(f"{path.name}-wal"))
    inodes = {name.stat().st_ino for name in names if name.exists()}
    try:
        lines = _LOCKS.read_text().splitlines()
    except OSError:
        return []
    found = dict.fromkeys(pid for pid, inode in map(_parsed, lines) if inode in inodes)
    return [f"process {pid} ({_name(pid)})" for pid in found if pid not in (0, os.getpid())]


def why_no_lock(path: Path) -> str | None:
    """Return why a database's disk does not support locks; None if it does.

    SQLite reports every failed lock as held by another process. This function locks the
    head file, which is otherwise never locked; opening and closing the database's own files
    would release SQLite's locks on them.
    """
    try:
        descriptor = os.open(f"{path}-head", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        # Other errors do not concern locks.
        return error.strerror if error.errno == errno.EIO else None
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return None
    except OSError as error:
        return error.strerror
    finally:
        give_back(descriptor)
    return None


def _parsed(line: str) -> tuple[int, int]:
    """Return the process id and inode of a write lock; zeros for any other line."""
    fields = line.split()
    # "1: POSIX  ADVISORY  WRITE 4711 fe:00:1234 120 120"; a waiting one has an arrow.
    if len(fields) < 6 or fields[1] == "->" or fields[3] != "WRITE":
        return 0, 0
    inode = fields[5].rpartition(":")[2]
    return int(fields[4]), int(inode) if inode.isdigit() else 0


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "unknown"


def _named(holders: list[str]) -> str:
    return ", ".join(holders) or "another process"
