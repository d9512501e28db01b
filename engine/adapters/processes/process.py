"""The identities of this machine and of processes.

Process ids are reused, so a process is identified by its id, its start time and the boot id
of its machine.
"""

import os
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from math import inf
from pathlib import Path
from typing import NamedTuple

from ...errors import InvalidInputError

VARIABLE = "SPRINTLOG_HOST"
CHARS_MAX = 64
_PROC = Path("/proc")
ABOVE_MAX = 12
"""The maximum number of ancestors that are searched by name."""


class Process(NamedTuple):
    """A process, identified uniquely on its machine."""

    pid: int
    started: str
    """The start time; empty if the process has ended."""
    boot_id: str
    """The id of the machine's boot; empty if the system does not report it."""


class Marks(NamedTuple):
    """A process's figures, which change when the process writes or forks."""

    written: int
    """The number of bytes written to any file."""
    faults: int
    """The page faults of ended children, which every child has."""
    below: frozenset[int]
    """The ids of its descendants."""
    age: float = inf
    """The number of seconds since the latest descendant started."""

    def has_forked_since(self, before: "Marks") -> bool:
        """Return whether a process was started after `before`, ignoring ended processes."""
        is_ended = self.faults != before.faults and not before.below - self.below
        return is_ended or bool(self.below - before.below)


def host() -> str:
    """Return this machine's name; SPRINTLOG_HOST overrides a name that is not unique."""
    if not (named := os.environ.get(VARIABLE)):
        return os.uname().nodename
    if len(named) > CHARS_MAX or not named.isprintable() or "/" in named:
        raise InvalidInputError(
            f"must be at most {CHARS_MAX} printable characters without `/`", field=VARIABLE
        )
    return named


def process(pid: int | None = None) -> Process:
    """Return the process with the given id; by default, this process."""
    number = os.getpid() if pid is None else pid
    return Process(number, _started(number), _boot_id())


def ancestor(names: Collection[str]) -> Process | None:
    """Return the nearest ancestor process that has one of these names, or None."""
    named = (pid for pid, name in islice(ancestors(), ABOVE_MAX) if name in names)
    return next(map(process, named), None)


def ancestors() -> Iterator[tuple[int, str]]:
    """Yield the id and name of each ancestor of this process; none without /proc."""
    pid = os.getppid()
    while pid:
        try:
            stat = (_PROC / str(pid) / "stat").read_bytes()
        except OSError:
            return
        name, _, fields = stat.partition(b"(")[2].rpartition(b")")
        yield pid, name.decode(errors="replace")
        pid = int(fields.split()[1])


def is_alive(known: Process) -> bool:
    """Return whether a known process is still running."""
    return known.started != "" and process(known.pid) == known


def _boot_id() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _started(pid: int) -> str:
    if not (_PROC / "self/stat").exists():
        return _started_by_ps(pid)
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except (OSError, UnicodeDecodeError):
        return ""
    # After the name, which may contain anything: state, …, start in ticks since boot.
    state, *fields = text.rpartition(")")[2].split()
    return "" if state == "Z" else fields[18]


def _started_by_ps(pid: int) -> str:
    """Return a process's start time from `ps`, on systems without /proc."""
    # Imported here: it would slow down every command that shows a sprint.
    import subprocess

    told = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)],
        env={"PATH": "/bin:/usr/bin", "LC_ALL": "C", "TZ": "UTC"},
        capture_output=True,
        check=False,
    )
    return told.stdout.decode(errors="replace").strip()


def marks_of_child(parent: int) -> Marks | None:
    """Return the marks of a process's oldest child; None if they are not available."""
    rows = []
    for pid in map(int, filter(str.isdigit, os.listdir(_PROC) if _PROC.is_dir() else ())):
        with suppress(OSError, IndexError, ValueError):
            stat = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
            rows.append((int(stat[19]), pid, int(stat[1]), int(stat[8]) + int(stat[10])))
    program, faults, newest, found = -1, 0, -inf, set[int]()
    # A child starts after its parent.
    for began, pid, above, its_faults in sorted(rows):
        if program < 0 and above == parent:
            program, faults = pid, its_faults
        elif above == program or above in found:
            found.add(pid)
            newest = began / os.sysconf("SC_CLK_TCK")
    try:
        text = (_PROC / str(program) / "io").read_text()
        written = int(text.partition("wchar:")[2].split()[0])
    except (OSError, IndexError, ValueError):
        return None
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - newest
    return Marks(written, faults, frozenset(found), age)
