"""The agents working in a work tree, each with a file in the log's folder while it works.

The file names the process, so an agent that was killed is not counted.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from ... import hashes
from ...adapters.processes.process import Process, is_alive, process
from ...adapters.replace import replace_file
from ...errors import RefusedError
from ..place.location import Location

FOLDER = "at-work"
LOCK = "turns.lock"
TURN_SECONDS = 15 * 60
"""The assumed duration in seconds of a turn whose process is unknown."""
BYTES_MAX = 4096


class AtWork(msgspec.Struct, frozen=True):
    """A working agent."""

    words: str
    since: str
    began: float
    """The start time, in seconds since 1970."""
    tree: tuple[int, int]
    """The device and inode of the work tree's root."""
    process: Process | None
    """The process that is working; None if it is unknown."""
    sprint: str = ""
    iteration: int = 0
    """The sprint's iteration on which the agent is working; 0 before the first one."""
    starter: Process | None = None
    """The process that started the agent, if it is not `process`."""
    has_called: bool = False
    """Whether the agent has called a tool in this turn."""
    session: str = ""
    """The stream of the agent's session, if its turns are iterations."""
    is_idle: bool = False
    """Whether its turn has ended, while its process may still go on."""

    @property
    def is_alive(self) -> bool:
        """Return whether the agent is still working, as far as can be determined."""
        if self.process is not None:
            return is_alive(self.process)
        return 0 <= time.time() - self.began < TURN_SECONDS


def file_of(location: Location, name: str) -> Path:
    """Return the path of an agent's file, given the name of its session or process."""
    name = hashes.sha256(name.encode()).hexdigest()
    return location.folder / FOLDER / f"{name[:32]}.json"


def begin(
    location: Location,
    name: str,
    words: str,
    *,
    now: str,
    worker: Process | None,
    starter: Process | None = None,
    session: str = "",
) -> Path:
    """Record that an agent is working; `end` removes the record.

    It is not an error if the folder is not writable.
    """
    file = file_of(location, name)
    with suppress(OSError):
        tree = _tree(location.root)
        times = now, time.time()
        work = AtWork(words, *times, tree, worker, starter=starter, session=session)
        file.parent.mkdir(mode=0o700, exist_ok=True)
        replace_file(file, msgspec.json.encode(work), mode=0o600)
    return file


def end(file: Path) -> None:
    """Remove an agent's record when it stops working."""
    with suppress(OSError):
        file.unlink(missing_ok=True)


def end_turn(location: Location, name: str) -> None:
    """Record the end of a session's turn; its process remains known as an agent's."""
    work = _read(file := file_of(location, name))
    if work is None or work.process is None:
        end(file)
    elif not work.is_idle:
        _change(file, is_idle=True, iteration=0)


def is_in_turn(location: Location, name: str) -> bool:
    """Return whether a turn of a session has started and not ended."""
    work = _read(file_of(location, name))
    return work is not None and not work.is_idle


def begin_iteration(
    location: Location, sprint_id: str, number: int, *, name: str | None = None
) -> None:
    """Record the iteration of a session or, by default, of this process, if at work."""
    _change(file_of(location, name or f"{os.getpid()}"), sprint=sprint_id, iteration=number)


def take_up(location: Location, name: str) -> bool | None:
    """Note a tool call in a session's turn; return whether it is the first one.

    Return None if no turn of the session is recorded.
    """
    file = file_of(location, name)
    if (work := _read(file)) is None or work.is_idle:
        return None
    if not work.has_called:
        _change(file, has_called=True)
    return not work.has_called


def _change(file: Path, **fields: Any) -> None:
    if (work := _read(file)) is not None:
        with suppress(OSError):
            replace_file(file, msgspec.json.encode(replace(work, **fields)), mode=0o600)


@contextmanager
def working(
    location: Location, words: str, *, now: str, starter: int | None = None
) -> Iterator[None]:
    """Record that this process is working while the block runs.

    `starter` is the id of the process that started the agent, if it is another one.
    """
    by = None if starter is None else process(starter)
    file = begin(location, f"{os.getpid()}", words, now=now, worker=process(), starter=by)
    try:
        yield
    finally:
        end(file)


def refuse_while_at_work(location: Location) -> None:
    """Raise `RefusedError` if an agent in another process is working in this work tree."""
    for work in others_at_work(location):
        pid = work.process.pid if work.process is not None else None
        whose = f"process {pid}" if pid is not None else "its process is unknown"
        raise RefusedError(
            f"an agent is working in this work tree: {work.words}, {whose}, since "
            f"{work.since}",
            hint="wait until it ends, or restore the files anyway with --force",
            pid=pid,
        )


def others_at_work(location: Location) -> Iterator[AtWork]:
    """Yield the agents in other processes that are working in this work tree."""
    tree = _tree(location.root)
    yield from (work for work in all_at_work(location) if work.tree == tree)


def all_at_work(location: Location, *, with_idle: bool = False) -> Iterator[AtWork]:
    """Yield the agents in other processes that are working with this log."""
    folder = location.folder / FOLDER
    # Not by `glob`, whose import takes longer than everything else here.
    for file in sorted(folder.iterdir()) if folder.is_dir() else ():
        if (work := _read(file)) is None:
            continue
        if not work.is_alive:
            end(file)
            continue
        is_own = work.process is not None and work.process.pid == os.getpid()
        if not is_own and (with_idle or not work.is_idle):
            yield work


def _read(file: Path) -> AtWork | None:
    try:
        with file.open("rb") as held:
            return msgspec.json.decode(held.read(BYTES_MAX), type=AtWork)
    except (OSError, msgspec.DecodeError):
        return None


def _tree(root: Path) -> tuple[int, int]:
    status = root.stat()
    return status.st_dev, status.st_ino
