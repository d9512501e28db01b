"""The one thread that has the log: clients have their turns, and commit together."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import click

from sprintlog.engine.errors import BusyError, ConflictError, RefusedError, SprintlogError
from sprintlog.engine.service.port import AloneError
from sprintlog.projections.workspace import Workspace

from . import records
from .asked import AskedRequest, NotBegunError
from .kept_log import KeptLog
from .records import DecidedRequest

GATHER_SECONDS = 0.002
"""So long several clients are waited for: less than the disk takes for a commit."""
REFUSALS = (RefusedError, ConflictError, click.UsageError, NotBegunError)
"""What ends one request before anything of it is written, and no other one."""

Act = Callable[[], Any]


class Client(Protocol):
    """Whoever has turns."""

    def turn(self) -> list[AskedRequest]:
        """Return what it asks for next; nothing where it does not read its answers."""

    def has_turn(self) -> bool:
        """Tell whether it asks for anything."""

    def decide(self, log: KeptLog, waiting: AskedRequest) -> DecidedRequest:
        """Let a command be decided on, and append what follows."""

    def do(self, log: KeptLog, waiting: AskedRequest) -> Any:
        """Do any request, to its end."""

    def answer(self, waiting: AskedRequest, act: Act) -> None:
        """Answer a request with what comes of an act, or with its refusal."""

    def lose(self) -> None:
        """Wait for nothing more: whoever works ended in a way that nobody foresaw."""


Turn = tuple[Client, AskedRequest]


class LogWorker:
    """Does what clients ask for, each in its order, in rounds in which each has a turn.

    What is recorded in a round is committed together, and answered after that.
    """

    def __init__(self) -> None:
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
        log = KeptLog()
        try:
            while not self._is_over:
                turns = [(one, one.turn()) for one in self._clients]
                recording: list[Turn] = []
                others: list[Turn] = []
                for client, taken in turns:
                    for one in taken:
                        is_deciding = one.method.decide is not None
                        (recording if is_deciding else others).append((client, one))
                if not recording and not others:
                    self._wait()
                    continue
                self._record(log, recording)
                for client, one in others:
                    self._alone(log, client, one)
                self._gather(sum(bool(taken) for _, taken in turns))
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

    def _alone(self, log: KeptLog, client: Client, one: AskedRequest) -> None:
        client.answer(one, lambda: client.do(log, one))

    def _record(self, log: KeptLog, turns: list[Turn]) -> None:
        left = self._together(log, turns) if len(turns) > 1 else turns
        for client, one in left:
            self._alone(log, client, one)

    def _together(self, log: KeptLog, turns: list[Turn]) -> list[Turn]:
        """Record in one commit what can be; return what is to be done alone, in order.

        Where the commit itself fails, nobody knows whether it is on the disk: then each
        answer says so, and none is tried again.
        """
        try:
            workspace = log.workspace()
        except (SprintlogError, OSError):
            # Each is told by itself what is wrong.
            return turns
        together = getattr(workspace.log, "together", None)
        if together is None:
            return turns
        ends: list[tuple[Client, AskedRequest, Act]] = []
        streams: dict[str, None] = {}
        left: list[Turn] = []
        is_decided = False
        try:
            with log.at_hand(), _side_by_side(workspace), together():
                for client, one in turns:
                    if any(client is other for other, _ in left):
                        left.append((client, one))
                        continue
                    try:
                        decided = client.decide(log, one)
                    except AloneError:
                        left.append((client, one))
                    except REFUSALS as error:
                        ends.append((client, one, _raising(error)))
                    else:
                        streams[decided.stream] = None
                        ends.append((client, one, _returning(decided.answer)))
                is_decided = True
        except Exception as error:  # noqa: BLE001 - it is said in each answer
            # States were carried on over what is not there.
            log.close()
            if not (is_decided or isinstance(error, BusyError)):
                return turns
            failed = _raising(error)
            ends = [(*one, failed) for one in turns if one not in left]
        else:
            self._follow(workspace, streams)
        for client, one, act in ends:
            client.answer(one, act)
        return left

    def _follow(self, workspace: Workspace, streams: Iterable[str]) -> None:
        """Bring state files up to date, each once; take in what waits beside the log."""
        for stream in streams:
            records.follow(workspace, stream)
        workspace.spooled.take_in(workspace.environment)


@contextmanager
def _side_by_side(workspace: Workspace) -> Iterator[None]:
    """Let nothing be done beside the log, as long as nothing is durable."""
    workspace.is_side_by_side = True
    try:
        yield
    finally:
        workspace.is_side_by_side = False


def _raising(error: Exception) -> Act:
    def act() -> Any:
        raise error

    return act


def _returning(value: Any) -> Act:
    return lambda: value
