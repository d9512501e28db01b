"""A socket with several clients, each with its own session, and a shared log."""

import select
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from sprintlog.servers import json_line

from .frames import INVALID_REQUEST, Channel, GoneError, failure
from .methods import Asking, RpcHost
from .session import ClientSession
from .worker import LogWorker

CLIENTS_MAX = 64
LOOK_SECONDS = 0.5
SWITCH_SECONDS = 0.0005
"""The interval for switching between client threads, shorter than Python's default."""


class ListeningPlace(Protocol):
    """A listening socket and its name in the file system."""

    listening: socket.socket

    def is_there(self) -> bool:
        """Return whether the name still refers to the socket."""

    def leave(self) -> None:
        """Remove the name."""

    def admits(self, connection: socket.socket) -> bool:
        """Return whether the connected process may use the log."""


class Listener:
    """Accepts clients until none have been connected for a while."""

    def __init__(
        self, host: RpcHost, place: ListeningPlace, *, actor: str, sprint: str | None
    ) -> None:
        self._host, self._place = host, place
        self._actor, self._sprint = actor, sprint
        self._worker = LogWorker(host)
        self._connections: set[_Connection] = set()

    def serve(self, *, idle_seconds: float) -> None:
        """Serve until the listener is idle for `idle_seconds` or its name is replaced."""
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
            # Later clients start another server.
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
            # The client is gone, or there are too many open files.
            time.sleep(0.01)
            return
        if not self._place.admits(connected):
            connected.close()
            return
        if len(self._connections) >= CLIENTS_MAX:
            said = f"the limit of {CLIENTS_MAX} clients is reached"
            with suppress(OSError):
                connected.sendall(json_line(failure(None, INVALID_REQUEST, said)))
            connected.close()
            return
        # Clients of a socket must not reach anything besides the log.
        asking = Asking(self._host, self._actor, self._sprint, has_processes=False)
        connection = _Connection(connected, self._worker, asking, self._connections.discard)
        self._connections.add(connection)
        connection.start()


class _Connection:
    """A connected client and the thread that reads its requests."""

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
        """Start reading requests."""
        self._thread.start()

    def end(self, *, is_at_once: bool) -> None:
        """Stop reading; with `is_at_once`, also drop requests that have not started."""
        if is_at_once:
            self._session.stop()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RD)
        self._thread.join()

    def _run(self) -> None:
        try:
            with suppress(GoneError, OSError):
                self._session.serve(self._socket.fileno())
            self._channel.end()
        finally:
            self._socket.close()
            self._forget(self)


UNREAD_BYTES_MAX = 1 << 18
"""The maximum size of unread answers, above which the client's requests wait."""
LAST_SECONDS = 5.0
"""The time limit for a client to read its last answers when the server stops."""


class SocketChannel(Channel):
    """Sends answers on a socket; a thread writes data that cannot be sent immediately."""

    def __init__(self, connection: socket.socket, *, woken: Callable[[], None]) -> None:
        super().__init__(connection.fileno())
        self._socket = connection
        self._woken = woken
        self._changed = threading.Condition()
        self._unread: deque[memoryview] = deque()
        self._bytes = 0
        self._is_over = False
        self._writer = threading.Thread(target=self._write, name="answers", daemon=True)
        self._writer.start()

    def send(self, message: dict[str, Any]) -> None:
        """Write a message, or queue the part of it that cannot be sent immediately."""
        content = memoryview(json_line(message))
        with self._changed:
            if self._is_gone:
                raise GoneError
            if not self._unread:
                content = content[self._sent(content) :]
            if content:
                self._unread.append(content)
                self._bytes += len(content)
                self._changed.notify_all()

    def _sent(self, content: memoryview) -> int:
        try:
            return self._socket.send(content, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0
        except OSError as error:
            self._is_gone = True
            raise GoneError from error

    def is_ready(self) -> bool:
        """Return whether the client is reading its answers."""
        return self._bytes <= UNREAD_BYTES_MAX or self._is_gone

    def wait_until_ready(self) -> None:
        """Wait until the client reads its answers or disconnects."""
        with self._changed:
            while not self.is_ready() and not self._is_over:
                self._changed.wait()

    def end(self) -> None:
        """Stop writing, after waiting briefly for the client to read all answers."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        self._writer.join(LAST_SECONDS)

    def _write(self) -> None:
        while True:
            with self._changed:
                while not self._unread and not (self._is_over or self._is_gone):
                    self._changed.wait()
                if self._is_gone or not self._unread:
                    return
                content = self._unread[0]
            try:
                self._socket.sendall(content)
            except OSError:
                self._is_gone = True
            with self._changed:
                self._unread.popleft()
                self._bytes -= len(content)
                self._changed.notify_all()
            self._woken()
