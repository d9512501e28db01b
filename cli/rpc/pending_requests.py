"""A request that is not answered yet, and those of one client that wait their turn."""

import os
import threading
from collections import deque
from typing import Any, Protocol

from sprintlog.servers import ResidentLog

from .frames import RpcRequest
from .methods import Method

PENDING_MAX = 1_000
"""So many requests are taken in before they are done; then nothing more is read."""
PENDING_BYTES_MAX = 32 * 1024 * 1024
"""So long may their lines be together; a single one may be longer."""
TURN_MAX = 8
"""So many events are recorded for one client before others have their turn."""


class Client(Protocol):
    """Whoever asks, and has turns."""

    def turn(self) -> "list[AskedRequest]":
        """Return what it asks for next; nothing where it does not read its answers."""

    def has_turn(self) -> bool:
        """Tell whether it asks for anything."""

    def do(self, log: ResidentLog, asked: "AskedRequest") -> Any:
        """Do a request; of one that records, decide and append."""

    def do_alone(self, log: ResidentLog, asked: "AskedRequest") -> None:
        """Do a request to its end, and answer it."""

    def answer(self, asked: "AskedRequest", outcome: Any) -> None:
        """Answer a request with its result, or with the error that ended it."""

    def lose(self) -> None:
        """Wait for nothing more: whoever works ended in a way that nobody foresaw."""


class AskedRequest:
    """A request that is not answered yet."""

    def __init__(
        self, client: Client, request: RpcRequest, method: Method, given: Any, *, size: int
    ) -> None:
        self.client, self.request, self.method = client, request, method
        self.given, self.size = given, size
        self.is_cancelled = False
        self.stop, self._writing = os.pipe() if method.is_process else (-1, -1)
        """A descriptor that can be read once the request is not wanted."""
        self._lock = threading.Lock()

    def cancel(self) -> None:
        """Let it not be begun, or end the process that works on it."""
        with self._lock:
            self.is_cancelled = True
            if self._writing >= 0:
                os.close(self._writing)
                self._writing = -1

    def close(self) -> None:
        """Give back what it holds."""
        self.cancel()
        if self.stop >= 0:
            os.close(self.stop)
            self.stop = -1


class Pending:
    """The requests of one client that wait, in order; who brings too many waits, too."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[AskedRequest] = deque()
        self._bytes = 0
        self._under_way = 0
        self._is_over = False

    def put(self, waiting: AskedRequest) -> bool:
        """Take one in, once there is room; False where nothing more will be done."""
        with self._changed:
            while self._is_full() and not self._is_over:
                self._changed.wait()
            if self._is_over:
                return False
            self._waiting.append(waiting)
            self._bytes += waiting.size
            return True

    def _is_full(self) -> bool:
        return bool(self._waiting) and (
            len(self._waiting) >= PENDING_MAX or self._bytes > PENDING_BYTES_MAX
        )

    def is_empty(self) -> bool:
        """Tell whether nothing waits."""
        return not self._waiting

    def turn(self) -> list[AskedRequest]:
        """Return what comes next: some that only record, or one of the others."""
        with self._changed:
            taken: list[AskedRequest] = []
            while self._waiting and len(taken) < TURN_MAX:
                is_alone = not self._waiting[0].method.records
                if is_alone and taken:
                    break
                taken.append(one := self._waiting.popleft())
                self._bytes -= one.size
                if is_alone:
                    break
            self._under_way += len(taken)
            self._changed.notify_all()
            return taken

    def done(self) -> None:
        """Notice that one is answered."""
        with self._changed:
            self._under_way -= 1
            self._changed.notify_all()

    def end(self, *, is_lost: bool = False) -> None:
        """Take nothing more in, and let go of what was not begun.

        What is under way is answered still, unless who did it is lost.
        """
        with self._changed:
            self._is_over = True
            self._under_way = 0 if is_lost else self._under_way
            self._waiting.clear()
            self._bytes = 0
            self._changed.notify_all()

    def wait_until_done(self) -> None:
        """Wait until all that was taken in is answered, or was let go of."""
        with self._changed:
            while self._waiting or self._under_way:
                self._changed.wait()
