"""The lock that allows only one loop per sprint until all of the loop's processes end."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ... import hashes
from ...errors import BusyError
from ...log.stores.descriptors import held_open
from . import process as processes

PATIENCE_SECONDS = 15.0
"""How long the remaining processes of a dead loop may take to end."""


class Holder(msgspec.Struct, frozen=True):
    """The process that runs a sprint."""

    process: processes.Process
    since: str


@contextmanager
def hold(folder: Path, sprint_id: str, *, now: str) -> Iterator[tuple[int, Holder | None]]:
    """Hold the lock for running a sprint.

    Yield the lock's descriptor, and the previous holder if it was killed. Processes that
    must exit before the next loop starts may inherit the descriptor. Raise `BusyError`
    naming a live holder.
    """
    with held_open(lock_of(folder, sprint_id), os.O_CREAT | os.O_RDWR) as lock:
        _take(lock, sprint_id)
        before = _read(lock)
        _write(lock, msgspec.json.encode(Holder(processes.process(), now)))
        try:
            yield lock, before
        finally:
            _write(lock, b"")


def lock_of(folder: Path, sprint_id: str) -> Path:
    """Return the path of the lock file for running a sprint."""
    return folder / f"run-{hashes.sha256(sprint_id.encode()).hexdigest()[:16]}.lock"


def is_held(path: Path) -> bool:
    """Return whether the sprint's loop, or a process that it started, is running."""
    try:
        with held_open(path, os.O_RDONLY) as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        # The lock is held, or its state is unknown.
        return True
    return False


def _take(lock: int, sprint_id: str) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read(lock)
            is_alive = holder is not None and processes.is_alive(holder.process)
            if is_alive or time.monotonic() > until:
                raise _busy(sprint_id, holder) from None
        else:
            return
        time.sleep(0.05)


def _busy(sprint_id: str, holder: Holder | None) -> BusyError:
    who = "another process"
    if holder is not None:
        who = f"process {holder.process.pid} since {holder.since}"
    return BusyError(
        f"sprint {sprint_id} is being run by {who}",
        hint="wait until it ends, or stop it; run `sprintlog status` to see its progress",
        sprint=sprint_id,
        pid=holder.process.pid if holder else None,
    )


def _read(lock: int) -> Holder | None:
    try:
        return msgspec.json.decode(os.pread(lock, 4096, 0), type=Holder)
    except msgspec.DecodeError:
        return None


def _write(lock: int, content: bytes) -> None:
    os.ftruncate(lock, 0)
    os.pwrite(lock, content, 0)
