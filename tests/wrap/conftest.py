"""A folder, and `sprintlog wrap` as a process in it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SPRINTLOG = [sys.executable, "-m", "sprintlog.cli"]
Wrap = Callable[..., "subprocess.CompletedProcess[bytes]"]
Events = Callable[..., list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """Let what is started be interrupted, also where a shell runs all this behind."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def clean() -> dict[str, str]:
    """Return an environment that nobody wraps already."""
    ours = ("SPRINTLOG_", "GIT_")
    return {n: v for n, v in os.environ.items() if not n.startswith(ours)}


@pytest.fixture
def wrap(tmp_path: Path, clean: dict[str, str]) -> Wrap:
    """Return what wraps a command in the folder; options come before it."""

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
    """Return what runs another command in the folder and returns what it prints."""

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
def events(sprintlog: Callable[..., str]) -> Events:
    """Return what lists the events of a type, newest last."""

    def found(type_: str = "") -> list[dict[str, Any]]:
        options = ["--type", type_] if type_ else []
        return [json.loads(x) for x in sprintlog("log", "--json", *options).splitlines()]

    return found
