"""Putting a file in place whole or not at all, and never over something unseen.

A file is named by an open folder and its name there, so that no link leads elsewhere.
"""

import errno
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TypeVar

import msgspec

from ..log.stores.descriptors import give_back, is_being_written, write_whole
from .folders import NAMES, opened, opened_plain
from .folders import NotPlainError as NotPlainError

AnyPath = TypeVar("AnyPath", Path, PurePosixPath)

WRITERS_SECONDS_MAX = 2.0
"""How long an editor that still has a displaced file open is waited for."""
FILE_BYTES_MAX = 128 * 1024 * 1024
"""The maximum size of a state file; a larger file is not read into memory."""
PIECE = 64 * 1024
"""So many bytes of a file are compared at once."""
MODE = 0o666
"""The mode of a new file, before the umask."""

_WRITE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_RENAME_EXCHANGE = 2
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


class FilePlace(msgspec.Struct, frozen=True):
    """The path of a file, which may be missing."""

    folder: int
    """The descriptor of its folder."""
    name: str

    def beside(self, name: str) -> "FilePlace":
        """Return the place of another name in the same folder."""
        return FilePlace(self.folder, name)


class FileStatus(msgspec.Struct, frozen=True):
    """The status of a regular file, determined without reading it."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int


def read_file(spot: FilePlace, *, at_most: int | None = None, like: bytes = b"") -> bytes:
    """Return a plain file's bytes, or the first of them where no more is wanted.

    A file that holds just what `like` does is read and compared, and not kept in the
    memory once more. Raise `NotPlainError` for a link, a pipe, a folder.
    """
    with opened_plain(spot.name, folder=spot.folder) as descriptor:
        if at_most is None:
            return _whole(descriptor, like)
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(at_most)


def status_of(spot: FilePlace) -> FileStatus | None:
    """Return the status of a regular file; None if there is no such file.

    A write changes the status, but not immediately for a memory map, nor twice within one
    tick of the system's clock.
    """
    status = _stat(spot)
    if status is None:
        return None
    return FileStatus(
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    )


def mode_of(spot: FilePlace) -> int | None:
    """Return the mode of a regular file; None if there is no such file."""
    status = _stat(spot)
    return None if status is None else status.st_mode & 0o777


def _stat(spot: FilePlace) -> os.stat_result | None:
    try:
        status = os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def replace_file(target: Path, content: bytes, *, mode: int) -> None:
    """Write a file in one of our folders, with exactly this mode."""
    with opened(target.parent) as folder:
        replace_in(FilePlace(folder, target.name), content, mode=mode)


def replace_in(spot: FilePlace, content: bytes, *, mode: int | None = None) -> None:
    """Put a file in place: temp file, fsync, rename, fsync of the folder.

    Without a mode it keeps that of the file it replaces; a new one follows the umask.
    """
    draft = _draft(spot)
    _remove(draft)
    mode = mode_of(spot) if mode is None else mode
    made = MODE if mode is None else mode
    descriptor = os.open(draft.name, _WRITE, made, dir_fd=draft.folder)
    _fill(descriptor, draft, content, mode=mode)
    try:
        _rename(draft, spot)
    except OSError:
        _remove(draft)
        raise
    os.fsync(spot.folder)


def swap_file(spot: FilePlace, content: bytes, *, like: bytes = b"") -> bytes | None:
    """Write a file and return the bytes that it replaced; None if there was no file.

    The two files are exchanged in one step, so a file that another process has just written
    is returned and not lost. `like` is the expected content, as for `read_file`. The
    displaced file is kept until `forget_left_behind`. The caller must hold the lock, and
    first recover the file returned by `left_behind`.
    """
    draft, aside = _draft(spot), _aside(spot)
    _remove(draft)
    mode = mode_of(spot)
    made = MODE if mode is None else mode
    descriptor = os.open(draft.name, _WRITE, made, dir_fd=draft.folder)
    _fill(descriptor, draft, content, mode=mode)
    _rename(draft, aside)
    before, folders = None, {"src_dir_fd": aside.folder, "dst_dir_fd": spot.folder}
    while True:
        try:
            os.link(aside.name, spot.name, **folders, follow_symlinks=False)
        except FileExistsError:
            is_exchanged = exchange(spot.folder, aside.name, spot.name)
            if is_exchanged is False:
                # The file was removed in between, and may be there again.
                continue
            if is_exchanged is None:
                _rename(aside, spot)
            before = _read_when_closed(aside, like)
        break
    os.fsync(spot.folder)
    return before


def left_behind(spot: FilePlace) -> bytes | None:
    """Return the file that a process killed during a swap left over, if there is one.

    It is complete: the new file before the exchange, the old one after it. A link or a pipe
    of that name is ignored.
    """
    _remove(_draft(spot))
    with suppress(FileNotFoundError, NotPlainError):
        return read_file(_aside(spot))
    return None


def forget_left_behind(spot: FilePlace) -> None:
    """Remove what was left aside, once it is known or kept."""
    _remove(_aside(spot))


def unfinished(target: AnyPath) -> tuple[AnyPath, AnyPath]:
    """Return where a killed process leaves the new file, and where what it displaced."""
    spot = FilePlace(-1, target.name)
    return target.with_name(_draft(spot).name), target.with_name(_aside(spot).name)


def _draft(spot: FilePlace) -> FilePlace:
    return spot.beside(f".{spot.name}.sprintlog-new")


def _aside(spot: FilePlace) -> FilePlace:
    return spot.beside(f".{spot.name}.sprintlog-old")


def _rename(source: FilePlace, target: FilePlace) -> None:
    os.replace(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder)


def _remove(spot: FilePlace) -> None:
    with suppress(FileNotFoundError):
        os.unlink(spot.name, dir_fd=spot.folder)


def _whole(descriptor: int, like: bytes = b"") -> bytes:
    """Return all bytes of a file; memory is asked for no more than it has of them."""
    size = os.fstat(descriptor).st_size
    if size == len(like) and _is_like(descriptor, like):
        return like
    os.lseek(descriptor, 0, os.SEEK_SET)
    with open(descriptor, "rb", closefd=False) as file:
        content = file.read(min(size, FILE_BYTES_MAX) + 1)
        if len(content) > size:
            # It grew while it was read.
            content += file.read(FILE_BYTES_MAX)
    if len(content) > FILE_BYTES_MAX:
        raise OSError(errno.EFBIG, f"it is longer than {FILE_BYTES_MAX // 2**20} MiB")
    return content


def _is_like(descriptor: int, content: bytes) -> bool:
    """Return whether a file has exactly these bytes; all of them are compared."""
    place = 0
    while piece := os.read(descriptor, PIECE):
        if not content.startswith(piece, place):
            return False
        place += len(piece)
    return place == len(content)


def _fill(descriptor: int, draft: FilePlace, content: bytes, *, mode: int | None) -> None:
    """Write, sync and close a draft; without a mode the umask determines it.

    The draft is removed if that fails.
    """
    try:
        if mode is not None:
            os.fchmod(descriptor, mode)
        write_whole(descriptor, content)
        os.fsync(descriptor)
    except OSError:
        _remove(draft)
        raise
    finally:
        give_back(descriptor)


def exchange(folder: int, one: str, other: str) -> bool | None:
    """Exchange two names of an open folder in one step.

    Return False if one of them does not exist, None if the system has no such step.
    """
    if (rename := system_call("renameat2")) is None:
        return None
    names = one.encode(*NAMES), other.encode(*NAMES)
    code = rename(folder, names[0], folder, names[1], _RENAME_EXCHANGE)
    if code in (0, errno.ENOENT):
        return code == 0
    if code not in _UNSUPPORTED:
        raise OSError(code, os.strerror(code), other)
    return None


def _read_when_closed(displaced: FilePlace, like: bytes) -> bytes | None:
    """Return a displaced file's bytes, after all writers have closed it.

    An editor that opened the file under its old name still saves into it. The wait is
    bounded, and skipped if the system cannot report writers. Only a regular file is kept.
    """
    try:
        with opened_plain(displaced.name, folder=displaced.folder) as descriptor:
            until = time.monotonic() + WRITERS_SECONDS_MAX
            while is_being_written(descriptor) and time.monotonic() < until:
                time.sleep(0.005)
            return _whole(descriptor, like)
    except (FileNotFoundError, NotPlainError):
        return None


@cache
def system_call(name: str) -> Callable[..., int] | None:
    """Return a call of the system that Python lacks, or None if there is no such call.

    It returns 0 or the number of an error.
    """
    # Imported only here: most commands call none.
    try:
        return _called_directly(name)
    except ImportError:
        return _called_by_ctypes(name)


def _called_directly(name: str) -> Callable[..., int] | None:
    """Return a function of the system, as `ctypes` itself finds and calls it.

    To import `ctypes` makes all kinds of numbers and of libraries first, and takes as long
    as to read a log and write into it.
    """
    from _ctypes import (
        FUNCFLAG_CDECL,
        FUNCFLAG_USE_ERRNO,
        CFuncPtr,
        dlopen,
        dlsym,
        get_errno,
    )

    class Function(CFuncPtr):
        _flags_ = FUNCFLAG_CDECL | FUNCFLAG_USE_ERRNO

    try:
        itself = dlopen(None, 0)  # type: ignore[arg-type]
        function = Function(dlsym(itself, name))
    except OSError:
        return None
    return lambda *arguments: function(*arguments) and get_errno()


def _called_by_ctypes(name: str) -> Callable[..., int] | None:
    """Return the same where Python's inner module is another one."""
    import ctypes

    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    return function and (lambda *arguments: function(*arguments) and ctypes.get_errno())
