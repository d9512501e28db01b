"""What is asked for, and what the process that records is told: no more than bytes.

The standard library alone: this is imported before the command starts.
"""

import struct
from typing import NamedTuple

WITHIN = "SPRINTLOG_WITHIN"
"""Says to a command that it is part of an iteration that somebody records already."""
FRAME = struct.Struct("!BI")
"""The kind of what comes, and its length."""
ENDED = 0
"""A frame of this kind says how the command ended; the others what it printed."""
_RESULT = struct.Struct("!iq")


class WrapRequest(NamedTuple):
    """What was typed."""

    command: tuple[str, ...]
    sprint_id: str | None = None
    snapshot: bool = False
    measure: str | None = None
    reports: tuple[str, ...] = ()
    state_files: bool = False
    no_mask: bool = False


def result(exit_code: int, milliseconds: int) -> bytes:
    """Return the frame that says how a command ended."""
    content = _RESULT.pack(exit_code, milliseconds)
    return FRAME.pack(ENDED, len(content)) + content


def read_result(content: bytes) -> tuple[int, int]:
    """Return the exit code and the duration in milliseconds."""
    exit_code, milliseconds = _RESULT.unpack(content)
    return exit_code, milliseconds
