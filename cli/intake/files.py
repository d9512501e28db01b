"""Read the bytes of a file from a stranger, as far as they may go."""

import sys
from pathlib import Path

from sprintlog.engine.errors import InvalidInputError, NotFoundError
from sprintlog.engine.log.envelope import DOCUMENT_BYTES_MAX
from sprintlog.engine.log.stores.descriptors import read_whole

STANDARD_INPUT = "-"


def read_bytes(path: Path, *, bytes_max: int = DOCUMENT_BYTES_MAX) -> bytes:
    """Return a file's bytes; raise `NotFoundError` or `InvalidInputError`."""
    try:
        # What has no end must not fill the memory; a byte too many is refused later.
        return read_whole(path, at_most=bytes_max + 1)
    except FileNotFoundError as error:
        raise NotFoundError(f"{path}: there is no such file", file=str(path)) from error
    except OSError as error:
        raise InvalidInputError(
            f"cannot be read: {error.strerror}", file=str(path)
        ) from error


def read_text(name: str) -> str:
    """Return the text of a file, of standard input for `-`; raise as `read_bytes` does."""
    if name == STANDARD_INPUT:
        content = sys.stdin.buffer.read(DOCUMENT_BYTES_MAX + 1)
    else:
        content = read_bytes(Path(name))
    if len(content) > DOCUMENT_BYTES_MAX:
        mib = DOCUMENT_BYTES_MAX // 2**20
        raise InvalidInputError(f"is longer than {mib} MiB", file=name)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError("is not UTF-8", file=name) from error
