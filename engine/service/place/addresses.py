"""The address of a log on a server as it is written down: read, without secrets."""

import os
import stat
from pathlib import Path

from ...errors import InvalidInputError
from ...log.stores import is_served
from ...log.stores.descriptors import held_open
from ...log.stores.postgres.address import check_is_plain

BYTES_MAX = 4096


def read_address(path: Path) -> str:
    """Return the address that a file in a log's folder names; no link is followed."""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        with held_open(path, flags) as held:
            is_plain = stat.S_ISREG(os.fstat(held).st_mode)
            content = os.read(held, BYTES_MAX) if is_plain else b""
    except OSError as error:
        raise InvalidInputError(f"cannot be read: {error.strerror}", file=str(path)) from (
            error
        )
    address = content.decode(errors="replace").strip()
    check_named(address, file=str(path))
    return address


def check_named(address: str, *, file: str | None = None, field: str | None = None) -> None:
    """Raise `InvalidInputError` for what is no address of a server, or has a password."""
    if not is_served(address):
        raise InvalidInputError(
            "names no server: an address begins with postgresql://", file=file, field=field
        )
    check_is_plain(address, file=file, field=field)
