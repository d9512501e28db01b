"""Frames of JSON-RPC: what is a request, and what is refused in its place."""

import pytest

from sprintlog.cli.rpc import frames
from sprintlog.cli.rpc.frames import Refusal, Request, read_frame

HOSTILE = {
    "empty": (b"", frames.PARSE_ERROR),
    "half": (b'{"jsonrpc": "2.0", "me', frames.PARSE_ERROR),
    "not UTF-8": (b'{"jsonrpc": "2.0", "method": "\xff"}', frames.PARSE_ERROR),
    "deep": (b"[" * 100_000, frames.PARSE_ERROR),
    "huge": (b" " * (frames.FRAME_BYTES_MAX + 1), frames.INVALID_REQUEST),
    "no version": (b'{"id": 1, "method": "status"}', frames.INVALID_REQUEST),
    "wrong version": (b'{"jsonrpc": "1.0", "method": "status"}', frames.INVALID_REQUEST),
    "no batch": (b"[]", frames.INVALID_REQUEST),
    "id of no kind": (
        b'{"jsonrpc": "2.0", "id": true, "method": "status"}',
        frames.INVALID_REQUEST,
    ),
    "params in a row": (
        b'{"jsonrpc": "2.0", "method": "status", "params": [1]}',
        frames.INVALID_REQUEST,
    ),
}


@pytest.mark.parametrize(("line", "code"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_lines_are_refused(line: bytes, code: int) -> None:
    """A line that is no request is one refusal with its code, never an exception."""
    (only,) = read_frame(line).items
    assert isinstance(only, Refusal)
    assert only.code == code


def test_only_a_missing_id_is_a_notification() -> None:
    """A request without an id is a notification; one with the id null is answered."""
    one, two = read_frame(
        b'[{"jsonrpc": "2.0", "method": "a"}, {"jsonrpc": "2.0", "method":"b","id":null}]'
    ).items
    assert one == Request("a", {}, None, is_notification=True)
    assert two == Request("b", {}, None, is_notification=False)


def test_a_batch_keeps_what_is_good() -> None:
    """What is wrong in a batch is refused in its place, the rest is asked."""
    frame = read_frame(b'[1, {"jsonrpc": "2.0", "method": "a", "id": 7}]')
    assert frame.is_batch
    assert [type(item) for item in frame.items] == [Refusal, Request]
