"""A store's single connection, which reconnects after failures, with a bounded wait."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import psycopg
from psycopg import errors as codes
from psycopg.adapt import Transformer
from psycopg.generators import execute, fetch_many, send
from psycopg.pq import DiagnosticField, ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult

from sprintlog.errors import RefusedError
from sprintlog.stores import Entropy, Wait

from .address import Address
from .errors import explained, is_passing, is_standby, unsure
from .rows import BINARY, Statement, Value, statement_of

PAUSE_SECONDS = 0.05
PAUSE_SECONDS_MAX = 1.0
CONNECT_SECONDS_MAX = 10

SETTLE = statement_of("""SELECT CASE
  WHEN pg_catalog.current_setting('synchronous_commit')
    OPERATOR(pg_catalog.=) ANY ('{off,local}')
  THEN pg_catalog.set_config('synchronous_commit', 'on', true) END,
  pg_catalog.pg_logical_emit_message(true, 'sprintlog', '')::pg_catalog.text""")
"""A commit that makes all earlier data durable on the disk and on synchronous standbys.

All names are qualified, so the search path has no effect.
"""
CALLS_UNTIL_PREPARED = 3
"""The number of calls after which a statement is prepared; a command appends only once."""
_NOT_PREPARED = (b"26000", b"0A000")
"""The error codes for a statement that does not exist or whose result type has changed."""
_ALREADY_PREPARED = b"42P05"

Again = Sequence[Any]
"""The values for a repetition after an attempt with an unknown result."""


class ServerConnection:
    """A connection to a server, private to its store."""

    def __init__(self, address: Address, *, wait: Wait, entropy: Entropy) -> None:
        self.address = address
        self.wait = wait
        self._entropy = entropy
        self._raw: psycopg.Connection[Any] | None = None
        self._is_held = False
        self._is_closed = False
        self._prepares = True
        self._calls: Counter[bytes] = Counter()
        self._ahead: PendingAnswer | None = None

    @property
    def raw(self) -> psycopg.Connection[Any]:
        """Return the driver's connection; connect if there is none."""
        if self._is_closed:
            raise RefusedError("the log is closed")
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            ahead.receive()
        if self._raw is None:
            patience = min(self.wait.seconds, CONNECT_SECONDS_MAX)
            # The driver numbers statements, so a pooler's other clients could use the same
            # names.
            self._raw = psycopg.connect(
                self.address.given,
                autocommit=True,
                prepare_threshold=None,
                connect_timeout=max(2, math.ceil(patience)),
                # All text in sprintlog's statements is in this encoding.
                client_encoding="utf8",
            )
        return self._raw

    def rows(
        self, sql: str, parameters: Sequence[Any] = (), *, again: Again | None = None
    ) -> list[Any]:
        """Run a statement and return its rows; repeat it if the server was unavailable.

        Raise `SprintlogError` if that takes longer than the wait allows.
        """
        rows, _ = self._insist(
            lambda raw, given: raw.execute(sql, given, binary=True).fetchall(),
            parameters,
            again,
        )
        return rows

    def call(
        self,
        asked: Statement,
        values: Sequence[Any],
        *,
        again: Again,
        is_again: bool = False,
    ) -> tuple[list[list[Value]], bool]:
        """Run a data-changing statement with typed values.

        If the result of an attempt is unknown, the statement is repeated with the values
        `again`; `is_again` indicates that there was such an attempt before this call. Every
        later error states that the statement may have succeeded. Return the rows, and
        whether the statement was repeated.
        """
        given = again if is_again else values
        return self._insist(partial(self._called, asked), given, again)

    def ask(self, asked: Statement, values: Sequence[Any]) -> list[Any]:
        """Run a read-only statement, and return its rows."""

        def ask(raw: psycopg.Connection[Any], given: Again) -> list[Any]:
            return loaded(raw, _answer(raw, asked, asked.encoded(given), is_prepared=False))

        return self._insist(ask, values, None)[0]

    def ask_ahead(self, asked: Statement, sent: list[Value]) -> "PendingAnswer":
        """Send a statement once, without retries, and return its pending answer.

        Any other request made in the meantime receives the pending answer first.
        """
        raw = self.raw
        ahead = PendingAnswer(self, raw)
        try:
            _send(raw.pgconn, asked, sent, False)
            raw.wait(send(raw.pgconn))
        except psycopg.Error as error:
            ahead.found = error
        else:
            self._ahead = ahead
        return ahead

    def _insist(
        self,
        ask: Callable[[psycopg.Connection[Any], Again], list[Any]],
        parameters: Again,
        again: Again | None,
    ) -> tuple[list[Any], bool]:
        """Repeat a statement until it succeeds, and return its rows.

        Also return whether an earlier attempt may have succeeded. If `parameters` is the
        same object as `again`, there was such an attempt before this call.
        """
        patience: _Patience | None = None
        given = parameters
        while True:
            is_sent = False
            try:
                raw = self.raw
                is_sent = True
                return ask(raw, given), given is again
            except psycopg.Error as error:
                # A cancelled call that commits may nevertheless have succeeded.
                is_open = again is not None and isinstance(error, codes.QueryCanceled)
                if self._is_held or not (is_passing(error) or is_open):
                    self._drop_broken()
                    if given is again:
                        raise unsure(error, self.address) from error
                    raise explained(error, self.address) from error
                patience = patience or _Patience(self.wait, self._entropy, self.address)
                if is_sent and again is not None and not is_standby(error):
                    given = again
                # Another server may now answer at the same address.
                self._drop()
                patience.after(error, is_unsure=given is again)

    def _called(
        self, asked: Statement, raw: psycopg.Connection[Any], values: Again
    ) -> list[list[Value]]:
        sent = asked.encoded(values)
        if self._is_prepared(asked, raw):
            answer = _answer(raw, asked, sent, is_prepared=True)
            if answer.error_field(DiagnosticField.SQLSTATE) not in _NOT_PREPARED:
                return _rows_of(answer)
            # A pooler switched to another server: nothing was done, and no statement is
            # prepared.
            self._prepares = False
        return _rows_of(_answer(raw, asked, sent, is_prepared=False))

    def _is_prepared(self, asked: Statement, raw: psycopg.Connection[Any]) -> bool:
        """Prepare a frequently called statement; return whether it is prepared.

        The statement's name is the digest of its text. If another client of the same pooler
        has prepared a statement under this name, the statements are therefore identical.
        """
        # An error within a transaction would end it.
        if not self._prepares or self._is_held:
            return False
        self._calls[asked.name] += 1
        if self._calls[asked.name] == CALLS_UNTIL_PREPARED:
            raw.pgconn.send_prepare(asked.name, asked.sql, asked.types)
            answer = _received(raw)
            if answer.error_field(DiagnosticField.SQLSTATE) != _ALREADY_PREPARED:
                _check(answer)
        return self._calls[asked.name] >= CALLS_UNTIL_PREPARED

    def run(self, sql: str) -> None:
        """Run a statement that returns no rows, without retries."""
        try:
            self.raw.execute(sql)
        except psycopg.Error as error:
            self._drop_broken()
            raise explained(error, self.address) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all statements in the block or none; failed statements are not retried."""
        # The connection is known to work.
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
        """Close the connection; it cannot be used afterwards."""
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
            self._ahead = None
            self._calls.clear()


class PendingAnswer:
    """The pending answer to a statement, which the caller can receive later."""

    def __init__(self, connection: ServerConnection, raw: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._raw = raw
        self.found: PGresult | psycopg.Error | None = None

    def receive(self) -> None:
        """Receive the answer, so that the connection can be used again."""
        try:
            (self.found,) = self._raw.wait(fetch_many(self._raw.pgconn))
        except psycopg.Error as error:
            self.found = error

    def answer(self) -> PGresult:
        """Return the answer; raise `psycopg.Error` for an error or a lost answer."""
        if self.found is None:
            # The connection's later users have received its pending answer.
            _ = self._connection.raw
        if self.found is None:
            raise psycopg.OperationalError("the connection was lost")
        if isinstance(self.found, psycopg.Error):
            raise self.found
        _check(self.found)
        return self.found

    def rows(self) -> list[Any] | None:
        """Return the answer's rows, or None if the statement must be sent again."""
        try:
            return loaded(self._raw, self.answer())
        except psycopg.Error:
            return None


def loaded(raw: psycopg.Connection[Any], answer: PGresult) -> list[Any]:
    """Return the rows of an answer in binary format."""
    _check(answer)
    transformer = Transformer(raw)
    transformer.set_pgresult(answer, format=Format.BINARY)
    return transformer.load_rows(0, answer.ntuples, tuple)


def _send(pgconn: PGconn, asked: Statement, sent: list[Value], is_prepared: bool) -> None:
    if is_prepared:
        pgconn.send_query_prepared(asked.name, sent, asked.formats, BINARY)
    else:
        pgconn.send_query_params(asked.sql, sent, asked.types, asked.formats, BINARY)


def _answer(
    raw: psycopg.Connection[Any], asked: Statement, sent: list[Value], *, is_prepared: bool
) -> PGresult:
    _send(raw.pgconn, asked, sent, is_prepared)
    return _received(raw)


def _received(raw: psycopg.Connection[Any]) -> PGresult:
    answers: list[PGresult] = raw.wait(execute(raw.pgconn))
    return answers[0]


def _check(answer: PGresult) -> None:
    if answer.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        raise psycopg.errors.error_from_result(answer)


def _rows_of(answer: PGresult) -> list[list[Value]]:
    _check(answer)
    columns = range(answer.nfields)
    return [
        [answer.get_value(row, column) for column in columns]
        for row in range(answer.ntuples)
    ]


class _Patience:
    """A bounded wait for an unavailable server, with growing, jittered pauses."""

    def __init__(self, wait: Wait, entropy: Entropy, address: Address) -> None:
        self._wait = wait
        self._entropy = entropy
        self._address = address
        self._since = time.monotonic()
        self._pause = PAUSE_SECONDS
        self._is_said = False

    def after(self, error: psycopg.Error, *, is_unsure: bool) -> None:
        """Pause before the next attempt; raise the final error if the time is up."""
        waited = time.monotonic() - self._since
        if (left := self._wait.seconds - waited) <= 0:
            if is_unsure:
                raise unsure(error, self._address) from error
            raise explained(error, self._address) from error
        if not self._is_said and waited >= self._wait.quiet_seconds:
            self._is_said = True
            self._wait.say(f"waiting for {self._address.shown}: {left:.0f} s at most")
        time.sleep(min(self._pause * (0.5 + self._entropy(1)[0] / 512), left))
        self._pause = min(2 * self._pause, PAUSE_SECONDS_MAX)
