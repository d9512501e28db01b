"""A folder, and `sprintlog wrap` as a process in it."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.remains import gone_with

from .terminals import PATIENCE_SECONDS, SPRINTLOG, Terminal

Wrap = Callable[..., "subprocess.CompletedProcess[bytes]"]
Events = Callable[..., list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """Make the children interruptible, even if a shell runs the tests in the background."""
    ended_by = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
    before = [signal.signal(number, signal.SIG_DFL) for number in ended_by]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in zip(ended_by, before, strict=True):
        signal.signal(number, handler)


@pytest.fixture
def clean(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment outside any wrap, which identifies our processes."""
    ours = ("SPRINTLOG_", "GIT_")
    before = {n: v for n, v in os.environ.items() if not n.startswith(ours)}
    # Shells, editors and pagers write their histories to this folder.
    home = tmp_path_factory.mktemp("home")
    return {**before, "HOME": str(home), "STARTED_IN": str(tmp_path)}


@pytest.fixture
def wrap(tmp_path: Path, clean: dict[str, str]) -> Wrap:
    """Return a function that wraps a command in the folder, preceded by options."""

    def run(
        *arguments: str, given: bytes = b"", **environment: str
    ) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            [*SPRINTLOG, "wrap", *arguments],
            cwd=tmp_path,
            env={**clean, **environment},
            input=given,
            capture_output=True,
            check=False,
        )

    return run


@pytest.fixture
def sprintlog(tmp_path: Path, clean: dict[str, str]) -> Callable[..., str]:
    """Return a function that runs another command in the folder and returns its output."""

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [*SPRINTLOG, *arguments],
            cwd=tmp_path,
            env=clean,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    return run


@pytest.fixture
def events(sprintlog: Callable[..., str], tmp_path: Path) -> Events:
    """Return a function that lists a type's events once all processes have ended."""

    def found(type_: str = "") -> list[dict[str, Any]]:
        gone_with(f"STARTED_IN={tmp_path}")
        return _listed(sprintlog, type_)

    return found


@pytest.fixture
def later(sprintlog: Callable[..., str], tmp_path: Path) -> Events:
    """Return a function that lists a type's events once there is one."""

    def found(type_: str) -> list[dict[str, Any]]:
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            # Until the log is created, it cannot be queried.
            log = any(tmp_path.glob(".sprintlog/log.db"))
            if log and (those := _listed(sprintlog, type_)):
                return those
            time.sleep(0.1)
        raise AssertionError(f"no {type_}")

    return found


def _listed(sprintlog: Callable[..., str], type_: str) -> list[dict[str, Any]]:
    options = ["--type", type_] if type_ else []
    return [json.loads(x) for x in sprintlog("log", "--json", *options).splitlines()]


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    """Provide a list of terminals that are closed at the end."""
    made: list[Terminal] = []
    yield made
    for one in made:
        try:
            one.close()
            os.kill(one.pid, signal.SIGKILL)
            os.waitpid(one.pid, 0)
        except OSError:
            continue
