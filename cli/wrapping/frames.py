"""The request of `wrap`, and the messages to its recorder, as bytes.

This module uses only the standard library, because it is imported before the command
starts.
"""

import os
import struct
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from sprintlog.engine.sessions.work import WITHIN as WITHIN
from sprintlog.engine.sessions.work import work_in

FRAME = struct.Struct("!BI")
"""The kind of a frame and the length of its content."""
ENDED, MISSED = 0, 3
"""The kinds of the frames that report the end of the command, and the unsent bytes of
standard output and standard error. All other kinds are descriptor numbers, with their
output."""
RESULT, COUNTS = struct.Struct("!iq"), struct.Struct("!qq")


PATIENCE_SECONDS = 2.0
"""How long the recorder may block before the command continues without recording."""
RECORD_SECONDS = 10.0
"""How long to wait for the record at the end, usually 0.2 s; longer on a busy machine."""
FILES_SECONDS = 60.0
"""How long to wait at the end for the snapshot of the files that the command left."""
MEASURE_SECONDS = 600.0
"""The time limit for measurements."""


def is_run(command: Sequence[str]) -> bool:
    """Return whether a command is `sprintlog run`, which starts agents itself."""
    words = [os.path.basename(word.removesuffix(".cli")) for word in command[:4]]
    return ("sprintlog", "run") in pairwise(words)


class WrapRequest(NamedTuple):
    """The parsed command line."""

    command: tuple[str, ...]
    sprint_id: str | None = None
    snapshot: bool = False
    measure: str | None = None
    reports: tuple[str, ...] = ()
    state_files: bool = False
    no_mask: bool = False
    measure_build: bool = False
    wait: bool = False
    """Whether to wait at the end until a limit reported by the command has expired."""

    @property
    def patience_seconds(self) -> float:
        """Return the number of seconds to wait for the recorder at the end.

        Later commands may change files, but the snapshot and measurement must reflect the
        files left by this command.
        """
        if self.measure is not None:
            return FILES_SECONDS + MEASURE_SECONDS
        return FILES_SECONDS if self.snapshot else RECORD_SECONDS


class HeldCommand:
    """A command that does not start until files are saved or a time limit is reached."""

    def __init__(self, descriptor: int, until: float) -> None:
        self._descriptor: int | None = descriptor
        self._until = until
        """The time limit, by the monotonic clock."""

    @property
    def is_over(self) -> bool:
        """Return whether the command may have started already."""
        return time.monotonic() >= self._until

    def end(self) -> None:
        """Release the command so that it starts."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None


def work_of(environment: Mapping[str, str], key: str) -> str:
    """Return the id of the work that a wrapped command belongs to; it defaults to `key`."""
    return work_in(environment) or key


def printed(number: int, chunk: bytes) -> bytes:
    """Return the frame with output that a command wrote to a descriptor."""
    return FRAME.pack(number, len(chunk)) + chunk


def missed(counts: Mapping[int, int]) -> bytes:
    """Return the frame with the number of unsent bytes of each descriptor."""
    content = COUNTS.pack(counts.get(1, 0), counts.get(2, 0))
    return FRAME.pack(MISSED, len(content)) + content


def read_pair(form: struct.Struct, content: bytes) -> tuple[int, int]:
    """Return the numbers in a frame: the unsent bytes or the exit code and milliseconds."""
    one, other = form.unpack(content)
    return one, other


def result(exit_code: int, milliseconds: int) -> bytes:
    """Return the frame that reports the end of a command."""
    content = RESULT.pack(exit_code, milliseconds)
    return FRAME.pack(ENDED, len(content)) + content
