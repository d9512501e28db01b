"""One worker for a stream across machines: a lease that beats, and a token that fences."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sprintlog.errors import BusyError, SprintlogError
from sprintlog.stores import Entropy, LeaseHeld, Wait

from .connection import ServerConnection

LEASE_SECONDS = 60.0
BEATS_A_LEASE = 4
_HELD = """SELECT host, to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  to_char(heartbeat AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  greatest(0, extract(epoch FROM expires - clock_timestamp()))::float8
FROM sprintlog.leases WHERE log = %b AND name = %b AND holder IS NOT NULL"""


class ServerLeases:
    """The leases of one log; the server's clock alone says when one is over."""

    def __init__(self, connection: ServerConnection, log: int, *, entropy: Entropy) -> None:
        self._connection = connection
        self._log = log
        self._entropy = entropy
        self.seconds = LEASE_SECONDS
        """For how long a worker may be silent before another one takes over."""
        self.tokens: dict[str, int] = {}
        """What every append to a stream names for as long as its lease is held here."""

    def of(self, stream: str) -> LeaseHeld | None:
        """Return who works on a stream, where anybody does."""
        rows = self._connection.rows(_HELD, (self._log, stream))
        return LeaseHeld(*rows[0]) if rows else None

    @contextmanager
    def hold(self, stream: str, *, holder: str, host: str) -> Iterator[None]:
        """Be the only one who works on a stream; raise `BusyError` where another does.

        Whoever lost the lease meanwhile cannot append to the stream any more.
        """
        asked = "SELECT granted, token FROM sprintlog.take_lease(%b, %b, %b, %b, %b)"
        given = (self._log, stream, holder, host, self.seconds)
        ((granted, token),) = self._connection.rows(asked, given)
        if not granted:
            raise self._busy(stream)
        self.tokens[stream] = token
        over = threading.Event()
        keeper = threading.Thread(
            target=self._keep, args=(stream, token, over), daemon=True
        )
        keeper.start()
        try:
            yield
        finally:
            over.set()
            keeper.join()
            del self.tokens[stream]
            with suppress(SprintlogError):
                self._connection.rows(
                    "SELECT sprintlog.release_lease(%b, %b, %b)::text",
                    (self._log, stream, token),
                )

    def _keep(self, stream: str, token: int, over: threading.Event) -> None:
        """Say again and again that the worker is there, on a connection of its own."""
        wait = Wait(self.seconds / BEATS_A_LEASE)
        address = self._connection.address
        connection = ServerConnection(address, wait=wait, entropy=self._entropy)
        given: tuple[Any, ...] = (self._log, stream, token, self.seconds)
        while not over.wait(self.seconds / BEATS_A_LEASE):
            # Who is not heard loses the lease, and is told so by its next append.
            with suppress(SprintlogError):
                connection.rows("SELECT sprintlog.beat_lease(%b, %b, %b, %b)", given)
        connection.close()

    def _busy(self, stream: str) -> BusyError:
        held = self.of(stream)
        if held is None:
            return BusyError(f"somebody else works on {stream}", hint="try again")
        return BusyError(
            f"{stream} is being worked on by {held.host} since {held.since}, last heartbeat"
            f" {held.heartbeat}",
            hint="end it there, or wait: where it is gone its lease is over in "
            f"{held.seconds_left:.0f} s",
            host=held.host,
        )
