"""Sessions with worktrees, forks, copies of the log, and wrong clocks."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sprintlog.engine.service.agent_sessions import hook as hooking

from .conftest import SPRINTLOG, Hook, after_tool, events_of

pytestmark = pytest.mark.long

Ask = Callable[..., str]


@pytest.fixture
def ask(folder: Path) -> Ask:
    """Return a function that runs a sprintlog command and returns its output."""

    def run(*words: str) -> str:
        return subprocess.run(
            [*SPRINTLOG, *words], cwd=folder, check=True, capture_output=True, text=True
        ).stdout

    return run


def test_a_linked_worktree_has_the_same_log(
    folder: Path, hook: Hook, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook in a linked worktree records in the log of its repository."""
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.setenv(name, "A")
    for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "a@example.com")
    other = folder.with_name("linked")
    for words in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "first"],
        ["worktree", "add", "-q", str(other)],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    ask("init")
    call = after_tool(
        cwd=str(other),
        tool_name="Write",
        tool_input={"file_path": str(other / "a.txt"), "content": "a\n"},
    )
    done = subprocess.run(
        [*SPRINTLOG, "hook", "claude"], cwd=other, input=call, capture_output=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (event,) = events_of(folder / ".git" / "sprintlog")
    assert json.loads(event.payload or b"")["files"][0]["path"] == "a.txt"


def test_a_session_goes_on_while_its_sprint_is_forked(
    log: Path, folder: Path, hook: Hook, ask: Ask
) -> None:
    """A fork copies nothing of a session, whose later events are in the same stream."""
    ask("sprint", "create", "demo", "--goal", "Win")
    ask("sprint", "start")
    hook("claude", after_tool("one"))
    ask("fork", "other", "--from", "start")
    hook("claude", after_tool("two"))
    calls = [event for event in events_of(log) if event.type == "tool-called"]
    assert [event.stream for event in calls] == ["session/claude-s-1"] * 2
    ask("verify")


def test_a_copy_of_the_log_has_its_sessions(
    log: Path, folder: Path, hook: Hook, ask: Ask
) -> None:
    """A backup contains the agents' sessions, event for event."""
    hook("claude", after_tool())
    copy = folder / "copy"
    copy.mkdir()
    ask("store", "backup", str(copy / "log.db"))
    assert [*events_of(copy)] == [*events_of(log)]
    assert events_of(copy)[0].type == "tool-called"


def test_a_clock_that_goes_back_loses_nothing(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event with an earlier time than the previous one is recorded after it."""
    for second in (1_800_000_000, 1_700_000_000):
        monkeypatch.setattr(time, "time_ns", lambda s=second: s * 10**9)
        hooking.take_hook(
            "claude",
            after_tool(str(second)),
            start=log.parent,
            folder=None,
            safe=log / "none",
            environment=os.environ,
        )
    events = events_of(log)
    told = [json.loads(event.payload or b"")["call"] for event in events]
    assert told == ["1800000000", "1700000000"]
    assert [event.version for event in events] == [1, 2]
