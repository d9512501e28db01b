"""The five functions of our side in which a row spends most time, by a profile.

A profile slows down code with many calls, so it shows where to look, not how long the code
takes.
"""

import cProfile
import pstats
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from . import measure
from .logs import Bench
from .measure import Figure, Work
from .rows import rows_process
from .table import piped

ROOT = Path(__file__).resolve().parents[2]
TOP = 5


class Place(NamedTuple):
    """A function, and the share of time spent in the function itself."""

    where: str
    share: float


class Profile:
    """The work of our side of a row, in this process and in those it starts."""

    def __init__(self, folder: Path) -> None:
        self._inside = cProfile.Profile()
        self._folder = folder
        self._count = 0

    def around(self, work: Work) -> Work:
        """Return the same work, profiled."""

        def profiled() -> object:
            return self._inside.runcall(work)

        return profiled

    def command(self) -> list[str]:
        """Return the command line that runs sprintlog and stores its profile."""
        self._count += 1
        target = str(self._folder / f"{self._count:03}.profile")
        return [sys.executable, "-m", "cProfile", "-o", target, "-m", "sprintlog.cli"]

    def top(self) -> list[Place]:
        """Return the functions that take most time."""
        took: Counter[str] = Counter()
        # The first process compiles the modules that the others then find compiled.
        files = sorted(self._folder.glob("*.profile"))[1:]
        if not files and not self._inside.getstats():
            # Another process does the measured work.
            return []
        # If processes were started, this one only waited for them.
        for stats in map(str, files) if files else (self._inside,):
            for where, (_, _, own, _, _) in pstats.Stats(stats).stats.items():  # type: ignore[attr-defined]
                took[_named(*where)] += own
        whole = took.total() or 1
        return [Place(where, own / whole) for where, own in took.most_common(TOP)]


def profile_of(measured: Callable[[Bench], Figure], bench: Bench) -> list[Place]:
    """Return the functions in which our side of a row spends its time."""
    with tempfile.TemporaryDirectory(prefix="sprintlog-profile-") as name:
        profile = Profile(Path(name))
        with _watched(profile):
            measured(bench)
        return profile.top()


def lines_of(row: str, places: list[Place]) -> list[str]:
    """Return the lines of a table for one row."""
    names = [row, *[""] * len(places)]
    return [
        piped((name, f"`{place.where}`", f"{place.share:.0%}"))
        for name, place in zip(names, places, strict=False)
    ]


HEAD = [piped(("row", "where", "share")), "|---|---|--:|"]


@contextmanager
def _watched(profile: Profile) -> Iterator[None]:
    before = measure.around, rows_process.command
    measure.around, rows_process.command = profile.around, profile.command
    try:
        yield
    finally:
        measure.around, rows_process.command = before


def _named(path: str, line: int, function: str) -> str:
    """Return a function as `file:line function`, relative to its package."""
    if path == "~":
        return function.strip("<>")
    for base in (f"{ROOT}/", "/site-packages/", "/lib/python"):
        if base in path:
            path = path.rpartition(base)[2]
    return f"{path}:{line} {function}"
