"""One client from its first line to its last: what it asks is done, and answered."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from queue import Full, Queue
from typing import Any

import click
import msgspec

from sprintlog.engine.errors import InvalidInputError, RefusedError, SprintlogError
from sprintlog.engine.log.event import converted

from ..output import USAGE, error_answer, json_line
from . import frames
from .calls import CallFailedError, call
from .channel import Channel, GoneError
from .frames import Id, RefusedFrame, RpcRequest, read_frame
from .kept_log import KeptLog
from .methods import METHODS, Asking, Method
from .params import Call, Cancel, Cancelled, Follow, Following, Unfollow, Unfollowed
from .subscriptions import Subscription

PENDING_MAX = 1_000
"""So many requests are taken in before they are done; then nothing more is read."""
CALLS_MAX = 4
"""So many processes work at the same time; what else is called waits for one."""
SUBSCRIPTIONS_MAX = 16
LOOK_SECONDS = 0.2
_DEFECTS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError),
    *(TypeError, ValueError),
)
"""What a rule may raise that met something unforeseen; the client hears of it."""


class _Waiting:
    """A request that is not answered yet."""

    def __init__(self, request: RpcRequest, method: Method, params: Any) -> None:
        self.request, self.method, self.params = request, method, params
        self.is_cancelled = False
        self._reading, self._writing = os.pipe() if method.is_process else (-1, -1)
        self._lock = threading.Lock()

    @property
    def stop(self) -> int:
        """A descriptor that can be read once the request is not wanted."""
        return self._reading

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
        if self._reading >= 0:
            os.close(self._reading)
            self._reading = -1


class ClientSession:
    """Answers a client. Commands and questions are done in order, by one thread."""

    def __init__(self, channel: Channel, asking: Asking) -> None:
        self._channel, self._asking = channel, asking
        self._queue: Queue[_Waiting | None] = Queue(PENDING_MAX)
        self._lock = threading.Lock()
        self._waiting: dict[Id, _Waiting] = {}
        self._calls = ThreadPoolExecutor(CALLS_MAX, "calls")
        self._called: dict[_Waiting, Future[None]] = {}
        self._subscriptions: dict[int, Subscription] = {}
        self._numbers = 0
        self._is_over = False
        self._worker = threading.Thread(target=self._work, name="worker")

    # --- Taking in, by the thread that reads ------------------------------------------
    def start(self) -> None:
        """Begin to work on what is taken in."""
        self._worker.start()

    def take(self, line: bytes) -> None:
        """Take in a line; raise `GoneError` where nobody reads answers any more."""
        if not line.strip():
            return
        request = read_frame(line)
        if isinstance(request, RefusedFrame):
            self._send(frames.failure(request.id, request.code, request.message))
            return
        method = METHODS.get(request.method)
        if method is None:
            known = ", ".join(METHODS)
            said = f"there is no method {request.method[:60]!r}; there are: {known}"
            self._refuse(request, frames.UNKNOWN_METHOD, said)
            return
        try:
            params = converted(request.params, method.takes, field="params")
        except RefusedError as error:
            self._refuse(request, frames.INVALID_PARAMS, error.message, error)
            return
        if isinstance(params, Cancel):
            self._cancel(request, params)
        elif waiting := self._wait_for(request, method, params):
            self._hand_over(waiting)

    def finish(self) -> None:
        """Finish all that was taken in; subscriptions end at once."""
        self._put(None)
        self._worker.join()
        for subscription in [*self._subscriptions.values()]:
            subscription.end()
        while wait(self._called.values(), LOOK_SECONDS).not_done:
            if self._channel.is_gone():
                self.stop()
        self._calls.shutdown()

    def stop(self) -> None:
        """Begin nothing more, and end what is under way but for what is being recorded."""
        self._is_over = True
        for waiting in [*self._called]:
            waiting.cancel()

    def _wait_for(
        self, request: RpcRequest, method: Method, params: Any
    ) -> _Waiting | None:
        waiting = _Waiting(request, method, params)
        if request.is_notification or request.id is None:
            return waiting
        with self._lock:
            if request.id not in self._waiting:
                self._waiting[request.id] = waiting
                return waiting
        waiting.close()
        said = "id: another request with it is not answered yet"
        self._send(frames.failure(request.id, frames.INVALID_REQUEST, said))
        return None

    def _hand_over(self, waiting: _Waiting) -> None:
        if waiting.method.is_process:
            self._called = {x: f for x, f in self._called.items() if not f.done()}
            self._called[waiting] = self._calls.submit(self._do_call, waiting)
        else:
            self._put(waiting)

    def _put(self, waiting: _Waiting | None) -> None:
        while self._worker.is_alive():
            with suppress(Full):
                self._queue.put(waiting, timeout=LOOK_SECONDS)
                return
        if waiting is not None:
            raise GoneError

    def _cancel(self, request: RpcRequest, params: Cancel) -> None:
        with self._lock:
            waiting = self._waiting.get(params.id)
        if waiting is not None:
            waiting.cancel()
        if not request.is_notification:
            self._send(frames.result(request.id, Cancelled(waiting is not None)))

    # --- Working, by the thread that has the log --------------------------------------
    def _work(self) -> None:
        log = KeptLog()
        try:
            while (waiting := self._queue.get()) is not None:
                if self._is_over:
                    continue
                self._answer(waiting, lambda one: self._do(log, one))
        except GoneError:
            self.stop()
        finally:
            log.close()

    def _do(self, log: KeptLog, waiting: _Waiting) -> Any:
        params = waiting.params
        if isinstance(params, Unfollow):
            return self._unfollow(params)
        if isinstance(params, Follow):
            return self._follow(log, params)
        return waiting.method.act(log, params, self._asking)

    def _follow(self, log: KeptLog, params: Follow) -> Following:
        if len(self._subscriptions) >= SUBSCRIPTIONS_MAX:
            raise RefusedError(f"there are {SUBSCRIPTIONS_MAX} subscriptions already")
        head = log.workspace().log.head().position
        after = head if params.after is None else params.after
        if after > head:
            said = f"the log ends at position {head}: another one has taken its place"
            raise InvalidInputError(said, field="after")
        self._numbers += 1
        self._subscriptions[self._numbers] = Subscription(
            self._numbers, after=after, stream=params.stream, tell=self._tell
        )
        return Following(self._numbers, after)

    def _unfollow(self, params: Unfollow) -> Unfollowed:
        found = self._subscriptions.pop(params.subscription, None)
        if found is not None:
            found.end()
        return Unfollowed(found is not None)

    # --- Calling, by threads of their own ---------------------------------------------
    def _do_call(self, waiting: _Waiting) -> None:
        asked = waiting.request.id

        def tell(text: str) -> None:
            if not waiting.request.is_notification:
                self._tell("progress", {"id": asked, "text": text})

        def run(one: _Waiting) -> Any:
            assert isinstance(one.params, Call)
            return call(one.params, tell=tell, stop=one.stop)

        try:
            self._answer(waiting, run)
        except GoneError:
            self.stop()
        finally:
            waiting.close()

    # --- Answering --------------------------------------------------------------------
    def _answer(self, waiting: _Waiting, act: Callable[[_Waiting], Any]) -> None:
        """Do what is asked and answer it; a refusal and a defect are answers, too."""
        request = waiting.request
        value: Any = None
        if waiting.is_cancelled or self._is_over:
            said = frames.failure(request.id, frames.CANCELLED, "cancelled before it began")
        else:
            value, said = _outcome(request.id, waiting, act)
        with self._lock:
            if self._waiting.get(request.id) is waiting:
                del self._waiting[request.id]
        if not request.is_notification:
            self._send(said)
        if isinstance(value, Following):
            # Nothing is told of a subscription before its number is.
            self._subscriptions[value.subscription].start()

    def _refuse(
        self, request: RpcRequest, code: int, said: str, error: SprintlogError | None = None
    ) -> None:
        if not request.is_notification:
            data = None if error is None else error_answer(error)
            self._send(frames.failure(request.id, code, said, data))

    def _tell(self, method: str, params: dict[str, Any]) -> None:
        self._send(frames.notification(method, params))

    def _send(self, message: dict[str, Any]) -> None:
        self._channel.send(message)


def _outcome(
    asked: Id, waiting: _Waiting, act: Callable[[_Waiting], Any]
) -> tuple[Any, dict[str, Any]]:
    """Return what came of a request, and the answer to it."""
    try:
        value = act(waiting)
        return value, frames.result(asked, msgspec.Raw(json_line(value)[:-1]))
    except CallFailedError as error:
        return None, frames.failure(asked, error.code, error.message, error.said)
    except SprintlogError as error:
        return None, frames.failure_of(asked, error)
    except click.UsageError as error:
        said = error_answer(SprintlogError(error.format_message()))
        code = frames.OF_EXIT_CODE - USAGE
        return None, frames.failure(asked, code, said["message"], said)
    except OSError as error:
        failed = SprintlogError(f"{error.filename or 'log'}: {error.strerror}")
        return None, frames.failure_of(asked, failed)
    except _DEFECTS as error:
        said = error_answer(
            SprintlogError(
                f"{type(error).__name__}: {error}",
                hint="this is a defect of sprintlog; `sprintlog log` shows whether "
                "it was recorded, and the same key records it once",
            )
        )
        return None, frames.failure(asked, frames.INTERNAL_ERROR, said["message"], said)
