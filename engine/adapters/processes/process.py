"""Which process this is, and whether another one is still the same one as before.

A process number is given again after a while, so it takes the process's start and the
machine's start to name a process.
"""

import os
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
ABOVE_MAX = 12
"""So many processes above this one are looked at."""


class Process(NamedTuple):
    """A process as its system tells it from all others."""

    pid: int
    started: str
    """When it began; empty when it is gone."""
    boot_id: str
    """Which start of the machine that was; empty where the system does not say."""


def process(pid: int | None = None) -> Process:
    """Return the process with a number, this one when none is given."""
    number = os.getpid() if pid is None else pid
    return Process(number, _started(number), _boot_id())


def ancestor(names: Collection[str]) -> Process | None:
    """Return the nearest process above this one that has one of these names, if known."""
    pid = os.getppid()
    for _ in range(ABOVE_MAX):
        try:
            text = (_PROC / str(pid) / "stat").read_text()
        except (OSError, UnicodeDecodeError):
            return None
        name, _, fields = text.partition("(")[2].rpartition(")")
        if name in names:
            return process(pid)
        pid = int(fields.split()[1])
    return None


def is_alive(known: Process) -> bool:
    """Tell whether a process that was seen before is still there."""
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
    # After the name, which may hold anything: state, …, start in ticks since the boot.
    state, *fields = text.rpartition(")")[2].split()
    return "" if state == "Z" else fields[18]


def _started_by_ps(pid: int) -> str:
    """Return what `ps` says, on systems that have no /proc."""
    # Imported here: it would cost every command that shows a sprint.
    import subprocess

    told = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)],
        env={"PATH": "/bin:/usr/bin", "LC_ALL": "C", "TZ": "UTC"},
        capture_output=True,
        check=False,
    )
    return told.stdout.decode(errors="replace").strip()
