"""Hooks and transcripts of recorded sessions, and `session reconcile`."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from sprintlog.engine.service.agent_sessions.hook import take_hook

from ...conftest import Run

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"
KILLED = "claude-2.1.197-killed"


def hooks_of(name: str, agent: str, *, session: str | None = None) -> list[bytes]:
    """Return recorded hooks, optionally of another session."""
    found = []
    for line in (FIXTURES / "hooks" / f"{name}.jsonl").read_bytes().splitlines():
        said = json.loads(line)
        field = "sessionId" if "sessionId" in said else "session_id"
        found.append(json.dumps({**said, field: session or said[field]}).encode())
    return found


def tell(folder: Path, agent: str, hooks: list[bytes]) -> None:
    """Record the inputs of hooks."""
    for content in hooks:
        take_hook(
            agent,
            content,
            start=folder,
            folder=None,
            safe=folder / "safe",
            environment=os.environ,
        )


def transcript_of(folder: Path, name: str) -> Path:
    """Return a transcript in a folder outside of an agent's folders."""
    file = folder.parent / f"{name}.jsonl"
    shutil.copy(FIXTURES / "agents" / file.name, file)
    return file


def session_in(file: Path) -> str:
    """Return the session that a transcript names first."""
    for line in file.read_bytes().splitlines():
        said = json.loads(line)
        of = {**said, **said.get("data", {}), **said.get("payload", {})}
        if found := of.get("sessionId") or of.get("session_id") or of.get("id"):
            return str(found)
    raise AssertionError(file)


def reconciled(done: Run, file: Path, *words: str) -> Any:
    """Compare the latest session with a file."""
    return done("session", "reconcile", "--transcript", file, "--json", *words).json


def calls(done: Run) -> list[Any]:
    """Return the calls in the log."""
    found = done("log", "--all", "--type", "tool-called", "--json").lines
    return [event["data"] for event in found]


def beat(done: Run) -> None:
    """Record the heartbeat that a hook's process sends once a minute."""
    (first,) = done("log", "--session", "claude", "--json").lines[:1]
    correlation = first["correlation_id"]
    done("sprint", "heartbeat", "--sprint", "goal", "--correlation-id", correlation)


def ran_of(done: Run) -> list[Any]:
    """Return the runs of agents in the log."""
    return [x["data"] for x in done("log", "--all", "--type", "agent-ran", "--json").lines]
