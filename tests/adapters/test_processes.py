"""A process is known again by its number, its start, and the machine's start."""

import gc
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sprintlog.engine.adapters.processes import process as processes
from sprintlog.engine.adapters.processes.process import is_alive, process
from sprintlog.engine.adapters.processes.supervisor import SET_CHILD_SUBREAPER, prctl
from tests import needs


@pytest.fixture(params=["proc", "ps"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Query processes through /proc, and through `ps` without it."""
    if request.param == "ps":
        if shutil.which("ps") is None:
            needs.program("ps")
        monkeypatch.setattr(processes, "_PROC", Path("/nowhere"))
    return str(request.param)


def test_knows_itself(way: str) -> None:
    """The test process is alive and has the same identity on every query."""
    this = process()
    assert this == process(os.getpid())
    assert this.pid == os.getpid()
    assert this.started
    assert is_alive(this)


def test_notices_an_end(way: str) -> None:
    """A process that ended is not alive, reaped or not."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    seen = process(child.pid)
    assert is_alive(seen)
    child.kill()
    child.wait()
    assert child.stdin is not None
    child.stdin.close()
    assert not is_alive(seen)
    assert not is_alive(process(child.pid))


def test_takes_a_zombie_for_dead() -> None:
    """A process that has ended but has not been reaped counts as dead."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert process(child).started == ""
    os.waitpid(child, 0)


def test_tells_a_number_given_again() -> None:
    """A process with the same number but a different start time is another process."""
    assert not is_alive(process()._replace(started="other"))
    assert not is_alive(process()._replace(boot_id="other"))


@needs.linux
def test_to_adopt_again_leaves_nothing_behind() -> None:
    """Running something repeatedly creates no more objects than running it once."""
    ctypes = needs.package("ctypes", "ctypes")
    prctl(SET_CHILD_SUBREAPER, 0)
    gc.disable()
    try:
        before = len(ctypes._CFuncPtr.__subclasses__())
        for _ in range(5):
            prctl(SET_CHILD_SUBREAPER, 0)
        assert len(ctypes._CFuncPtr.__subclasses__()) == before
    finally:
        gc.enable()
