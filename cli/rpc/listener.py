"""Many clients on one socket: each with a session of its own, all with one log."""

import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from .channel import GoneError, lines_of
from .frames import INVALID_REQUEST, failure
from .meeting_place import MeetingPlace, is_ours
from .methods import Asking
from .session import ClientSession
from .socket_channel import SocketChannel
from .worker import LogWorker

CLIENTS_MAX = 64
LOOK_SECONDS = 0.5
SWITCH_SECONDS = 0.0005
"""Threads of clients have each other's turn sooner than in Python by itself."""


class Listener:
    """Lets clients in until nobody has been there for a while."""

    def __init__(self, place: MeetingPlace, *, actor: str, sprint: str | None) -> None:
        self._place, self._actor, self._sprint = place, actor, sprint
        self._worker = LogWorker()
        self._connections: dict[_Connection, None] = {}

    def serve(self, *, idle_seconds: float) -> None:
        """Serve until it was idle for so long, or its name leads elsewhere."""
        switch_seconds = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_SECONDS)
        self._place.listening.setblocking(False)
        self._worker.start()
        is_at_once = True
        try:
            since = time.monotonic()
            while self._place.is_there():
                if self._connections:
                    since = time.monotonic()
                elif time.monotonic() - since >= idle_seconds:
                    break
                self._let_in()
            is_at_once = False
        finally:
            # Who comes from now on is to start another server.
            self._place.leave()
            for connection in [*self._connections]:
                connection.end(is_at_once=is_at_once)
            self._worker.end()
            sys.setswitchinterval(switch_seconds)

    def _let_in(self) -> None:
        listening = self._place.listening
        if not select.select([listening], [], [], LOOK_SECONDS)[0]:
            return
        try:
            connected, _ = listening.accept()
        except OSError:
            # Gone before it was let in, or there are too many open files.
            time.sleep(0.01)
            return
        if not is_ours(connected):
            connected.close()
            return
        if len(self._connections) >= CLIENTS_MAX:
            channel = SocketChannel(connected, woken=lambda: None)
            said = f"there are {CLIENTS_MAX} clients already"
            with suppress(GoneError):
                channel.send(failure(None, INVALID_REQUEST, said))
            channel.end(is_at_once=True)
            connected.close()
            return
        # What is beside the log stays out of reach of those who are kept from it.
        asking = Asking(self._actor, self._sprint, has_processes=False)
        connection = _Connection(connected, self._worker, asking, self._forget)
        self._connections[connection] = None
        connection.start()

    def _forget(self, connection: "_Connection") -> None:
        self._connections.pop(connection, None)


class _Connection:
    """One client that is connected, with the thread that reads what it asks."""

    def __init__(
        self,
        connected: socket.socket,
        worker: LogWorker,
        asking: Asking,
        forget: "Callable[[_Connection], None]",
    ) -> None:
        connected.setblocking(True)
        self._socket = connected
        self._channel = SocketChannel(connected, woken=worker.wake)
        self._session = ClientSession(self._channel, asking, worker)
        self._forget = forget
        self._thread = threading.Thread(target=self._run, name="client", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def end(self, *, is_at_once: bool) -> None:
        """Read nothing more; `is_at_once` begins nothing of what was read, either."""
        if is_at_once:
            self._session.stop()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RD)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._session.start()
            with suppress(GoneError, OSError):
                for line in lines_of(self._socket.fileno()):
                    self._session.take(line)
            if self._channel.is_gone():
                self._session.stop()
            self._session.finish()
            self._channel.end()
        finally:
            self._socket.close()
            self._forget(self)
