"""The countdown line: it disappears when there is other output."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

CLEAR = b"\r\x1b[K"


@pytest.mark.parametrize(
    "line",
    [["query", "SELECT 1"], ["query", "SELECT none"], ["query", "--file"]],
    ids=" ".join,
)
def test_a_line_that_counts_is_cleared(sprint: Path, line: list[str]) -> None:
    """On a terminal, it is cleared before an answer or an error, and at the end."""
    terminal, theirs = pty.openpty()
    process = subprocess.run(
        [sys.executable, "-m", "sprintlog.cli", *line],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        cwd=sprint,
        check=False,
    )
    os.close(theirs)
    said = b""
    while chunk := read(terminal):
        said += chunk
    os.close(terminal)
    counted, found, rest = said.rpartition(CLEAR)
    assert found == CLEAR
    assert b"events" in counted
    assert rest.startswith(b"error: ") == (process.returncode != 0)


def read(terminal: int) -> bytes:
    """Return the readable text, without trailing blanks."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
