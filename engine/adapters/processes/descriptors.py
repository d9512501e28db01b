"""Keeps, closes and redirects a process's file descriptors.

This module uses only the standard library, because it is imported before a wrapped command
starts.
"""

import os
import selectors

STANDARD = (0, 1, 2)
CHUNK_BYTES = 1 << 16


def hold_standard_places() -> None:
    """Open the null device for closed standard streams, so that no pipe gets their numbers.

    The descriptors are not inherited by the command that this process starts or becomes.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) in STANDARD:
        pass
    os.close(number)


def is_given(number: int) -> bool:
    """Return whether a descriptor was inherited from the parent process."""
    try:
        return os.get_inheritable(number)
    except OSError:
        return False


def same_file(one: int, other: int) -> bool:
    """Return whether two descriptors share one file, in which case write order matters."""
    try:
        return os.path.samestat(os.fstat(one), os.fstat(other))
    except OSError:
        return False


def lead_nowhere(*numbers: int) -> None:
    """Redirect the descriptors to the null device, which closes their previous files."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in numbers:
        os.dup2(nowhere, number)
    os.close(nowhere)


def hold_only(*kept: int) -> None:
    """Close all descriptors except those in `kept`.

    Other processes may wait until the last descriptor of a pipe is closed.
    """
    lead_nowhere(*(number for number in STANDARD if number not in kept))
    last = STANDARD[-1]
    for number in sorted({*kept} - {*STANDARD}):
        os.closerange(last + 1, number)
        last = number
    os.closerange(last + 1, max(os.sysconf("SC_OPEN_MAX"), last + 1))


def wait_for(number: int, event: int, seconds: float | None = None) -> bool:
    """Wait until a descriptor is readable or writable; return False after a timeout."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(number, event)
        return bool(waiting.select(seconds))


def write_all(number: int, content: bytes | bytearray) -> None:
    """Write all bytes, even if the file is in non-blocking mode."""
    written = 0
    while written < len(content):
        try:
            written += os.write(number, content[written : written + CHUNK_BYTES])
        except BlockingIOError:
            wait_for(number, selectors.EVENT_WRITE)
