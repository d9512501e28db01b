"""A transcript's bytes: as many as there were when it was opened, whoever writes on."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ..errors import InvalidInputError, NotFoundError


def pieces_of(file: Path, *, piece_max: int) -> Iterator[bytes]:
    """Yield a file in lines, a longer one in pieces; what is written meanwhile is left.

    Raise `NotFoundError` or `InvalidInputError` where it is none. No pipe is waited for.
    """
    try:
        held = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(held, "rb") as opened:
            status = os.fstat(held)
            if not stat.S_ISREG(status.st_mode):
                raise InvalidInputError("is no file", file=str(file))
            left = status.st_size
            while left > 0 and (piece := opened.readline(min(piece_max, left))):
                left -= len(piece)
                yield piece
    except FileNotFoundError as error:
        raise NotFoundError(f"{file}: there is no such file", file=str(file)) from error
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise InvalidInputError(problem, file=str(file)) from error
