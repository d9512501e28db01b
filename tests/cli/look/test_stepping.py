"""`replay --step` on a terminal: one event at a time, forth and back."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import Run


def stepped(folder: Path, keys: str) -> list[str]:
    """Return the types of the events that a terminal shows when these keys are typed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "sprintlog.cli", "replay", "--step"],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    os.close(theirs)
    shown, waiting = "", list(keys)
    while True:
        try:
            piece = os.read(ours, 4096).decode()
        except OSError:
            break
        if not piece:
            break
        shown += piece
        # One answer to each question, typed when it is asked.
        while waiting and shown.count("[q]uit") > len(keys) - len(waiting):
            os.write(ours, f"{waiting.pop(0)}\n".encode())
    os.close(ours)
    assert process.wait(timeout=30) == 0, shown
    behind = (line.partition("  runtime  ")[2] for line in shown.splitlines())
    return [said.split()[0] for said in behind if said]


@pytest.mark.parametrize(
    ("keys", "types"),
    [
        ("nxnn", ["sprint-compiled", "sprint-started", "phase-started"]),
        ("q", ["sprint-compiled"]),
        ("nbq", ["sprint-compiled", "sprint-started", "sprint-compiled"]),
        ("bq", ["sprint-compiled", "sprint-compiled"]),
    ],
)
def test_goes_by_words(sprint: Path, done: Run, keys: str, types: list[str]) -> None:
    """N is next, b back, q quits; it ends after the last event."""
    done("phase", "start")
    assert stepped(sprint, keys) == types
