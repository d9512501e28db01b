"""A log that stays locked: the wait is bounded and the error names the holder."""

import fcntl
import os
import subprocess
import sys
from errno import ENOLCK
from pathlib import Path

import pytest

from sprintlog.engine.errors import BusyError, RefusedError
from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect, Wait
from sprintlog.engine.log.stores.descriptors import FileLocks
from sprintlog.engine.log.stores.sqlite.store import SqliteLog

HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""
DRAFT = NewEvent(type="noted", payload=b"{}", at="2026-01-15T09:00:00Z", actor="runtime")


def test_names_who_holds_the_log(tmp_path: Path) -> None:
    """A writer that waited in vain gets the holder of the log's lock."""
    path = tmp_path / "log" / "log.db"
    SqliteLog.create(path, clock=lambda: 0, entropy=os.urandom).close()
    log = SqliteLog(path, clock=lambda: 0, entropy=os.urandom, wait=Wait(0.1))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], **pipes) as holder:  # type: ignore[call-overload]
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(BusyError) as caught:
            log.append("s", [DRAFT], expect=Expect.ANY)
        holder.stdin.close()
    log.close()
    if Path("/proc/locks").exists():
        (named,) = caught.value.fields["holders"]
        assert named.startswith(f"process {holder.pid} (")


def test_a_disk_without_locks_is_named_as_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hint is about the mount, not about permissions."""

    def none(*_: object) -> None:
        raise OSError(ENOLCK, os.strerror(ENOLCK))

    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(RefusedError, match="does not support locks") as refused:
        FileLocks(tmp_path, Wait()).hold("lock").__enter__()
    assert "with locks" in str(refused.value.hint)
