"""Frames of JSON-RPC: valid requests, and refusals of all others."""

import os
from collections.abc import Iterator
from threading import Thread

import pytest

from sprintlog.cli.rpc import frames
from sprintlog.cli.rpc.frames import (
    FRAME_BYTES_MAX,
    RefusedFrame,
    RpcRequest,
    lines_of,
    read_frame,
)

HOSTILE = {
    "empty": (b"", frames.PARSE_ERROR),
    "half": (b'{"jsonrpc": "2.0", "me', frames.PARSE_ERROR),
    "not UTF-8": (b'{"jsonrpc": "2.0", "method": "\xff"}', frames.PARSE_ERROR),
    "deep": (b"[" * 100_000, frames.PARSE_ERROR),
    "a key twice": (b'{"jsonrpc": "2.0", "id": 1, "id": 2}', frames.PARSE_ERROR),
    "huge": (b"x" * (FRAME_BYTES_MAX + 1), frames.INVALID_REQUEST),
    "text": (b'"status"', frames.INVALID_REQUEST),
    "no version": (b'{"id": 1, "method": "status"}', frames.INVALID_REQUEST),
    "wrong version": (b'{"jsonrpc": "1.0", "method": "status"}', frames.INVALID_REQUEST),
    "a batch": (b'[{"jsonrpc": "2.0", "method": "ask", "id": 1}]', frames.INVALID_REQUEST),
    "no method": (b'{"jsonrpc": "2.0", "id": 1}', frames.INVALID_REQUEST),
    "id of no kind": (
        b'{"jsonrpc": "2.0", "id": true, "method": "status"}',
        frames.INVALID_REQUEST,
    ),
    "half an id": (
        b'{"jsonrpc": "2.0", "id": 1.5, "method": "status"}',
        frames.INVALID_REQUEST,
    ),
    "params in a row": (
        b'{"jsonrpc": "2.0", "method": "status", "params": [1]}',
        frames.INVALID_REQUEST,
    ),
}
"""Lines that are no request, with the code of the error that answers each."""


@pytest.mark.parametrize(("line", "code"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_lines_are_refused(line: bytes, code: int) -> None:
    """An invalid line is one refusal with its code, never an exception."""
    found = read_frame(line)
    assert isinstance(found, RefusedFrame)
    assert found.code == code


def test_only_a_missing_id_is_a_notification() -> None:
    """A request without an id is a notification; one with the id null is answered."""
    one = read_frame(b'{"jsonrpc": "2.0", "method": "a"}')
    assert one == RpcRequest("a", {}, None, is_notification=True)
    two = read_frame(b'{"jsonrpc": "2.0", "method": "b", "id": null}')
    assert two == RpcRequest("b", {}, None, is_notification=False)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Return both ends of a pipe."""
    ends = os.pipe()
    yield ends
    os.close(ends[0])


def test_lines_come_whole_whatever_the_pieces(pipe: tuple[int, int]) -> None:
    """Each line is returned once, even an unterminated last one; long ones are cut."""
    reading, writing = pipe
    long = b"x" * (FRAME_BYTES_MAX + 100_000)

    def write() -> None:
        with os.fdopen(writing, "wb") as file:
            file.write(b"one\n\ntw")
            file.flush()
            file.write(b"o\n" + long + b"\nthree\nlast")

    writer = Thread(target=write)
    writer.start()
    one, empty, two, cut, three, last = lines_of(reading)
    writer.join()
    assert (one, empty, two, three, last) == (b"one", b"", b"two", b"three", b"last")
    assert FRAME_BYTES_MAX < len(cut) < FRAME_BYTES_MAX + 100_000
