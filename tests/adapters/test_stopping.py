"""A program that is stopped early: immediately, or with some seconds to end."""

import os
import threading
import time
from pathlib import Path
from uuid import uuid4

import pytest

from sprintlog.engine.adapters.processes.output import Output
from sprintlog.engine.adapters.processes.programs import environment_of
from sprintlog.engine.adapters.processes.supervised import run_kept
from tests import needs

from .remains import alive_with
from .test_hostile_scripts import ENDLESS

ENDS_BY_ITSELF = (
    "trap 'sleep 0.3; echo saved > file; exit 0' TERM; echo > up; sleep 100 & wait"
)


def stopped(folder: Path, script: str, seconds: float, up: str = "up") -> list[str]:
    """Stop a script once it has created the file `up`; return its remaining processes."""
    mark = f"sprintlog-test-{uuid4().hex}"
    reading, writing = os.pipe()

    def stop() -> None:
        while not (folder / up).exists():
            time.sleep(0.01)
        os.close(writing)

    stopping = threading.Thread(target=stop)
    stopping.start()
    ended = run_kept(
        ["sh", "-c", script],
        folder=folder,
        environment=environment_of(os.environ, MARK=mark),
        timeout_seconds=600,
        output=Output(),
        stop=reading,
        stopping_seconds=seconds,
    )
    stopping.join()
    os.close(reading)
    assert ended is None
    return alive_with(mark)


def test_it_has_time_to_save_its_work(tmp_path: Path) -> None:
    """A process that handles SIGTERM is given time to end."""
    assert stopped(tmp_path, ENDS_BY_ITSELF, 60) == []
    assert (tmp_path / "file").read_text() == "saved\n"


def test_it_is_killed_without(tmp_path: Path) -> None:
    """Without a stated time it has no further effect."""
    assert stopped(tmp_path, ENDS_BY_ITSELF, 0) == []
    assert not (tmp_path / "file").exists()


@needs.linux
@pytest.mark.parametrize("name", ENDLESS)
def test_nothing_stays_that_does_not_heed(name: str, tmp_path: Path) -> None:
    """After the grace period, all of the script's processes are killed."""
    assert stopped(tmp_path, f"echo > up; {ENDLESS[name]}", 0.2) == []
