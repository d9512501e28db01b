"""Where a log is kept: a further store is its folder, and one line in `STORES`."""

from importlib import import_module
from typing import Any, Final

from ...errors import InvalidInputError
from ..port import WAIT, Clock, Entropy, Log, Wait

STORES: Final = {
    "memory": ("memory", "MemoryLog"),
    "sqlite": ("sqlite.store", "SqliteLog"),
}
"""Module and class by the scheme of an address; only the one that is wanted is imported.

The class opens a log, its `create` makes one.
"""


def create_log(url: str, *, clock: Clock, entropy: Entropy, wait: Wait = WAIT) -> Log:
    """Make an empty log at an address; raise `RefusedError` where one exists."""
    store, place = _store(url)
    log: Log = store.create(place, clock=clock, entropy=entropy, wait=wait)
    return log


def open_log(
    url: str,
    *,
    clock: Clock,
    entropy: Entropy,
    readonly: bool = False,
    check_head: bool = True,
    wait: Wait = WAIT,
) -> Log:
    """Open the log at an address: `memory:`, `sqlite:PATH`, or a plain path of SQLite's.

    One in memory is empty. `check_head=False` opens one whose end is lost, too. Raise
    `NotFoundError` where there is none, `UnreadableError` for what is no log of ours.
    """
    store, place = _store(url)
    log: Log = store(
        place,
        clock=clock, entropy=entropy, readonly=readonly, check_head=check_head, wait=wait,
    )  # fmt: skip
    return log


def _store(url: str) -> tuple[Any, str]:
    """Return the class of an address, and where in that store."""
    scheme, colon, place = url.partition(":")
    if not colon or "/" in scheme:
        scheme, place = "sqlite", url
    if scheme not in STORES:
        known = ", ".join(f"{name}:" for name in STORES)
        raise InvalidInputError(
            f"no store is called {scheme!r}: an address begins with {known} or is a path",
            field="url",
        )
    module, name = STORES[scheme]
    return getattr(import_module(f".{module}", __name__), name), place
