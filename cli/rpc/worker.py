"""The pending requests of all clients, and the single thread that processes them.

Clients take turns, and the events of one round are committed together.
"""

import os
import threading
import time
from collections import deque
from functools import partial
from itertools import chain
from typing import Any, Protocol

import click

from sprintlog.errors import BusyError, ConflictError, RefusedError, SprintlogError
from sprintlog.servers import ResidentLog

from .frames import FailedRequestError, RpcRequest
from .methods import Method, RpcHost

PENDING_MAX = 1_000
"""The maximum number of a client's pending requests; above it, reading stops."""
PENDING_BYTES_MAX = 32 * 1024 * 1024
"""The maximum total length of pending lines; a single line may be longer."""
TURN_MAX = 8
"""The maximum number of requests recorded for a client in one turn."""


class Client(Protocol):
    """A client that takes turns."""

    def turn(self) -> "list[AskedRequest]":
        """Return the next requests, or none while the client does not read its answers."""

    def has_turn(self) -> bool:
        """Return whether a request is ready."""

    def do(self, log: ResidentLog, asked: "AskedRequest") -> Any:
        """Process a request; a recording request appends its events."""

    def do_alone(self, log: ResidentLog, asked: "AskedRequest") -> None:
        """Process a request completely, and answer it."""

    def answer(self, asked: "AskedRequest", outcome: Any) -> None:
        """Answer a request with its result, or with the error it raised."""

    def lose(self) -> None:
        """Stop waiting, because the worker ended unexpectedly."""


class AskedRequest:
    """An unanswered request."""

    def __init__(
        self, client: Client, request: RpcRequest, method: Method, given: Any, *, size: int
    ) -> None:
        self.client, self.request, self.method = client, request, method
        self.given, self.size = given, size
        self.is_cancelled = False
        self.stop, self._writing = os.pipe() if method.is_process else (-1, -1)
        """A descriptor that becomes readable when the request is cancelled."""
        self._lock = threading.Lock()

    def cancel(self) -> None:
        """Prevent a request from starting, or end its process."""
        with self._lock:
            self.is_cancelled = True
            if self._writing >= 0:
                os.close(self._writing)
                self._writing = -1

    def close(self) -> None:
        """Close the request's descriptors."""
        self.cancel()
        if self.stop >= 0:
            os.close(self.stop)
            self.stop = -1


class Pending:
    """A client's pending requests, in order and limited in number."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[AskedRequest] = deque()
        self._bytes = 0
        self._under_way = 0
        self._is_over = False

    def put(self, waiting: AskedRequest) -> bool:
        """Add a request once there is space; return False if `end` was called."""
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
        """Return whether no request is pending."""
        return not self._waiting

    def turn(self) -> list[AskedRequest]:
        """Return the next requests: several recording requests, or one other request."""
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
        """Count a request as answered."""
        with self._changed:
            self._under_way -= 1
            self._changed.notify_all()

    def end(self, *, is_lost: bool = False) -> None:
        """Accept no more requests, and drop requests that have not started.

        Running requests are still answered, unless the worker is lost.
        """
        with self._changed:
            self._is_over = True
            self._under_way = 0 if is_lost else self._under_way
            self._waiting.clear()
            self._bytes = 0
            self._changed.notify_all()

    def wait_until_done(self) -> None:
        """Wait until all requests are answered or dropped."""
        with self._changed:
            while self._waiting or self._under_way:
                self._changed.wait()


GATHER_SECONDS = 0.002
"""The time to wait for requests from several clients, shorter than a commit."""
REFUSALS = (RefusedError, ConflictError, click.UsageError, FailedRequestError)
"""Errors that reject a single request, before any of its events is written."""


class LogWorker:
    """Processes clients' requests in rounds; each client has one turn per round.

    The events of a round are committed together, and answered afterwards.
    """

    def __init__(self, host: RpcHost) -> None:
        self._host = host
        self._changed = threading.Condition()
        self._clients: list[Client] = []
        self._is_woken = False
        self._is_over = False
        self._thread = threading.Thread(target=self._work, name="worker")

    # --- By other threads -------------------------------------------------------------
    def start(self) -> None:
        """Start the worker thread."""
        self._thread.start()

    def add(self, client: Client) -> None:
        """Include a client in later rounds."""
        with self._changed:
            self._clients = [*self._clients, client]
        self.wake()

    def remove(self, client: Client) -> None:
        """Exclude a client from later rounds."""
        with self._changed:
            self._clients = [one for one in self._clients if one is not client]

    def wake(self) -> None:
        """Wake the worker for a new request, or for a client that reads answers again."""
        with self._changed:
            self._is_woken = True
            self._changed.notify()

    def end(self) -> None:
        """Finish the current round and stop."""
        with self._changed:
            self._is_over = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join()

    # --- By its own -------------------------------------------------------------------
    def _work(self) -> None:
        log = ResidentLog(self._host.open, check=self._host.check_is_on)
        try:
            while not self._is_over:
                turns = [client.turn() for client in self._clients]
                asked = [*chain.from_iterable(turns)]
                if not asked:
                    self._wait()
                    continue
                recording = [one for one in asked if one.method.records]
                for one in self._together(log, recording):
                    one.client.do_alone(log, one)
                for one in asked:
                    if not one.method.records:
                        one.client.do_alone(log, one)
                self._gather(sum(map(bool, turns)))
        except BaseException:
            for client in self._clients:
                client.lose()
            raise
        finally:
            log.close()

    def _wait(self) -> None:
        with self._changed:
            while not (self._is_woken or self._is_over):
                self._changed.wait()
            self._is_woken = False

    def _gather(self, clients: int) -> None:
        """Wait for further requests from answered clients, to commit them together."""
        if clients <= 1:
            return
        until = time.monotonic() + GATHER_SECONDS
        with self._changed:
            while sum(one.has_turn() for one in self._clients) < clients:
                left = until - time.monotonic()
                if left <= 0 or self._is_over or not self._changed.wait(left):
                    return

    def _together(self, log: ResidentLog, asked: list[AskedRequest]) -> list[AskedRequest]:
        """Record requests in one commit; return requests to process individually, in order.

        If the commit itself fails, it is unknown whether it reached the disk: each answer
        is that error, and no request is repeated.
        """
        if len(asked) <= 1:
            return asked
        try:
            if not log.can_commit_together:
                return asked
            workspace = log.workspace()
        except (SprintlogError, OSError):
            # Each request is then handled separately and receives the error.
            return asked
        outcomes: list[tuple[AskedRequest, Any]] = []
        streams: dict[str, None] = {}
        left: list[AskedRequest] = []
        is_decided = False
        try:
            with log.together() as attempt:
                for one in asked:
                    if any(one.client is other.client for other in left):
                        left.append(one)
                        continue
                    try:
                        decided = attempt(partial(one.client.do, log, one))
                    except REFUSALS as error:
                        outcomes.append((one, error))
                    else:
                        if decided is None:
                            left.append(one)
                            continue
                        streams[decided.stream] = None
                        outcomes.append((one, decided.answer))
                is_decided = True
        except Exception as error:  # noqa: BLE001 (each answer contains it)
            # The states in memory include events that were not stored.
            log.close()
            if not (is_decided or isinstance(error, BusyError)):
                return asked
            outcomes = [(one, error) for one in asked if one not in left]
        else:
            for stream in streams:
                self._host.refresh(workspace, stream)
            workspace.take_in_spooled()
        for one, outcome in outcomes:
            one.client.answer(one, outcome)
        return left
