"""Events of another log, sent to the server: a part is made ready while one is stored."""

from contextlib import suppress

import psycopg

from ....errors import RefusedError
from ...envelope import RecordedEvent
from .connection import PendingAnswer, ServerConnection
from .rows import TAKE, take_values

EVENTS_A_CALL = 512


class Takeover:
    """What takes the events that come next, within a transaction.

    The answer to a part is awaited when the next one is ready, so that both sides work.
    """

    def __init__(self, connection: ServerConnection, log: int) -> None:
        self._connection = connection
        self._log = log
        self._sent: list[RecordedEvent] = []
        self._ahead: PendingAnswer | None = None
        self.last: RecordedEvent | None = None

    def take(self, events: list[RecordedEvent]) -> None:
        """Send events; raise `RefusedError` where those before were refused."""
        for start in range(0, len(events), EVENTS_A_CALL):
            part = events[start : start + EVENTS_A_CALL]
            ready = TAKE.encoded((self._log, *take_values(part)))
            self.end()
            self._sent, self.last = part, part[-1]
            self._ahead = self._connection.ask_ahead(TAKE, ready)

    def end(self) -> None:
        """Await the answer to what was sent last; raise `RefusedError` as it says."""
        if self._ahead is None:
            return
        ahead, self._ahead = self._ahead, None
        problem = ahead.answer().get_value(0, 0)
        if problem is not None:
            first, end = self._sent[0].position, self._sent[-1].position
            raise RefusedError(
                f"nothing recorded: among positions {first} to {end}: {problem.decode()}"
            )

    def give_up(self) -> None:
        """Await it all the same, so that the connection is free to undo everything."""
        with suppress(psycopg.Error, RefusedError):
            self.end()
