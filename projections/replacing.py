"""Putting a file in place whole or not at all, and never over something unseen."""

import errno
import fcntl
import os
import time
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from sprintlog.engine.log.stores.descriptors import give_back, read_whole

AnyPath = TypeVar("AnyPath", Path, PurePosixPath)

WRITERS_SECONDS_MAX = 2.0
"""How long an editor that still has a displaced file open is waited for."""

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def replace_file(target: Path, content: bytes, *, mode: int) -> None:
    """Put a file in place: temp file, fsync, rename, fsync of the folder."""
    temporary = _write_beside(target, content, mode=mode)
    try:
        os.replace(temporary, target)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def swap_file(target: Path, content: bytes, *, mode: int) -> bytes | None:
    """Put a file in place and return the bytes that stood there until then.

    The two are exchanged in one step, so what somebody else put there a moment before
    is returned and not lost; None when there was nothing. Whoever calls this must hold
    the lock, and take over what `left_behind` a killed process.
    """
    aside = _aside(target)
    os.replace(_write_beside(target, content, mode=mode), aside)
    try:
        os.link(aside, target)
        before = None
    except FileExistsError:
        _exchange(aside, target)
        before = _read_when_closed(aside)
    sync_folder(target.parent)
    aside.unlink(missing_ok=True)
    return before


def left_behind(target: Path) -> bytes | None:
    """Return what a process killed in the middle of a swap left aside, if anything.

    It is a whole file: the new one before the exchange, the old one after it.
    """
    _draft(target).unlink(missing_ok=True)
    try:
        return read_whole(_aside(target))
    except FileNotFoundError:
        return None


def forget_left_behind(target: Path) -> None:
    """Remove what was left aside, once it is known or kept."""
    _aside(target).unlink(missing_ok=True)


def unfinished(target: AnyPath) -> tuple[AnyPath, AnyPath]:
    """Return where a killed process leaves the new file, and where what it displaced."""
    return _draft(target), _aside(target)


def sync_folder(folder: Path) -> None:
    """Make what was renamed in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        give_back(descriptor)


def _draft(target: AnyPath) -> AnyPath:
    return target.with_name(f".{target.name}.sprintlog-new")


def _aside(target: AnyPath) -> AnyPath:
    return target.with_name(f".{target.name}.sprintlog-old")


def _write_beside(target: Path, content: bytes, *, mode: int) -> Path:
    draft = _draft(target)
    try:
        flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(draft, flags, mode)
        try:
            os.fchmod(descriptor, mode)
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            give_back(descriptor)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return draft


def _exchange(one: Path, other: Path) -> None:
    """Exchange two files; where the system cannot, put `one` in the place of `other`."""
    rename = _renameat2()
    if rename is not None:
        names = os.fsencode(one), os.fsencode(other)
        if rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
            return
        import ctypes

        code = ctypes.get_errno()
        if code not in _UNSUPPORTED:
            raise OSError(code, os.strerror(code), str(other))
    os.replace(one, other)


def _read_when_closed(displaced: Path) -> bytes | None:
    """Return a displaced file's bytes, once nobody has it open for writing any more.

    An editor that opened it under its old name still saves into it. The wait is bounded;
    where the system cannot tell, there is none.
    """
    try:
        descriptor = os.open(displaced, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        until = time.monotonic() + WRITERS_SECONDS_MAX
        while _is_being_written(descriptor) and time.monotonic() < until:
            time.sleep(0.005)
        return read_whole(displaced)
    finally:
        give_back(descriptor)


def _is_being_written(descriptor: int) -> bool:
    # A lease for reading is refused as long as anybody has the file open for writing.
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except AttributeError:
        return False
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False


@cache
def _renameat2() -> Any:
    # Python has no name for this call; ctypes is imported only where a file changes.
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    return getattr(library, "renameat2", None)
