"""The clients of `docs/clients` with the real program, if their language is installed.

TypeScript is searched for like the readers of `test_node_readers`.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import needs

from ..cli.conftest import Run
from ..cli.conftest import done as done
from ..cli.conftest import folder as folder
from ..cli.conftest import made as made
from ..cli.conftest import made_once as made_once
from ..cli.conftest import run as run
from ..cli.conftest import sprint as sprint
from .test_node_readers import node_modules

CLIENTS = Path(__file__).resolve().parents[2] / "docs" / "clients"
PROGRAM = [sys.executable, "-P", "-m", "sprintlog.cli"]
SECONDS_MAX = 300
HOME = os.environ.get("HOME", "/")


def said(*command: str, folder: Path, **environment: str) -> str:
    """Return the output of a program; it must succeed."""
    result = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS_MAX,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def modules() -> Path:
    """Return TypeScript's path from the environment, before a test clears it."""
    return node_modules(("typescript", "@types/node"))


def test_the_typescript_client(modules: Path, folder: Path) -> None:
    """The client type-checks under --strict, and passes its own tests."""
    client = folder / "client"
    shutil.copytree(CLIENTS / "typescript", client)
    (client / "node_modules").symlink_to(modules)
    settings = json.loads((client / "tsconfig.json").read_text())["compilerOptions"]
    assert settings["strict"]
    package = json.loads((client / "package.json").read_text())
    assert "dependencies" not in package
    said("node", str(modules / "typescript" / "bin" / "tsc"), "-p", ".", folder=client)
    tests = ("node", "--test", "dist/tests/")
    printed = said(*tests, folder=client, SPRINTLOG_PROGRAM=json.dumps(PROGRAM))
    assert "# fail 0" in printed
    assert "# pass 10" in printed


def go() -> list[str]:
    """Return the command for the Go example; skip if Go is not installed."""
    return [needs.program("go"), "run", str(CLIENTS / "go" / "main.go")]


def python() -> list[str]:
    """Return how the Python example is run: by a Python that has no sprintlog."""
    return [sys.executable, "-I", "-S", str(CLIENTS / "python" / "client.py")]


@pytest.mark.parametrize(("name", "command"), [("Go", go), ("Python", python)])
def test_an_example_records_asks_and_follows(
    name: str, command: Callable[[], list[str]], sprint: Path, done: Run
) -> None:
    """The example receives answers, refusals and its event, which is recorded once."""
    words = [*command(), *PROGRAM, "rpc"]
    for _ in range(2):
        # Sent twice: because of the key, only one note is recorded.
        printed = said(*words, folder=sprint, HOME=HOME).splitlines()
        assert printed[0] == "auth is in-progress"
        assert printed[1] == "refused (-32003): there is no phase nowhere in sprint auth"
        assert printed[2].startswith(f"note-added by agent:{name.lower()}: ")
        assert json.loads(printed[2].partition(": ")[2]) == {"text": f"from {name}"}
    notes = [one for one in done("log", "--json").lines if one["type"] == "note-added"]
    assert [(one["actor"], one["version"]) for one in notes] == [
        (f"agent:{name.lower()}", 3)
    ]
