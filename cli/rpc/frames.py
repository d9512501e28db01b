"""What a line of JSON-RPC 2.0 asks for, and how it is answered; knows no command."""

from typing import Any, NamedTuple

from sprintlog.engine.errors import InvalidInputError

from ..intake.json_reader import load

FRAME_BYTES_MAX = 9 * 1024 * 1024
BATCH_MAX = 1000
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
OF_EXIT_CODE = -32000
"""An exit code is taken from this: what is refused (1) is -32001, a conflict (5) -32005."""


class Request(NamedTuple):
    """One call; without an id (`is_notification`) nobody waits for its answer."""

    method: str
    params: dict[str, Any]
    id: str | int | None
    is_notification: bool


class Refusal(NamedTuple):
    """An answer to something that is no request."""

    code: int
    message: str
    id: str | int | None = None


class Frame(NamedTuple):
    """What a line holds; a batch is answered by one list."""

    items: tuple[Request | Refusal, ...]
    is_batch: bool


def read_frame(line: bytes) -> Frame:
    """Return what a line asks for; what is no request is a refusal in its place."""
    if len(line) > FRAME_BYTES_MAX:
        return _refused(INVALID_REQUEST, f"longer than {FRAME_BYTES_MAX} bytes")
    try:
        value = load(line)
    except InvalidInputError as error:
        return _refused(PARSE_ERROR, error.message)
    if not isinstance(value, list):
        return Frame((_request(value),), is_batch=False)
    if not 0 < len(value) <= BATCH_MAX:
        return _refused(INVALID_REQUEST, f"a batch holds 1 to {BATCH_MAX} requests")
    return Frame(tuple(map(_request, value)), is_batch=True)


def result(request: Request, value: Any) -> dict[str, Any]:
    """Return the answer to a request that was done."""
    return {"jsonrpc": "2.0", "id": request.id, "result": value}


def failure(
    asked: str | int | None, code: int, message: str, data: Any = None
) -> dict[str, Any]:
    """Return the answer to what was not done; `data` has the fields of `--json`."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": asked, "error": error}


def _request(value: Any) -> Request | Refusal:
    if not isinstance(value, dict):
        return Refusal(INVALID_REQUEST, "a request is an object")
    asked = value.get("id")
    # A bool is an int in Python, and no id.
    is_id = asked is None or (isinstance(asked, str | int) and not isinstance(asked, bool))
    if not is_id:
        return Refusal(INVALID_REQUEST, "id: must be text or a whole number")
    if value.get("jsonrpc") != "2.0":
        return Refusal(INVALID_REQUEST, 'jsonrpc: must be "2.0"', asked)
    method, params = value.get("method"), value.get("params", {})
    if not isinstance(method, str):
        return Refusal(INVALID_REQUEST, "method: is missing or not text", asked)
    if not isinstance(params, dict):
        return Refusal(INVALID_REQUEST, "params: must be an object", asked)
    return Request(method, params, asked, "id" not in value)


def _refused(code: int, message: str) -> Frame:
    return Frame((Refusal(code, message),), is_batch=False)
