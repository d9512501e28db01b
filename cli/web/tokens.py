"""The token that opens the live page: kept in the log's folder, and what follows from it.

Whoever may read that folder may read the log. It stays the same when the server is
started anew, so that pages which are open go on.
"""

import hmac
import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from sprintlog.engine.errors import InvalidInputError

NAME = "serve.token"
_BYTES_MAX = 100
_FORM = re.compile(r"[A-Za-z0-9_-]{43}\n?")
_NEW = "`sprintlog serve --new-token` makes another one"


def kept_token(folder: Path, *, is_new: bool = False) -> str:
    """Return the token of a log, made where there is none yet.

    Where the folder cannot be written it is of this process alone. Raise
    `InvalidInputError` for a file that others may read or that holds no token.
    """
    path = folder / NAME
    if is_new:
        with suppress(FileNotFoundError):
            path.unlink()
    token = secrets.token_urlsafe(32)
    try:
        made = os.open(
            path,
            os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC,
            0o600,
        )
    except FileExistsError:
        return _read(path)
    except OSError:
        return token
    with open(made, "w", encoding="ascii") as file:
        file.write(f"{token}\n")
    return token


def _read(path: Path) -> str:
    try:
        held = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InvalidInputError(
            f"cannot be read: {error.strerror}", file=str(path), hint=_NEW
        ) from error
    with open(held, "rb") as file:
        found = os.fstat(held)
        if not stat.S_ISREG(found.st_mode):
            raise InvalidInputError("is no plain file", file=str(path), hint=_NEW)
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise InvalidInputError(
                f"others may read it (mode {stat.S_IMODE(found.st_mode):o})",
                file=str(path),
                hint=_NEW,
            )
        text = file.read(_BYTES_MAX).decode("ascii", "replace")
    if _FORM.fullmatch(text) is None:
        raise InvalidInputError("holds no token", file=str(path), hint=_NEW)
    return text.rstrip("\n")


def is_same(given: str, token: str) -> bool:
    """Tell whether a text is the token, in the same time for every wrong one."""
    return hmac.compare_digest(given.encode(errors="replace"), token.encode())


def form_token(token: str) -> str:
    """Return what every form of the page carries, so that no other site can make one."""
    return hmac.digest(token.encode(), b"form", "sha256").hex()
