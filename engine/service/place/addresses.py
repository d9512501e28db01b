"""The address of a log on a server as it is written down: read, without secrets."""

from pathlib import Path

from ...adapters.folders import read_plain
from ...errors import InvalidInputError
from ...log.stores import is_served
from ...log.stores.postgres.address import check_is_plain

BYTES_MAX = 4096


def read_address(path: Path) -> str:
    """Return the address that a file in a log's folder names; no link is followed."""
    try:
        content = read_plain(path, at_most=BYTES_MAX)
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
