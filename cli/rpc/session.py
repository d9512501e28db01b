"""One client from its first line to its last: what it asks is done, and answered."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import click
import msgspec

from sprintlog.engine.errors import InvalidInputError, RefusedError, SprintlogError
from sprintlog.engine.log.event import converted

from ..output import USAGE, error_answer, json_line
from . import frames
from .asked import AskedRequest, NotBegunError, Pending
from .calls import CallFailedError, call
from .channel import Channel, GoneError
from .frames import Id, RefusedFrame, RpcRequest, read_frame
from .kept_log import KeptLog
from .methods import METHODS, Asking, methods_for
from .params import Call, Cancel, Cancelled, Follow, Following, Unfollow, Unfollowed
from .records import DecidedRequest
from .subscriptions import Subscription
from .worker import LogWorker

CALLS_MAX = 4
"""So many processes work at the same time; what else is called waits for one."""
SUBSCRIPTIONS_MAX = 16
LOOK_SECONDS = 0.2
NO_PROCESS = "a socket starts no process: whoever reached it could start any"
ON_PIPES = "`sprintlog rpc` does it on its pipes, and the command itself as typed"
_DEFECTS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError),
    *(TypeError, ValueError),
)
"""What a rule may raise that met something unforeseen; the client hears of it."""


class ClientSession:
    """Answers a client. Its commands and questions are done in order, by the worker."""

    def __init__(self, channel: Channel, asking: Asking, worker: LogWorker) -> None:
        self._channel, self._asking, self._worker = channel, asking, worker
        self._pending = Pending()
        self._lock = threading.Lock()
        self._waiting: dict[Id, AskedRequest] = {}
        self._calls = ThreadPoolExecutor(CALLS_MAX, "calls")
        self._called: dict[AskedRequest, Future[None]] = {}
        self._subscriptions: dict[int, Subscription] = {}
        self._numbers = 0
        self._is_over = False

    # --- Taking in, by the thread that reads ------------------------------------------
    def start(self) -> None:
        """Let what is taken in be done from now on."""
        self._worker.add(self)

    def take(self, line: bytes) -> None:
        """Take in a line; raise `GoneError` where nobody reads answers any more."""
        if not line.strip():
            return
        request = read_frame(line)
        if isinstance(request, RefusedFrame):
            self._tell_all(frames.failure(request.id, request.code, request.message))
            return
        method = METHODS.get(request.method)
        if method is None:
            known = ", ".join(methods_for(self._asking))
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
            return
        if method.is_process and not self._asking.has_processes:
            refused = RefusedError(NO_PROCESS, hint=ON_PIPES)
            self._refuse(request, frames.OF_EXIT_CODE - 1, NO_PROCESS, refused)
            return
        waiting = AskedRequest(request, method, params, size=len(line))
        if self._is_known(waiting):
            self._hand_over(waiting)

    def finish(self) -> None:
        """Finish all that was taken in; subscriptions end at once."""
        self._pending.wait_until_done()
        self._worker.remove(self)
        for subscription in [*self._subscriptions.values()]:
            subscription.end()
        while wait(self._called.values(), LOOK_SECONDS).not_done:
            if self._channel.is_gone():
                self.stop()
        self._calls.shutdown()

    def stop(self) -> None:
        """Begin nothing more, and end what is under way but for what is being recorded."""
        self._is_over = True
        self._pending.end()
        for waiting in [*self._called]:
            waiting.cancel()

    def _is_known(self, waiting: AskedRequest) -> bool:
        """Keep a request under its id; refuse it where another one has that."""
        request = waiting.request
        if request.is_notification or request.id is None:
            return True
        with self._lock:
            if request.id not in self._waiting:
                self._waiting[request.id] = waiting
                return True
        waiting.close()
        said = "id: another request with it is not answered yet"
        self._tell_all(frames.failure(request.id, frames.INVALID_REQUEST, said))
        return False

    def _hand_over(self, waiting: AskedRequest) -> None:
        if waiting.method.is_process:
            self._called = {x: f for x, f in self._called.items() if not f.done()}
            self._called[waiting] = self._calls.submit(self._do_call, waiting)
        elif self._pending.put(waiting):
            self._worker.wake()
        else:
            raise GoneError

    def _cancel(self, request: RpcRequest, params: Cancel) -> None:
        with self._lock:
            waiting = self._waiting.get(params.id)
        if waiting is not None:
            waiting.cancel()
        if not request.is_notification:
            self._tell_all(frames.result(request.id, Cancelled(waiting is not None)))

    # --- Working, by the thread that has the log --------------------------------------
    def turn(self) -> list[AskedRequest]:
        """Return what comes next; nothing as long as answers are not read."""
        return self._pending.turn() if self._channel.is_ready() else []

    def has_turn(self) -> bool:
        """Tell whether anything comes next."""
        return not self._pending.is_empty() and self._channel.is_ready()

    def decide(self, log: KeptLog, waiting: AskedRequest) -> DecidedRequest:
        """Let a command be decided on, and append what follows."""
        self._check_is_wanted(waiting)
        assert waiting.method.decide is not None
        return waiting.method.decide(log, waiting.params, self._asking)

    def do(self, log: KeptLog, waiting: AskedRequest) -> Any:
        """Do a request to its end."""
        self._check_is_wanted(waiting)
        params = waiting.params
        if isinstance(params, Unfollow):
            return self._unfollow(params)
        if isinstance(params, Follow):
            return self._follow(log, params)
        return waiting.method.act(log, params, self._asking)

    def answer(self, waiting: AskedRequest, act: Callable[[], Any]) -> None:
        """Answer a request with what comes of an act."""
        try:
            self._answer(waiting, act)
        except GoneError:
            self.stop()
        finally:
            self._pending.done()

    def lose(self) -> None:
        """Wait for nothing more."""
        self.stop()
        self._pending.end(is_lost=True)

    def _check_is_wanted(self, waiting: AskedRequest) -> None:
        if waiting.is_cancelled or self._is_over:
            raise NotBegunError

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
    def _do_call(self, waiting: AskedRequest) -> None:
        asked = waiting.request.id

        def tell(text: str) -> None:
            if not waiting.request.is_notification:
                self._tell("progress", {"id": asked, "text": text})

        def run() -> Any:
            self._check_is_wanted(waiting)
            assert isinstance(waiting.params, Call)
            return call(waiting.params, tell=tell, stop=waiting.stop)

        try:
            self._channel.wait_until_ready()
            self._answer(waiting, run)
        except GoneError:
            self.stop()
        finally:
            waiting.close()

    # --- Answering --------------------------------------------------------------------
    def _answer(self, waiting: AskedRequest, act: Callable[[], Any]) -> None:
        """Do what is asked and answer it; a refusal and a defect are answers, too."""
        request = waiting.request
        value, said = _outcome(request.id, act)
        with self._lock:
            if self._waiting.get(request.id) is waiting:
                del self._waiting[request.id]
        if not request.is_notification:
            self._channel.send(said)
        if isinstance(value, Following):
            # Nothing is told of a subscription before its number is.
            self._subscriptions[value.subscription].start()

    def _refuse(
        self, request: RpcRequest, code: int, said: str, error: SprintlogError | None = None
    ) -> None:
        if not request.is_notification:
            data = None if error is None else error_answer(error)
            self._tell_all(frames.failure(request.id, code, said, data))

    def _tell(self, method: str, params: dict[str, Any]) -> None:
        self._tell_all(frames.notification(method, params))

    def _tell_all(self, message: dict[str, Any]) -> None:
        """Send what the thread that has the log does not wait for."""
        self._channel.wait_until_ready()
        self._channel.send(message)


def _outcome(asked: Id, act: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    """Return what came of a request, and the answer to it."""
    try:
        value = act()
        return value, frames.result(asked, msgspec.Raw(json_line(value)[:-1]))
    except NotBegunError:
        return None, frames.failure(asked, frames.CANCELLED, "cancelled before it began")
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
