"""Which machine this is, as others of the same log know it."""

import os

from ...errors import InvalidInputError

VARIABLE = "SPRINTLOG_HOST"
CHARS_MAX = 64


def host() -> str:
    """Return this machine's name: SPRINTLOG_HOST, where two would be called the same."""
    named = os.environ.get(VARIABLE)
    if not named:
        return os.uname().nodename
    if len(named) > CHARS_MAX or not named.isprintable() or "/" in named:
        raise InvalidInputError(
            f"must be at most {CHARS_MAX} printable characters without `/`", field=VARIABLE
        )
    return named
