"""The machine on which the figures were measured."""

import os
import platform
import sqlite3
from pathlib import Path

from sprintlog.engine.log.stores.sqlite.journal_mode import file_system
from sprintlog.engine.log.stores.sqlite.store import SqliteLog

_SYNCHRONOUS = {0: "OFF", 1: "NORMAL", 2: "FULL", 3: "EXTRA"}


def events(folder: Path, log: SqliteLog) -> dict[str, str]:
    """Return the events about this machine, by name, with the journal mode of logs."""
    execute = log.connection.raw.execute
    (mode,) = execute("PRAGMA journal_mode").fetchone()
    (synchronous,) = execute("PRAGMA synchronous").fetchone()
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores, {_load()}",
        "system": f"{platform.system()} {_release()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "sqlite": sqlite3.sqlite_version,
        "file system": _file_system(folder) or "unknown",
        "journal": f"{mode}, synchronous={_SYNCHRONOUS[synchronous]} "
        f"({log.journal_mode.reason})",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2] for line in lines if line.startswith("model name")]
    return names[0].strip() if names else platform.machine()


def _release() -> str:
    """Return the version of the system, without the name of the build."""
    return platform.release().partition("-")[0]


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f} at the start"


def _file_system(folder: Path) -> str | None:
    try:
        mounts = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
    except OSError:
        return None
    return file_system(folder.resolve(), mounts)
