"""The one connection of a store: made anew where it broke, with a bounded wait."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

from ....errors import RefusedError, SprintlogError
from ...port import Entropy, Wait
from .address import Address
from .errors import explained, is_passing

PAUSE_SECONDS = 0.05
PAUSE_SECONDS_MAX = 1.0
CONNECT_SECONDS_MAX = 10

Again = Sequence[Any]
"""What is said the second time, where a first time may have come through."""


class ServerConnection:
    """A connection to a server; nobody outside the store has it."""

    def __init__(self, address: Address, *, wait: Wait, entropy: Entropy) -> None:
        self.address = address
        self.wait = wait
        self._entropy = entropy
        self._raw: psycopg.Connection[Any] | None = None
        self._is_held = False
        self._is_closed = False

    @property
    def raw(self) -> psycopg.Connection[Any]:
        """Return the connection of the driver, made where there is none."""
        if self._is_closed:
            raise RefusedError("the log is closed")
        if self._raw is None:
            patience = min(self.wait.seconds, CONNECT_SECONDS_MAX)
            # Never a prepared statement: behind a pooler the next one may be elsewhere.
            self._raw = psycopg.connect(
                self.address.given,
                autocommit=True,
                prepare_threshold=None,
                connect_timeout=max(2, math.ceil(patience)),
            )
        return self._raw

    def rows(
        self, sql: str, parameters: Sequence[Any] = (), *, again: Again | None = None
    ) -> list[Any]:
        """Run one statement and return its rows; repeat it where the server was away.

        With `again` it changes something: once it may have come through it is repeated
        with these parameters. Raise `SprintlogError` when it takes longer than we may wait.
        """
        patience: _Patience | None = None
        given = parameters
        while True:
            is_sent = False
            try:
                raw = self.raw
                is_sent = True
                return raw.execute(sql, given, binary=True).fetchall()
            except psycopg.Error as error:
                if self._is_held or not is_passing(error):
                    self._drop_broken()
                    raise explained(error, self.address) from error
                patience = patience or _Patience(self.wait, self._entropy, self.address)
                if is_sent and again is not None:
                    given = again
                # Another server may answer at the same address meanwhile.
                self._drop()
                patience.after(error, is_unsure=given is again)

    def run(self, sql: str) -> None:
        """Run one statement that answers nothing, once."""
        try:
            self.raw.execute(sql)
        except psycopg.Error as error:
            self._drop_broken()
            raise explained(error, self.address) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Keep all of it or nothing; what breaks within is not repeated."""
        # The connection is known to be there.
        self.rows("SELECT 1")
        self._is_held = True
        try:
            with self.raw.transaction():
                yield
        except psycopg.Error as error:
            self._drop_broken()
            raise explained(error, self.address) from error
        finally:
            self._is_held = False

    def close(self) -> None:
        """Give the connection back; further calls are errors."""
        self._is_closed = True
        self._drop()

    def _drop_broken(self) -> None:
        if self._raw is not None and self._raw.broken:
            self._drop()

    def _drop(self) -> None:
        if self._raw is not None:
            with suppress(psycopg.Error):
                self._raw.close()
            self._raw = None


class _Patience:
    """A bounded wait for a server that is away, in growing, jittered steps."""

    def __init__(self, wait: Wait, entropy: Entropy, address: Address) -> None:
        self._wait = wait
        self._entropy = entropy
        self._address = address
        self._since = time.monotonic()
        self._pause = PAUSE_SECONDS
        self._is_said = False

    def after(self, error: psycopg.Error, *, is_unsure: bool) -> None:
        """Wait a moment; raise for good when it is over."""
        waited = time.monotonic() - self._since
        left = self._wait.seconds - waited
        if left <= 0:
            if is_unsure:
                raise SprintlogError(
                    f"the server of {self._address.shown} was lost: an event being "
                    "recorded may be in the log or not",
                    hint="repeat the command with the same key: it answers what was "
                    "recorded",
                ) from error
            raise explained(error, self._address) from error
        if not self._is_said and waited >= self._wait.quiet_seconds:
            self._is_said = True
            self._wait.say(f"waiting for {self._address.shown}: {left:.0f} s at most")
        jitter = 0.5 + self._entropy(1)[0] / 512
        time.sleep(min(self._pause * jitter, left))
        self._pause = min(2 * self._pause, PAUSE_SECONDS_MAX)
