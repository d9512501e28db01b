"""A folder with a log, and `sprintlog hook` as an agent calls it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from os import urandom
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.stores import open_log
from sprintlog.engine.sessions.work import WITHIN
from sprintlog.projections.workspace import Workspace, wall_clock

from .hooked import HookedSession, Tree

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
SPRINTLOG = [sys.executable, "-m", "sprintlog.cli"]
RECORDED = [
    *sorted((FIXTURES / "hooks").glob("*.jsonl")),
    FIXTURES / "agents" / "opencode-plugin.jsonl",
]
Hook = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, free of the caller's settings and of the home folder."""
    for name in [n for n in os.environ if n.startswith(("GIT_", "SPRINTLOG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path.with_name("no-settings")))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path.with_name(f"{tmp_path.name}-state")))
    root = tmp_path / "tree"
    root.mkdir()
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def log(folder: Path) -> Path:
    """Create a log in the folder and return its path."""
    Workspace.init(folder, here=True).close()
    return folder / ".sprintlog"


@pytest.fixture
def hook(folder: Path) -> Hook:
    """Return a function that runs an agent's hook with input, in a separate process."""

    def run(
        agent: str, content: bytes, **environment: str
    ) -> "subprocess.CompletedProcess[bytes]":
        done = subprocess.run(
            [*SPRINTLOG, "hook", agent],
            cwd=folder,
            # Within a loop's iteration, no turn is settled.
            env={**os.environ, WITHIN: "run", **environment},
            input=content,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        return done

    return run


def after_tool(call: str = "toolu_1", **fields: Any) -> bytes:
    """Return the input of a hook of Claude Code after a command."""
    given = {
        "session_id": "s-1",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "make test"},
        "tool_response": {"stdout": "fine"},
        "tool_use_id": call,
        **fields,
    }
    return json.dumps(given).encode()


def events_of(log: Path) -> list[RecordedEvent]:
    """Return all events of a log."""
    opened = open_log(str(log / "log.db"), clock=wall_clock, entropy=urandom)
    try:
        return list(opened.read())
    finally:
        opened.close()


def sessions_of(log: Path) -> dict[str, set[tuple[str, str, bytes]]]:
    """Return by stream the data of a log's sessions, in any order and at any time."""
    found: dict[str, set[tuple[str, str, bytes]]] = {}
    for event in events_of(log):
        said = (event.type, str(event.key), event.payload or b"")
        assert said not in found.setdefault(event.stream, set()), "recorded twice"
        found[event.stream].add(said)
    return found


@pytest.fixture
def tree(log: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """Return the folder as a work tree whose hooks are recorded in this process."""
    return Tree(log.parent, monkeypatch)


@pytest.fixture
def session(tree: Tree) -> HookedSession:
    """Return a session of Claude Code in the work tree."""
    return HookedSession(tree)
