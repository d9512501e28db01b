"""JSON-RPC 2.0 frames and the lines that carry them; independent of commands."""

import os
import select
from collections.abc import Iterator
from threading import Lock
from typing import Any, NamedTuple

from sprintlog.errors import InvalidInputError
from sprintlog.servers import json_line, parse_json

FRAME_BYTES_MAX = 9 * 1024 * 1024
PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603
CANCELLED = -32800
OF_EXIT_CODE = -32000
"""The base of error codes, from which the exit status is subtracted: a refusal (1) is
-32001, a conflict (5) is -32005."""

Id = str | int | None


class RpcRequest(NamedTuple):
    """A request; a request without an id (`is_notification`) is not answered."""

    method: str
    params: dict[str, Any]
    id: Id
    is_notification: bool


class FailedRequestError(Exception):
    """Raised for a failed request; contains the error's code, message and data."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class RefusedFrame(NamedTuple):
    """The answer to an invalid request."""

    code: int
    message: str
    id: Id = None


def read_frame(line: bytes) -> RpcRequest | RefusedFrame:
    """Return the request on a line, or the refusal of an invalid request."""
    if len(line) > FRAME_BYTES_MAX:
        said = f"a line is longer than {FRAME_BYTES_MAX} bytes"
        return RefusedFrame(INVALID_REQUEST, said)
    try:
        value = parse_json(line)
    except InvalidInputError as error:
        return RefusedFrame(PARSE_ERROR, error.message)
    if isinstance(value, list):
        return RefusedFrame(INVALID_REQUEST, "send one request per line, not a list")
    if not isinstance(value, dict):
        return RefusedFrame(INVALID_REQUEST, "a request must be an object")
    return _request(value)


def _request(value: dict[str, Any]) -> RpcRequest | RefusedFrame:
    asked = value.get("id")
    # In Python, a bool is also an int, but it is not a valid id.
    is_id = asked is None or (isinstance(asked, str | int) and not isinstance(asked, bool))
    if not is_id:
        return RefusedFrame(INVALID_REQUEST, "id: must be text or a whole number")
    if value.get("jsonrpc") != "2.0":
        return RefusedFrame(INVALID_REQUEST, 'jsonrpc: must be "2.0"', asked)
    method, params = value.get("method"), value.get("params", {})
    if not isinstance(method, str):
        return RefusedFrame(INVALID_REQUEST, "method: is missing or not a string", asked)
    if not isinstance(params, dict):
        return RefusedFrame(INVALID_REQUEST, "params: must be an object", asked)
    return RpcRequest(method, params, asked, "id" not in value)


def result(asked: Id, value: Any) -> dict[str, Any]:
    """Return the answer to a successful request."""
    return {"jsonrpc": "2.0", "id": asked, "result": value}


def failure(asked: Id, code: int, message: str, data: Any = None) -> dict[str, Any]:
    """Return the answer to a failed request; `data` has the same fields as in `--json`."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": asked, "error": error}


def notification(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return a notification message."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


CHUNK_BYTES = 1 << 16


class GoneError(Exception):
    """Raised when the client no longer reads answers."""


class Channel:
    """Writes answers and notifications; thread-safe."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = Lock()
        self._is_gone = False

    def send(self, message: dict[str, Any]) -> None:
        """Write a message; raise `GoneError` if the client has disconnected.

        A client that does not read blocks the caller: no message is buffered in memory.
        """
        with self._lock:
            if self._is_gone:
                raise GoneError
            try:
                view = memoryview(json_line(message))
                while view:
                    view = view[os.write(self._descriptor, view) :]
            except OSError as error:
                self._is_gone = True
                raise GoneError from error

    def is_ready(self) -> bool:
        """Return whether an answer can be written now; writing to a pipe may block."""
        return True

    def wait_until_ready(self) -> None:
        """Wait until an answer can be written."""

    def is_gone(self) -> bool:
        """Return whether the client has disconnected."""
        if not self._is_gone:
            poll = select.poll()
            poll.register(self._descriptor, 0)
            self._is_gone = bool(poll.poll(0))
        return self._is_gone


def lines_of(descriptor: int) -> Iterator[bytes]:
    """Yield lines as they arrive, including a last line without a line feed.

    A line that is too long is truncated to a length that still exceeds the limit.
    """
    pending, is_cut = bytearray(), False
    while chunk := os.read(descriptor, CHUNK_BYTES):
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            if not is_cut:
                yield bytes(pending + piece)
            pending, is_cut = bytearray(), False
        if is_cut:
            continue
        pending += rest
        if len(pending) > FRAME_BYTES_MAX:
            yield bytes(pending)
            pending, is_cut = bytearray(), True
    if pending:
        yield bytes(pending)
