"""Opens folders and files without following links, and checks paths."""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from ..errors import InvalidInputError, NotFoundError
from ..log.stores.descriptors import give_back, held_open

TEXT_BYTES_MAX = 1024 * 1024
_BYTE_ORDER_MARK = "\ufeff"
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ROOT = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
NAMES = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
"""The encoding of names and its error handler, as in `os.fsencode`."""
_LINK = "it is a link, which is not followed"
NO_FOLDER = "a parent is not a folder, or is a link, which is not followed"
_IGNORABLE = frozenset(
    "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"
)
"""The characters that the macOS file system ignores in names."""


def opened(root: Path) -> AbstractContextManager[int]:
    """Open a folder; the path to it may contain symbolic links."""
    return held_open(root, os.O_RDONLY | os.O_DIRECTORY)


def opened_file(folder: int, name: str) -> AbstractContextManager[int]:
    """Open a file in an open folder for reading, without following links or waiting."""
    return held_open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)


class NotPlainError(OSError):
    """The path refers to something other than a regular file."""


@contextmanager
def opened_plain(path: Path | str, *, folder: int | None = None) -> Iterator[int]:
    """Open a regular file for reading, in an open folder or by its path.

    Raise `NotPlainError` for a link, pipe or folder.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, dir_fd=folder)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise NotPlainError(errno.EINVAL, "not a regular file")
            yield descriptor
        finally:
            give_back(descriptor)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotPlainError(errno.ELOOP, _LINK) from error
        if error.filename is None:
            # The error of a failed read contains only a number.
            error.filename = os.fspath(path)
        raise


def read_plain(path: Path | str, *, at_most: int, folder: int | None = None) -> bytes:
    """Return at most `at_most` bytes of a file; raise the errors of `opened_plain`."""
    with opened_plain(path, folder=folder) as held, open(held, "rb", closefd=False) as file:
        return file.read(at_most)


@contextmanager
def opened_below(root: int | Path, folder: str, *, make: bool = False) -> Iterator[int]:
    """Open a folder at a path below `root`; raise `OSError` if the path contains a link.

    If `make` is true, missing folders are created. The path `root` itself may contain
    links.
    """
    descriptor = root if isinstance(root, int) else os.open(root, _ROOT)
    try:
        for name in filter(None, folder.split("/")):
            above, descriptor = descriptor, _enter(name, descriptor, make=make)
            if above != root:
                give_back(above)
        yield descriptor
    finally:
        if descriptor != root:
            give_back(descriptor)


def _enter(name: str, above: int, *, make: bool) -> int:
    try:
        return os.open(name, FOLDER, dir_fd=above)
    except FileNotFoundError:
        if not make:
            raise
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=above)
        return os.open(name, FOLDER, dir_fd=above)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise OSError(error.errno, NO_FOLDER, name) from error
        raise


def is_gits_own(name: str) -> bool:
    """Return whether a name refers to git's own folder on any system.

    Letter case, ignorable characters, trailing dots and spaces, NTFS streams and short
    names are taken into account.
    """
    return _means(name, ".git", "git~1")


def is_sound(path: str) -> bool:
    """Return whether a path stays below its root and outside git's folder."""
    # Nearly every path is plain: none of its names starts with a dot, is empty or is short.
    rooted = f"/{path}/"
    if rooted.isascii() and not ("/." in rooted or "//" in rooted or "~" in rooted):
        return True
    return not any(part in ("", ".", "..") or is_gits_own(part) for part in path.split("/"))


def may_take_files(path: str) -> bool:
    """Return whether a path may be a user's file rather than one of git's or a log's."""
    return is_sound(path) and not any(map(is_ours, path.split("/")))


def is_ours(name: str) -> bool:
    """Return whether a name refers to a log's folder on any system."""
    return _means(name, ".sprintlog", "sprint~1")


def _means(name: str, whole: str, short: str) -> bool:
    if name == whole:
        return True
    if name[:1] not in (".", whole[1], whole[1].upper()) and name.isascii():
        return False
    seen = "".join(char for char in name if char not in _IGNORABLE).casefold()
    return seen.partition(":")[0].rstrip(". ") in (whole, short)


def pieces_of(file: Path, *, piece_max: int) -> Iterator[bytes]:
    """Yield a file's lines, up to its size when it was opened, splitting long lines.

    Raise `NotFoundError` if the file is missing, and `InvalidInputError` if it is not a
    regular file.
    """
    try:
        held = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(held, "rb") as reading:
            status = os.fstat(held)
            if not stat.S_ISREG(status.st_mode):
                raise InvalidInputError("is not a file", file=str(file))
            left = status.st_size
            while left > 0 and (piece := reading.readline(min(piece_max, left))):
                left -= len(piece)
                yield piece
    except FileNotFoundError as error:
        raise NotFoundError(f"{file}: no such file", file=str(file)) from error
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise InvalidInputError(problem, file=str(file)) from error


def read_text(root: Path, path: str) -> str:
    """Return a file's text, given its path relative to the work tree's root.

    Raise `NotFoundError` if there is no such file, and `InvalidInputError` unless it is a
    regular UTF-8 file of at most `TEXT_BYTES_MAX` bytes whose path contains no link.
    """
    if not is_sound(path):
        raise InvalidInputError("is not the path of a file in the work tree", file=path)
    folder, _, name = path.rpartition("/")
    try:
        with (
            opened(root) as tree,
            opened_below(tree, folder) as held,
            opened_file(held, name) as file,
        ):
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise InvalidInputError("is not a regular file", file=path)
            with open(file, "rb", closefd=False) as reading:
                content = reading.read(TEXT_BYTES_MAX + 1)
    except FileNotFoundError as error:
        raise NotFoundError(f"{path}: no such file", file=path) from error
    except OSError as error:
        link = (root / path).is_symlink()
        said = (
            "is a link, which is not followed" if link else f"cannot be read: {_why(error)}"
        )
        raise InvalidInputError(said, file=path) from error
    if len(content) > TEXT_BYTES_MAX:
        raise InvalidInputError(f"is longer than {TEXT_BYTES_MAX // 2**20} MiB", file=path)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError("is not UTF-8", file=path) from error
    if not text.strip():
        raise InvalidInputError("is empty", file=path)
    return text.removeprefix(_BYTE_ORDER_MARK)


def _why(error: OSError) -> str:
    return NO_FOLDER if error.strerror == NO_FOLDER else str(error.strerror)
