"""Read the bytes of a file from a stranger, as far as they may go."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.engine.log.envelope import DOCUMENT_BYTES_MAX
from sprintlog.engine.log.stores.descriptors import read_whole

STANDARD_INPUT = "-"


def read_bytes(path: Path, *, bytes_max: int = DOCUMENT_BYTES_MAX) -> bytes:
    """Return a file's bytes; raise `NotFoundError` or `InvalidInputError`."""
    with opening(path):
        # What has no end must not fill the memory; a byte too many is refused later.
        return read_whole(path, at_most=bytes_max + 1)


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """Raise `NotFoundError` or `InvalidInputError` if a file cannot be read."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFoundError(f"{path}: there is no such file", file=str(path)) from error
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise InvalidInputError(problem, file=str(path)) from error


@contextmanager
def naming(file: str | None, field: str | None = None) -> Iterator[None]:
    """Make refusals name the file, and the field unless they name another one."""
    try:
        yield
    except RefusedError as error:
        named = error.fields.get("field")
        problem = error.message.removeprefix(f"{named}: ")
        raise InvalidInputError(problem, file=file, field=named or field) from error


def read_text(name: str) -> str:
    """Return the text of a file, of standard input for `-`; raise as `read_bytes` does."""
    if name == STANDARD_INPUT:
        content = sys.stdin.buffer.read(DOCUMENT_BYTES_MAX + 1)
    else:
        content = read_bytes(Path(name))
    return decoded(within(DOCUMENT_BYTES_MAX, content, file=name), file=name)


def within(bytes_max: int, content: bytes, *, file: str) -> bytes:
    """Return the bytes of a file; raise `InvalidInputError` if there are more."""
    if len(content) > bytes_max:
        problem = f"is longer than {bytes_max // 2**20} MiB"
        raise InvalidInputError(problem, file=file)
    return content


def decoded(content: bytes, *, file: str) -> str:
    """Return the text of a file; raise `InvalidInputError` if it is not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError("is not UTF-8", file=file) from error
