"""The one thread that has the log: clients have their turns, and commit together."""

import threading
import time
from functools import partial
from itertools import chain
from typing import Any

import click

from sprintlog.errors import BusyError, ConflictError, RefusedError, SprintlogError
from sprintlog.servers import ResidentLog

from .frames import FailedRequestError
from .methods import Host
from .pending_requests import AskedRequest, Client

GATHER_SECONDS = 0.002
"""So long several clients are waited for: less than the disk takes for a commit."""
REFUSALS = (RefusedError, ConflictError, click.UsageError, FailedRequestError)
"""What ends one request before anything of it is written, and no other one."""


class LogWorker:
    """Does what clients ask for, each in its order, in rounds in which each has a turn.

    What is recorded in a round is committed together, and answered after that.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._changed = threading.Condition()
        self._clients: list[Client] = []
        self._is_woken = False
        self._is_over = False
        self._thread = threading.Thread(target=self._work, name="worker")

    # --- By other threads -------------------------------------------------------------
    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def add(self, client: Client) -> None:
        """Give a client turns from now on."""
        with self._changed:
            self._clients = [*self._clients, client]
        self.wake()

    def remove(self, client: Client) -> None:
        """Give a client no more turns."""
        with self._changed:
            self._clients = [one for one in self._clients if one is not client]

    def wake(self) -> None:
        """Say that somebody asks for something, or reads again."""
        with self._changed:
            self._is_woken = True
            self._changed.notify()

    def end(self) -> None:
        """Finish the round that is under way, and end."""
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
        """Let those who were answered ask again, to be in one commit as before."""
        if clients <= 1:
            return
        until = time.monotonic() + GATHER_SECONDS
        with self._changed:
            while sum(one.has_turn() for one in self._clients) < clients:
                left = until - time.monotonic()
                if left <= 0 or self._is_over or not self._changed.wait(left):
                    return

    def _together(self, log: ResidentLog, asked: list[AskedRequest]) -> list[AskedRequest]:
        """Record in one commit what can be; return what is to be done alone, in order.

        Where the commit itself fails, nobody knows whether it is on the disk: then each
        answer says so, and none is tried again.
        """
        if len(asked) <= 1:
            return asked
        try:
            if not log.can_commit_together:
                return asked
            workspace = log.workspace()
        except (SprintlogError, OSError):
            # Each is told by itself what is wrong.
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
        except Exception as error:  # noqa: BLE001 - it is said in each answer
            # States were carried on over what is not there.
            log.close()
            if not (is_decided or isinstance(error, BusyError)):
                return asked
            outcomes = [(one, error) for one in asked if one not in left]
        else:
            for stream in streams:
                self._host.refresh(workspace, stream)
            workspace.spooled.take_in(workspace.environment)
        for one, outcome in outcomes:
            one.client.answer(one, outcome)
        return left
