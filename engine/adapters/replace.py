"""Atomic replacement of files that never overwrites unseen content.

A file is identified by an open folder and its name in that folder, so that links cannot
redirect it.
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
"""How long to wait for an editor that still has a displaced file open."""
FILE_BYTES_MAX = 128 * 1024 * 1024
"""The maximum size of a state file; a larger file is not read into memory."""
PIECE = 64 * 1024
"""The number of bytes that are compared at once."""
MODE = 0o666
"""The mode of a new file, before the umask."""

_WRITE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_RENAME_EXCHANGE = 2
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


class FilePlace(msgspec.Struct, frozen=True):
    """The location of a file, which may be missing."""

    folder: int
    """The descriptor of the file's folder."""
    name: str

    def beside(self, name: str) -> "FilePlace":
        """Return the location of another name in the same folder."""
        return FilePlace(self.folder, name)


class FileStatus(msgspec.Struct, frozen=True):
    """The status of a regular file, determined without reading it."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int


def read_file(spot: FilePlace, *, at_most: int | None = None, like: bytes = b"") -> bytes:
    """Return a regular file's bytes, or at most the first `at_most` of them.

    The file is compared with `like` while it is read, so that equal content is in memory
    only once. Raise `NotPlainError` for a link, pipe or folder.
    """
    with opened_plain(spot.name, folder=spot.folder) as descriptor:
        if at_most is None:
            return _whole(descriptor, like)
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(at_most)


def status_of(spot: FilePlace) -> FileStatus | None:
    """Return the status of a regular file; None if there is no such file.

    A write changes the status, except for a delayed write through a memory map or a second
    write within one tick of the system's clock.
    """
    if (status := _stat(spot)) is None:
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
    """Write a file in one of sprintlog's folders, with exactly this mode."""
    with opened(target.parent) as folder:
        replace_in(FilePlace(folder, target.name), content, mode=mode)


def replace_in(spot: FilePlace, content: bytes, *, mode: int | None = None) -> None:
    """Replace a file: write a temporary file, sync and rename it, and sync the folder.

    Without a mode, the replaced file's mode is used; for a new file, the umask determines
    it.
    """
    draft = _draft(spot)
    _remove(draft)
    mode = mode_of(spot) if mode is None else mode
    made = MODE if mode is None else mode
    _fill(os.open(draft.name, _WRITE, made, dir_fd=draft.folder), draft, content, mode=mode)
    try:
        _rename(draft, spot)
    except OSError:
        _remove(draft)
        raise
    os.fsync(spot.folder)


def swap_file(spot: FilePlace, content: bytes, *, like: bytes = b"") -> bytes | None:
    """Write a file and return the bytes that it replaced; None if there was no file.

    The two files are exchanged in one step, so a file that another process has just written
    is returned rather than lost. `like` is the expected content, as for `read_file`. The
    displaced file is kept until `forget_left_behind` is called. The caller must hold the
    lock, and must first recover any file that `left_behind` returns.
    """
    draft, aside = _draft(spot), _aside(spot)
    _remove(draft)
    mode = mode_of(spot)
    made = MODE if mode is None else mode
    _fill(os.open(draft.name, _WRITE, made, dir_fd=draft.folder), draft, content, mode=mode)
    _rename(draft, aside)
    before, folders = None, {"src_dir_fd": aside.folder, "dst_dir_fd": spot.folder}
    while True:
        try:
            os.link(aside.name, spot.name, **folders, follow_symlinks=False)
        except FileExistsError:
            is_exchanged = exchange(spot.folder, aside.name, spot.name)
            if is_exchanged is False:
                # The file was removed in between, and may exist again.
                continue
            if is_exchanged is None:
                _rename(aside, spot)
            before = _read_when_closed(aside, like)
        break
    os.fsync(spot.folder)
    return before


def left_behind(spot: FilePlace) -> bytes | None:
    """Return the leftover file of a process that was killed during a swap, or None.

    The file is complete: the new file before the exchange, the old one after it. A link or
    a pipe with that name is ignored.
    """
    _remove(_draft(spot))
    with suppress(FileNotFoundError, NotPlainError):
        return read_file(_aside(spot))
    return None


def forget_left_behind(spot: FilePlace) -> None:
    """Remove the leftover file of a swap after it has been recovered."""
    _remove(_aside(spot))


def unfinished(target: AnyPath) -> tuple[AnyPath, AnyPath]:
    """Return the paths where a killed process leaves the new and the displaced file."""
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
    """Return all of a file's bytes without allocating more memory than the file's size."""
    size = os.fstat(descriptor).st_size
    if size == len(like) and _is_like(descriptor, like):
        return like
    os.lseek(descriptor, 0, os.SEEK_SET)
    with open(descriptor, "rb", closefd=False) as file:
        content = file.read(min(size, FILE_BYTES_MAX) + 1)
        if len(content) > size:
            # The file grew while it was read.
            content += file.read(FILE_BYTES_MAX)
    if len(content) > FILE_BYTES_MAX:
        raise OSError(errno.EFBIG, f"it is longer than {FILE_BYTES_MAX // 2**20} MiB")
    return content


def _is_like(descriptor: int, content: bytes) -> bool:
    """Return whether a file contains exactly these bytes, by comparing all of them."""
    place = 0
    while piece := os.read(descriptor, PIECE):
        if not content.startswith(piece, place):
            return False
        place += len(piece)
    return place == len(content)


def _fill(descriptor: int, draft: FilePlace, content: bytes, *, mode: int | None) -> None:
    """Write, sync and close a draft; without a mode, the umask determines it.

    The draft is removed if an error occurs.
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
    """Exchange two names in an open folder in one step.

    Return False if either name does not exist, and None if the system does not support
    exchanging names.
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
    """Return a displaced file's bytes, after all writers have closed the file.

    An editor that opened the file under its old name still saves to it. The wait is
    bounded, and is skipped if the system cannot report writers. Only a regular file is
    kept.
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
    """Return a system function that Python does not provide; None if it does not exist.

    The function returns 0 or an error number.
    """
    # Imported here: most commands do not use a system function.
    try:
        return _called_directly(name)
    except ImportError:
        return _called_by_ctypes(name)


def _called_directly(name: str) -> Callable[..., int] | None:
    """Return a system function, using the same calls as `ctypes` itself.

    Importing `ctypes` creates many types and loads libraries, which takes as long as
    reading a log and appending to it.
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
    """Return a system function through `ctypes`, for use if `_ctypes` is not available."""
    import ctypes

    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    return function and (lambda *arguments: function(*arguments) and ctypes.get_errno())
