"""The session of one client: its requests, answers and subscriptions."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import click
import msgspec

from sprintlog.errors import InvalidInputError, RefusedError, SprintlogError
from sprintlog.events import RecordedEvent
from sprintlog.questions import whole_event
from sprintlog.servers import LogFollower, ResidentLog, error_answer, exit_code, json_line
from sprintlog.workspaces import Workspace

from . import frames
from .methods import METHODS, Asking, methods_for
from .params import Cancel, Cancelled, Follow, Following, Unfollow, Unfollowed, converted
from .worker import AskedRequest, LogWorker, Pending

_REFUSED, _USAGE = 1, 2
"""The exit statuses of a command."""
CALLS_MAX = 4
"""The maximum number of simultaneous processes; further calls wait."""
SUBSCRIPTIONS_MAX = 16
LOOK_SECONDS = 0.2
NO_PROCESS = "no process is started over a socket: any client could start any process"
ON_PIPES = "use `sprintlog rpc` over pipes, or run the command itself"
_DEFECTS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError),
    *(TypeError, ValueError),
)
"""Errors caused by defects in sprintlog; they are returned to the client."""
_IN_DOUBT = (
    "this is a bug in sprintlog; `sprintlog log` shows whether the request was "
    "recorded, and the same key records it only once"
)
_ANSWERED = (
    frames.FailedRequestError,
    SprintlogError,
    click.UsageError,
    OSError,
    *_DEFECTS,
)


class ClientSession:
    """Answers a client's requests; the worker processes commands and questions in order."""

    def __init__(self, channel: frames.Channel, asking: Asking, worker: LogWorker) -> None:
        self._channel, self._asking, self._worker = channel, asking, worker
        self._pending = Pending()
        self._lock = threading.Lock()
        self._waiting: dict[frames.Id, AskedRequest] = {}
        self._calls = ThreadPoolExecutor(CALLS_MAX, "calls")
        self._called: dict[AskedRequest, Future[None]] = {}
        self._subscriptions: dict[int, Subscription] = {}
        self._numbers = 0
        self._is_over = False

    def serve(self, descriptor: int) -> None:
        """Answer all requests from a descriptor until the end of input.

        Raise `GoneError` if the client no longer reads answers.
        """
        self.start()
        try:
            for line in frames.lines_of(descriptor):
                self.take(line)
            if self._channel.is_gone():
                self.stop()
        except BaseException:
            self.stop()
            raise
        finally:
            self.finish()

    # --- Reading, by the thread that reads ------------------------------------------
    def start(self) -> None:
        """Start processing requests."""
        self._worker.add(self)

    def take(self, line: bytes) -> None:
        """Accept a line; raise `GoneError` if the client no longer reads answers."""
        if not line.strip():
            return
        request = frames.read_frame(line)
        if isinstance(request, frames.RefusedFrame):
            self._tell_all(frames.failure(request.id, request.code, request.message))
            return
        try:
            self._take(request, len(line))
        except (frames.FailedRequestError, RefusedError) as error:
            self._tell_answer(request, error)

    def _take(self, request: frames.RpcRequest, size: int) -> None:
        method = METHODS.get(request.method)
        if method is None:
            known = ", ".join(methods_for(self._asking))
            said = f"there is no method {request.method[:60]!r}; available: {known}"
            raise frames.FailedRequestError(frames.UNKNOWN_METHOD, said)
        try:
            given = converted(request.params, method.takes, field="params")
        except RefusedError as error:
            said, data = error.message, error_answer(error)
            raise frames.FailedRequestError(frames.INVALID_PARAMS, said, data) from error
        if isinstance(given, Cancel):
            self._tell_answer(request, self._cancel(given))
            return
        if method.is_process and not self._asking.has_processes:
            raise RefusedError(NO_PROCESS, hint=ON_PIPES)
        asked = AskedRequest(self, request, method, given, size=size)
        self._keep(asked)
        self._hand_over(asked)

    def finish(self) -> None:
        """Finish all accepted requests, and end subscriptions immediately."""
        self._pending.wait_until_done()
        self._worker.remove(self)
        for subscription in [*self._subscriptions.values()]:
            subscription.end()
        while wait(self._called.values(), LOOK_SECONDS).not_done:
            if self._channel.is_gone():
                self.stop()
        self._calls.shutdown()

    def stop(self) -> None:
        """Start no more requests, and end running requests that are not being recorded."""
        self._is_over = True
        self._pending.end()
        for asked in [*self._called]:
            asked.cancel()

    def _keep(self, asked: AskedRequest) -> None:
        """Store a request under its id; reject it if a pending request has that id."""
        request = asked.request
        if request.id is None:
            return
        with self._lock:
            if self._waiting.setdefault(request.id, asked) is asked:
                return
        asked.close()
        said = "id: another request with this id is pending"
        raise frames.FailedRequestError(frames.INVALID_REQUEST, said)

    def _hand_over(self, asked: AskedRequest) -> None:
        if asked.method.is_process:
            self._called = {x: f for x, f in self._called.items() if not f.done()}
            self._called[asked] = self._calls.submit(self._do_call, asked)
        elif self._pending.put(asked):
            self._worker.wake()
        else:
            raise frames.GoneError

    def _cancel(self, given: Cancel) -> Cancelled:
        with self._lock:
            asked = self._waiting.get(given.id)
        if asked is not None:
            asked.cancel()
        return Cancelled(asked is not None)

    # --- Working, by the thread of the log --------------------------------------
    def turn(self) -> list[AskedRequest]:
        """Return the next requests, or none while the client does not read answers."""
        return self._pending.turn() if self._channel.is_ready() else []

    def has_turn(self) -> bool:
        """Return whether a request can be processed."""
        return not self._pending.is_empty() and self._channel.is_ready()

    def do(self, log: ResidentLog, asked: AskedRequest) -> Any:
        """Process a request; a recording request appends its events."""
        self._check_is_wanted(asked)
        if isinstance(asked.given, Unfollow):
            return self._unfollow(asked.given)
        if isinstance(asked.given, Follow):
            return self._follow(log, asked.given)
        assert asked.method.act is not None
        return asked.method.act(log, asked.given, self._asking)

    def do_alone(self, log: ResidentLog, asked: AskedRequest) -> None:
        """Process a request completely, and answer it."""

        def act() -> Any:
            value = self.do(log, asked)
            if not asked.method.records:
                return value
            self._asking.host.refresh(log.workspace(), value.stream)
            return value.answer

        self.answer(asked, _outcome_of(act))

    def answer(self, asked: AskedRequest, outcome: Any) -> None:
        """Answer a request with its result, or with the error it raised."""
        try:
            self._answer(asked, outcome)
        except frames.GoneError:
            self.stop()
        finally:
            self._pending.done()

    def lose(self) -> None:
        """Stop waiting for the worker, which has ended unexpectedly."""
        self.stop()
        self._pending.end(is_lost=True)

    def _check_is_wanted(self, asked: AskedRequest) -> None:
        if asked.is_cancelled or self._is_over:
            raise frames.FailedRequestError(frames.CANCELLED, "cancelled before the start")

    def _follow(self, log: ResidentLog, params: Follow) -> Following:
        if len(self._subscriptions) >= SUBSCRIPTIONS_MAX:
            raise RefusedError(f"the limit of {SUBSCRIPTIONS_MAX} subscriptions is reached")
        head = log.workspace().log.head().position
        after = head if params.after is None else params.after
        if after > head:
            said = f"the log ends at position {head}: the log was replaced"
            raise InvalidInputError(said, field="after")
        self._numbers += 1
        subscription = Subscription(self._numbers, stream=params.stream, tell=self._tell)
        subscription.follow(self._asking.host.open, after=after)
        self._subscriptions[self._numbers] = subscription
        return Following(self._numbers, after)

    def _unfollow(self, params: Unfollow) -> Unfollowed:
        found = self._subscriptions.pop(params.subscription, None)
        if found is not None:
            found.end()
        return Unfollowed(found is not None)

    # --- Calling, by separate threads ---------------------------------------------
    def _do_call(self, asked: AskedRequest) -> None:
        def tell(text: str) -> None:
            if not asked.request.is_notification:
                self._tell("progress", {"id": asked.request.id, "text": text})

        def act() -> Any:
            self._check_is_wanted(asked)
            return self._asking.host.call(asked.given, tell=tell, stop=asked.stop)

        try:
            self._channel.wait_until_ready()
            self._answer(asked, _outcome_of(act))
        except frames.GoneError:
            self.stop()
        finally:
            asked.close()

    # --- Answering --------------------------------------------------------------------
    def _answer(self, asked: AskedRequest, outcome: Any) -> None:
        request = asked.request
        said = _answer_to(request.id, outcome)
        with self._lock:
            if self._waiting.get(request.id) is asked:
                del self._waiting[request.id]
        if not request.is_notification:
            self._channel.send(said)
        if isinstance(outcome, Following):
            # The client must receive the subscription number before its first event.
            self._subscriptions[outcome.subscription].start()

    def _tell_answer(self, request: frames.RpcRequest, outcome: Any) -> None:
        if not request.is_notification:
            self._tell_all(_answer_to(request.id, outcome))

    def _tell(self, method: str, params: dict[str, Any]) -> None:
        self._tell_all(frames.notification(method, params))

    def _tell_all(self, message: dict[str, Any]) -> None:
        """Wait until the client reads its answers, then send a message."""
        self._channel.wait_until_ready()
        self._channel.send(message)


def _outcome_of(act: Callable[[], Any]) -> Any:
    """Return the result of a request, or the error it raised."""
    try:
        return act()
    except _ANSWERED as error:
        return error


def _answer_to(asked: frames.Id, outcome: Any) -> dict[str, Any]:
    """Return the answer to a request: its result, or its refusal or defect as an error."""
    if not isinstance(outcome, Exception):
        try:
            return frames.result(asked, msgspec.Raw(json_line(outcome)[:-1]))
        except _DEFECTS as defect:
            outcome = defect
    if isinstance(outcome, frames.FailedRequestError):
        return frames.failure(asked, outcome.code, outcome.message, outcome.data)
    code, error = _error_of(outcome)
    said = error_answer(error)
    return frames.failure(asked, code, said["message"], said)


def _error_of(outcome: Exception) -> tuple[int, SprintlogError]:
    """Return an error's code, and the error as a command would print it."""
    match outcome:
        case SprintlogError():
            return frames.OF_EXIT_CODE - exit_code(outcome), outcome
        case click.UsageError():
            return frames.OF_EXIT_CODE - _USAGE, SprintlogError(outcome.format_message())
        case OSError():
            text = f"{outcome.filename or 'log'}: {outcome.strerror}"
            return frames.OF_EXIT_CODE - _REFUSED, SprintlogError(text)
        case _:
            text = f"{type(outcome).__name__}: {outcome}"
            return frames.INTERNAL_ERROR, SprintlogError(text, hint=_IN_DOUBT)


Tell = Callable[[str, dict[str, Any]], None]


class Subscription:
    """A client's subscription to events."""

    def __init__(self, number: int, *, stream: str | None, tell: Tell) -> None:
        self._number, self._stream, self._tell = number, stream, tell
        self._follower: LogFollower

    def follow(self, opens: Callable[[], Workspace], *, after: int) -> None:
        """Prepare to follow the log after a position; `start` begins the subscription."""
        self._follower = LogFollower(
            opens, after=after, take=self._events, fail=self._last_word
        )
        self.start, self.end = self._follower.start, self._follower.end

    def _events(self, page: list[RecordedEvent]) -> bool:
        return all(
            self._say("event", event=whole_event(event))
            for event in page
            if self._stream in (None, event.stream)
        )

    def _last_word(self, error: SprintlogError) -> bool:
        self._say("ended", error=error_answer(error))
        return False

    def _say(self, method: str, **params: Any) -> bool:
        """Send a notification; return whether the subscription continues."""
        if self._follower.has_ended:
            return False
        try:
            self._tell(method, {"subscription": self._number, **params})
        except frames.GoneError:
            return False
        return True
