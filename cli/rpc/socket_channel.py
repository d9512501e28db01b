"""The end of a client's socket: nobody waits for one that does not read."""

import socket
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from ..output import json_line
from .channel import Channel, GoneError

UNREAD_BYTES_MAX = 1 << 18
"""A client that has so much to read gets nothing more done before."""
LAST_SECONDS = 5.0
"""So long may a client take to read its last answers when the server ends."""


class SocketChannel(Channel):
    """Answers on a socket. What is not taken at once is written by a thread of its own."""

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
        """Write a message, or keep what is not taken at once."""
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
        """Tell whether the client reads its answers."""
        return self._bytes <= UNREAD_BYTES_MAX or self._is_gone

    def wait_until_ready(self) -> None:
        """Wait until the client reads its answers, or is gone."""
        with self._changed:
            while not self.is_ready() and not self._is_over:
                self._changed.wait()

    def end(self, *, is_at_once: bool = False) -> None:
        """Wait a while until all is read, and write nothing more."""
        with self._changed:
            self._is_over = True
            self._is_gone |= is_at_once
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
