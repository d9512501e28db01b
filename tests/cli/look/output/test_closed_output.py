"""Unwritable answers: records remain, and the exit status reports the failure."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COMMAND = f'"{sys.executable}" -m sprintlog.cli'


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in a folder."""
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("target", [">&-", "> /dev/full"])
def test_a_lost_answer_is_an_error(sprint: Path, done: Any, target: str) -> None:
    """A record without an answer ends with 1 and one line; repeating its key is safe."""
    result = shell(sprint, f"{COMMAND} phase start --key k --json {target}")
    assert result.returncode == 1
    assert "it was recorded, but the answer could not be written" in result.stderr
    again = done("phase", "start", "--key", "k", "--json").json
    assert (again["type"], again["duplicate"]) == ("phase-started", True)


def test_closed_files_are_never_ours(sprint: Path, done: Any) -> None:
    """With every standard file closed, nothing is written into a file of the log."""
    shell(sprint, f"{COMMAND} phase start --json <&- >&- 2>&-")
    shell(sprint, f"{COMMAND} phase complete --json <&- >&- 2>&-")
    assert done("verify", "--json").json["events"] == 4
    assert done("rebuild", "--check").code == 0


def test_a_closed_pipe_is_no_error(sprint: Path) -> None:
    """A reader that closes the pipe ends a listing silently."""
    result = shell(sprint, f"{COMMAND} log --json | true; exit ${{PIPESTATUS[0]}}")
    assert result.stderr == ""


def test_a_stream_of_lines_stops_at_a_lost_answer(sprint: Path, done: Any) -> None:
    """A coprocess without a reader stops; the state file matches its records."""
    line = '{"type": "phase-started", "data": {"phase": "setup"}}'
    result = shell(sprint, f"echo '{line}' | {COMMAND} append > /dev/full")
    assert result.returncode == 1
    assert done("rebuild", "--check").code == 0
    assert len(done("log", "--type", "phase-started", "--json").lines) == 1
