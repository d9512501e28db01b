"""A prompt in a file of the work tree: read without following links, and bounded."""

import os
import stat
from pathlib import Path

from ..errors import InvalidInputError, NotFoundError
from .folders import NO_FOLDER, is_sound, opened, opened_below, opened_file

PROMPT_BYTES_MAX = 1024 * 1024
_BYTE_ORDER_MARK = "\ufeff"


def read_prompt(root: Path, path: str) -> str:
    """Return the text of a file by its path from the work tree's root.

    Raise `NotFoundError` where there is none, `InvalidInputError` where it is no plain file
    of UTF-8 within `PROMPT_BYTES_MAX`, or a link is on the way.
    """
    if not is_sound(path):
        raise InvalidInputError("is no path of a file in the work tree", file=path)
    folder, _, name = path.rpartition("/")
    try:
        with (
            opened(root) as tree,
            opened_below(tree, folder) as held,
            opened_file(held, name) as file,
        ):
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise InvalidInputError("is no plain file", file=path)
            with open(file, "rb", closefd=False) as reading:
                content = reading.read(PROMPT_BYTES_MAX + 1)
    except FileNotFoundError as error:
        raise NotFoundError(f"{path}: there is no such file", file=path) from error
    except OSError as error:
        link = (root / path).is_symlink()
        said = (
            "is a link, which is not followed" if link else f"cannot be read: {_why(error)}"
        )
        raise InvalidInputError(said, file=path) from error
    if len(content) > PROMPT_BYTES_MAX:
        raise InvalidInputError(
            f"is longer than {PROMPT_BYTES_MAX // 2**20} MiB", file=path
        )
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError("is not UTF-8", file=path) from error
    if not text.strip():
        raise InvalidInputError("is empty", file=path)
    return text.removeprefix(_BYTE_ORDER_MARK)


def _why(error: OSError) -> str:
    return NO_FOLDER if error.strerror == NO_FOLDER else str(error.strerror)
