"""Where a log is kept: a further store is its folder, and one line in `STORES`."""

import re
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ...errors import InvalidInputError, NotFoundError
from ..port import WAIT, Clock, Entropy, Log, Wait

if TYPE_CHECKING:
    from pathlib import Path

STORES: Final = {
    "memory": ("memory", "MemoryLog"),
    "sqlite": ("sqlite.store", "SqliteLog"),
    "postgresql": ("postgres.store", "PostgresLog"),
}
"""Module and class by the scheme of an address; only the one that is wanted is imported.

The class opens a log, its `create` makes one.
"""


EXTENSION: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
"""What a scheme of an extension is like: whose it is, and what it is called."""
SERVED: Final = ("postgresql", "postgres")
"""The schemes of addresses that name a server; what a machine keeps itself is beside it."""


def wall_clock() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def create_log(
    url: str,
    *,
    clock: Clock,
    entropy: Entropy,
    wait: Wait = WAIT,
    beside: "Path | None" = None,
) -> Log:
    """Make an empty log at an address; raise `RefusedError` where one exists.

    `beside` is the folder in which this machine keeps what is its own of a log on a server.
    """
    store, place, more = _store(url, beside)
    log: Log = store.create(place, clock=clock, entropy=entropy, wait=wait, **more)
    return log


def open_log(
    url: str,
    *,
    clock: Clock,
    entropy: Entropy,
    readonly: bool = False,
    check_head: bool = True,
    wait: Wait = WAIT,
    beside: "Path | None" = None,
) -> Log:
    """Open the log at an address: `memory:`, `sqlite:PATH`, `postgresql://…`, or a path.

    A plain path is one of SQLite's; one in memory is empty. `check_head=False` opens one
    whose end is lost, too. Raise `NotFoundError` where there is none, `UnreadableError` for
    what is no log of ours.
    """
    store, place, more = _store(url, beside)
    log: Log = store(
        place,
        clock=clock, entropy=entropy, readonly=readonly, check_head=check_head, wait=wait,
        **more,
    )  # fmt: skip
    return log


def is_extension(scheme: str) -> bool:
    """Tell whether a scheme can be that of a store which an extension brings."""
    return EXTENSION.fullmatch(scheme) is not None


def _of_extension(scheme: str) -> Any:
    # Imported here: it is asked for by an address that names no store of ours.
    from ...extensions import loaded

    try:
        return loaded("store", scheme)[1]
    except NotFoundError as error:
        raise InvalidInputError(error.message, field="url", hint=error.hint) from error


def is_served(url: str) -> bool:
    """Tell whether an address names a server, and not a place of this machine."""
    return url.partition(":")[0] in SERVED


def _store(url: str, beside: "Path | None") -> tuple[Any, str, dict[str, Any]]:
    """Return the class of an address, where in that store, and what else it is told."""
    scheme, colon, place = url.partition(":")
    if not colon or "/" in scheme:
        scheme, place = "sqlite", url
    more: dict[str, Any] = {}
    if scheme in SERVED:
        scheme, place, more = SERVED[0], url, {"beside": beside}
    if is_extension(scheme):
        return _of_extension(scheme), place, {}
    if scheme not in STORES:
        known = ", ".join(f"{name}:" for name in STORES)
        raise InvalidInputError(
            f"no store is called {scheme!r}: an address begins with {known} or is a path",
            field="url",
        )
    module, name = STORES[scheme]
    try:
        found = import_module(f".{module}", __name__)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "psycopg":
            raise
        # Imported here: the library is seldom missing.
        from ...extras import not_installed

        raise not_installed(
            "postgres", "a log in PostgreSQL needs psycopg, which is not installed"
        ) from error
    return getattr(found, name), place, more
