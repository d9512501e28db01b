"""Who holds a database, by the system's own list of locks, and whether one can hold it."""

import errno
import fcntl
import os
from pathlib import Path

from .descriptors import give_back

_LOCKS = Path("/proc/locks")


def lock_holders(path: Path) -> list[str]:
    """Return the other processes that hold a write lock on a database or its files.

    Each as `process 4711 (python3)`; empty where the system does not tell.
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
    """Return why the disk of a database gives no locks; None where it gives them.

    SQLite takes every lock that fails for one that another process has. Tried on the head
    file, that nobody locks: to close the database's own files would give up its locks.
    """
    try:
        descriptor = os.open(f"{path}-head", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        # Whatever else is in the way says nothing about locks.
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
    """Return pid and inode of one write lock; zeros for any other line."""
    fields = line.split()
    # "1: POSIX  ADVISORY  WRITE 4711 fe:00:1234 120 120"; one that waits has an arrow.
    if len(fields) < 6 or fields[1] == "->" or fields[3] != "WRITE":
        return 0, 0
    inode = fields[5].rpartition(":")[2]
    return int(fields[4]), int(inode) if inode.isdigit() else 0


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "unknown"
