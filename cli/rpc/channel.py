"""The two ends of a client's pipes: lines that come, and lines that go, each in whole."""

import os
import select
from collections.abc import Iterator
from threading import Lock
from typing import Any

from sprintlog.engine.log.stores.descriptors import write_whole

from ..output import json_line
from ..resident_log import EndedError
from .frames import FRAME_BYTES_MAX

CHUNK_BYTES = 1 << 16


class GoneError(EndedError):
    """Nobody reads what is answered any more."""


class Channel:
    """Writes answers and what is told beside them; many threads have one."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = Lock()
        self._is_gone = False

    def send(self, message: dict[str, Any]) -> None:
        """Write a message; raise `GoneError` where nobody reads it.

        Whoever does not read holds up whoever answers: nothing is kept in memory for it.
        """
        with self._lock:
            if self._is_gone:
                raise GoneError
            try:
                write_whole(self._descriptor, json_line(message))
            except OSError as error:
                self._is_gone = True
                raise GoneError from error

    def is_ready(self) -> bool:
        """Tell whether it can be answered at once; a pipe is waited for."""
        return True

    def wait_until_ready(self) -> None:
        """Wait until it can be answered at once."""

    def is_gone(self) -> bool:
        """Tell whether nobody reads any more."""
        if not self._is_gone:
            poll = select.poll()
            poll.register(self._descriptor, 0)
            self._is_gone = bool(poll.poll(0))
        return self._is_gone


def lines_of(descriptor: int) -> Iterator[bytes]:
    """Yield lines as they come, the last one even without an end.

    One that is too long is given cut, but longer than is allowed, and its rest left out.
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
