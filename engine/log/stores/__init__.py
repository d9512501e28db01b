"""Log stores (memory, SQLite and PostgreSQL); this module opens a log by its address.

Stores handle envelopes and must not import the codec, events or upcasts; only the service,
projections and the command line may import stores. To add a store, add a package here and a
line to `STORES`. Start with the protocols in `../port.py`.
"""

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
"""The module and class for each address scheme; only the requested store is imported.

The class opens a log; its method `create` creates a log.
"""
EXTENSION: Final = r"[a-z0-9]+(-[a-z0-9]+)+"
"""The scheme of an extension's store: a vendor, a dash, and a name."""
SERVED: Final = ("postgresql", "postgres")
"""The schemes of addresses that name a server; each machine also has local files."""


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
    """Create an empty log at an address; raise `RefusedError` if a log exists there.

    `beside` is this machine's folder for local files if the log is on a server.
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

    A path without a scheme names a SQLite log; a log in memory starts empty. With
    `check_head=False`, a truncated log can also be opened. Raise `NotFoundError` if the log
    does not exist, and `UnreadableError` if the file is not a sprintlog log.
    """
    store, place, more = _store(url, beside)
    log: Log = store(
        place,
        clock=clock, entropy=entropy, readonly=readonly, check_head=check_head, wait=wait,
        **more,
    )  # fmt: skip
    return log


def is_extension(scheme: str) -> bool:
    """Return whether a scheme has the format reserved for extension stores."""
    return re.fullmatch(EXTENSION, scheme) is not None


def _of_extension(scheme: str) -> Any:
    # Imported here: only addresses of third-party stores require it.
    from ...extensions import loaded

    try:
        return loaded("store", scheme)[1]
    except NotFoundError as error:
        raise InvalidInputError(error.message, field="url", hint=error.hint) from error


def is_served(url: str) -> bool:
    """Return whether an address names a server rather than a file on this machine."""
    return url.partition(":")[0] in SERVED


def _store(url: str, beside: "Path | None") -> tuple[Any, str, dict[str, Any]]:
    """Return the store class, location and additional arguments for an address."""
    scheme, colon, place = url.partition(":")
    if not colon or "/" in scheme:
        scheme, place = "sqlite", url
    more: dict[str, Any] = {}
    if scheme in SERVED:
        scheme, place, more = SERVED[0], url, {"beside": beside}
    if scheme not in STORES:
        if is_extension(scheme):
            return _of_extension(scheme), place, {}
        known = ", ".join(f"{name}:" for name in STORES)
        raise InvalidInputError(
            f"unknown store {scheme!r}: an address must start with {known} or be a path",
            field="url",
        )
    module, name = STORES[scheme]
    try:
        found = import_module(f".{module}", __name__)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "psycopg":
            raise
        # Imported here: the library is rarely missing.
        from ...extras import not_installed

        raise not_installed(
            "postgres", "a PostgreSQL log requires psycopg, which is not installed"
        ) from error
    return getattr(found, name), place, more
