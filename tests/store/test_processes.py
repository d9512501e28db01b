"""Logs shared by processes, and the modules that such a process loads."""

import os
import subprocess
import sys
from pathlib import Path

from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.stores.sqlite.store import SqliteLog

PACKAGE = Path(__file__).resolve().parents[2] / ".package"
OPEN = """
import os, sys, time
from pathlib import Path
from sprintlog.engine.errors import ConflictError
from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
draft = NewEvent(type="note-added", payload=b"{}", at="2026-01-30T12:00:00Z", actor="a")
log = SqliteLog(Path(sys.argv[1]), clock=lambda: 0, entropy=os.urandom)
"""
APPEND_200 = """
for number in range(100):
    log.append("shared", [draft], expect=Expect.ANY)
    while True:
        try:
            log.append("decided", [draft], expect=log.version("decided"))
            break
        except ConflictError:
            pass
log.close()
"""
LIST_MODULES = """
log.append("a", [draft], expect=Expect.ANY)
list(log.read())
log.close()
print(*{name.split(".")[0] for name in sys.modules})
"""


def start(script: str, path: Path) -> subprocess.Popen[str]:
    """Start a fresh interpreter with the script."""
    return subprocess.Popen(
        [sys.executable, "-c", OPEN + script, str(path)],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_two_processes_leave_no_gap(log: SqliteLog) -> None:
    """Two processes that append 200 events each lose none and leave no gap."""
    running = [start(APPEND_200, log.path) for _ in range(2)]
    for process in running:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert log.streams() == {"decided": 200, "shared": 200}
    assert list(check_chain(log.read())) == []
    log.check_acknowledged()


def test_appending_and_reading_load_nothing_slow(log: SqliteLog) -> None:
    """A process that opens, appends and reads imports none of the slow libraries."""
    process = start(LIST_MODULES, log.path)
    modules, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    slow = {"asyncio", "dataclasses", "pydantic", "sqlite_utils", "structlog", "yaml"}
    assert slow.isdisjoint(modules.split())
