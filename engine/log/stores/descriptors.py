"""Reading and writing of whole files, and closing of descriptors."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held_open(
    path: Path | str, flags: int, mode: int = 0o600, *, dir_fd: int | None = None
) -> Iterator[int]:
    """Hold a file or a folder open; no process that is started in between gets it."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, mode, dir_fd=dir_fd)
    try:
        yield descriptor
    finally:
        give_back(descriptor)


def read_whole(path: Path, *, at_most: int = -1) -> bytes:
    """Return a file's bytes, or the first of them where it may not be read further."""
    with held_open(path, os.O_RDONLY) as held, open(held, "rb", closefd=False) as file:
        return file.read(at_most)


def write_whole(descriptor: int, content: bytes) -> None:
    """Write all bytes: the system may take fewer of them at once."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def sync(path: Path) -> None:
    """Wait until a file's bytes, or the names in a folder, are on the disk."""
    with held_open(path, os.O_RDONLY) as descriptor:
        try:
            os.fsync(descriptor)
        except OSError as error:
            # It only knows a number.
            error.filename = os.fspath(path)
            raise


def give_back(descriptor: int) -> None:
    """Close a descriptor that is no longer needed; errors are ignored.

    The system closes it even if it reports an error, and everything read or synced before
    remains valid.
    """
    try:  # noqa: SIM105 - a restore closes a file for each that it writes.
        os.close(descriptor)
    except OSError:
        pass


def is_being_written(descriptor: int) -> bool:
    """Return whether a process has an open file open for writing; false if unknown."""
    # Imported here: only who waits for others asks. The inner module of Python has the
    # number; `signal` makes words of all numbers first, which takes longer than to ask.
    try:
        from _signal import SIGURG  # type: ignore[import-not-found]
    except ImportError:
        from signal import SIGURG

    try:
        # Who opens it for writing while the lease is held must not end this process.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, SIGURG)
        # A lease for reading is refused as long as anybody has the file open for writing.
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except AttributeError:
        return False
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False
