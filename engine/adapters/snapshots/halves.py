"""Places a plan's files in two processes at the same time."""

import marshal
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import msgspec

from ...log.stores.descriptors import give_back, write_whole
from ..replace import system_call
from .entries import TreeEntry, parents_of
from .placement import PlacedFiles
from .plan import PlacementPlan

FILES_MIN = 2_000
"""The number of files from which on a second process is started."""
OWNER_WRITES, SET_PDEATHSIG = 0o300, 1
Place = Callable[[PlacementPlan, bool], PlacedFiles]
"""Carries out a plan; the flag states that no step of the plan was carried out before."""


def place_halves(plan: PlacementPlan, place: Place, *, is_new: bool) -> PlacedFiles:
    """Carry out a plan; place the files of half of the folders in a second process.

    If the second process fails, this process repeats its half.
    """
    if len(plan.writes) < FILES_MIN or not may_fork():
        return place(plan, is_new)
    folders = sorted(path.rpartition("/")[0] for path in plan.writes)
    middle = folders[(len(folders) - 1) // 2]
    parts: tuple[dict[str, TreeEntry], dict[str, TreeEntry]] = {}, {}
    for path, entry in plan.writes.items():
        parts[path.rpartition("/")[0] > middle][path] = entry
    # A folder becomes read-only only after both halves are placed.
    modes = {path: mode | OWNER_WRITES for path, mode in plan.modes.items()}
    rest = plan._replace(removals=[], folders={}, folders_gone=[], skipped=[], modes=modes)
    half = rest._replace(writes=parts[1])
    # Folders are created, and files in their place removed, before files are placed.
    placed = [place(plan._replace(writes={}), is_new)]
    with _beside(lambda: marshal.dumps(msgspec.to_builtins(place(half, is_new)))) as answer:
        placed.append(place(rest._replace(writes=parts[0]), is_new))
        packed = answer()
    try:
        placed.append(msgspec.convert(marshal.loads(packed), PlacedFiles))
    except EOFError:
        placed.append(place(half, False))
    above = parents_of(plan.writes)
    late = {x: mode for x, mode in plan.modes.items() if x in above and mode != modes[x]}
    placed.append(place(rest._replace(writes={}, folders=late, modes=late), False))
    return PlacedFiles(
        sum(one.written for one in placed),
        sum(one.removed for one in placed),
        [kept for one in placed for kept in one.kept],
        [left for one in placed for left in one.skipped],
        {path: stat for one in placed for path, stat in one.stats.items()},
    )


def may_fork() -> bool:
    """Return whether a second process is of use and can be started safely.

    A lock that another thread holds would never be released there; a timer holds none.
    """
    busy = [one for one in threading.enumerate() if not isinstance(one, threading.Timer)]
    is_alone = busy == [threading.current_thread()]
    return is_alone and (os.cpu_count() or 1) > 1 and system_call("prctl") is not None


@contextmanager
def _beside(work: Callable[[], bytes]) -> Iterator[Callable[[], bytes]]:
    """While the block runs, run a function in a second process, which ends with this one.

    Yield a function that waits for the result, which is incomplete if the process failed.
    """
    own, second = os.getpid(), -1
    reading, writing = os.pipe()
    # The number of processes may be limited.
    with suppress(OSError):
        second = os.fork()
    if second == 0:
        try:
            prctl = system_call("prctl")
            # This process may already have been killed.
            is_bound = prctl and prctl(SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0
            if is_bound and os.getppid() == own:
                write_whole(writing, work())
        finally:
            os._exit(0)
    give_back(writing)
    try:
        with open(reading, "rb") as file:
            yield file.read
    finally:
        # If `SIGCHLD` is ignored, the process does not wait to be reaped.
        with suppress(ProcessLookupError, ChildProcessError):
            if second > 0:
                os.kill(second, signal.SIGKILL)
                os.waitpid(second, 0)
