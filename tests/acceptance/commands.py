"""The command line as another process, in an environment that can be chosen."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def run(folder: Path, *arguments: object, **environment: str) -> bytes:
    """Run one command in a folder; raise `AssertionError` unless it succeeds."""
    return run_given(b"", folder, *arguments, **environment)


def run_given(given: bytes, folder: Path, *arguments: object, **environment: str) -> bytes:
    """Run a command with the given standard input."""
    done = subprocess.run(
        [sys.executable, "-m", "sprintlog.cli", *map(str, arguments)],
        cwd=folder,
        env={**clean_environment(), **environment},
        input=given,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, (arguments, done.stderr.decode())
    return done.stdout


def answers(folder: Path, *arguments: object) -> list[Any]:
    """Run one command with `--json` and return its answers, one per line."""
    return [json.loads(line) for line in run(folder, *arguments, "--json").splitlines()]


def clean_environment() -> dict[str, str]:
    """Return the environment without a user's settings for sprintlog."""
    return {k: v for k, v in os.environ.items() if not k.startswith("SPRINTLOG_")}
