"""A log on a server, and the folder that contains its local files."""

from os import urandom
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ...adapters.replace import replace_file
from ...errors import NotFoundError, RefusedError
from ...log.port import Clock, Entropy, Log, Wait
from ...log.stores import create_log, open_log
from ...log.stores.postgres.address import parse
from . import location as locations
from .location import ADDRESS, HIDDEN, Location, read_address
from .trust import check_trusted


def find_served(start: Path, address: str, *, folder: str | None) -> Location:
    """Return the folder, existing or new, for a server log named by the user."""
    place = _folder(start, folder)
    if place.database.exists():
        raise RefusedError(
            f"cannot use another log: {place.database} exists, but the specified log is "
            f"{parse(address).shown}",
            hint="run `sprintlog store copy FROM TO` to copy its events there, then move "
            "log.db away; or set SPRINTLOG_DIR to another folder",
            file=str(place.database),
        )
    if place.is_joined:
        here, named = parse(read_address(place.folder / ADDRESS)), parse(address)
        if here.log != named.log:
            raise RefusedError(
                f"{place.folder} belongs to the log {here.log}, but {named.log} is "
                "specified",
                hint="set SPRINTLOG_DIR to another folder",
                file=str(place.folder),
            )
    return replace(place, address=address)


def join(
    start: Path, address: str, *, folder: str | None, safe: Path | None, wait: Wait
) -> Location:
    """Return the folder for a named server log; create it with the log's address.

    Raise `NotFoundError`, without creating anything, if the log does not exist.
    """
    location = find_served(start, address, folder=folder)
    check_trusted(location, safe=safe)
    if not location.is_joined:
        open_log(location.url, clock=lambda: 0, entropy=urandom, wait=wait).close()
        _write_down(location)
    return location.of_this_host()


def open_or_make(
    location: Location, address: str, *, clock: Clock, entropy: Entropy, wait: Wait
) -> tuple[Location, Log]:
    """Return a server log for a new folder; create the log if it does not exist."""
    location = replace(location, address=address)
    given: Any = {"clock": clock, "entropy": entropy, "wait": wait}
    given["beside"] = location.folder
    try:
        log = open_log(location.url, **given)
    except NotFoundError:
        log = create_log(location.url, **given)
    _write_down(location)
    return location.of_this_host(), log


def _write_down(location: Location) -> None:
    """Store the log's address, without secrets, in the log's folder; create the folder."""
    if location.is_joined:
        return
    if not location.folder.exists():
        locations.make_folder(location)
    shown = parse(location.url).shown
    replace_file(location.folder / ADDRESS, f"{shown}\n".encode(), mode=0o600)


def _folder(start: Path, folder: str | None) -> Location:
    if folder is None:
        try:
            return locations.find(start)
        except NotFoundError:
            pass
    place = locations.place_for_new(start, folder=folder)
    is_known = place.folder.name != HIDDEN or place.folder.parent == place.root
    return place if is_known else replace(place, root=start)
