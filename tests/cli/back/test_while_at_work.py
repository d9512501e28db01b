"""Restores of files while an agent is working in the same work tree."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sprintlog
from sprintlog.engine.adapters.processes.process import Process, process
from sprintlog.engine.service.agent_sessions import at_work
from sprintlog.engine.service.agent_sessions.hook import take_hook

from ...adapters.trees import git, put
from ..conftest import Run

NOW = "2026-01-15T10:31:00.000Z"
BACK = ("rollback", "iter:1", "--files", "--yes")


def _hook(event: str, **more: object) -> None:
    message = {"session_id": "1", "hook_event_name": event, "prompt": "x", **more}
    content = json.dumps(message).encode()
    safe = Path("no-such-list")
    take_hook("claude", content, start=Path.cwd(), folder=None, safe=safe, environment={})


def _begin(worker: Process | None) -> Path:
    with sprintlog.open() as workspace:
        location = workspace.location
    return at_work.begin(location, "x", "`sprintlog run`", now=NOW, worker=worker)


def test_a_restore_is_refused_while_an_agent_works(tree: Path, run: Run, done: Run) -> None:
    """The refusal names the agent; --force, --dry-run and other folders are allowed."""
    done(*BACK)
    put(tree / "src/login", b"later\n")
    _begin(process(os.getppid()))
    for command in (BACK, ("undo", "--yes")):
        result = run(*command)
        said = f"`sprintlog run`, process {os.getppid()}, since {NOW}"
        assert (result.code, said in result.err) == (1, True), result
        assert "--force" in result.err
        assert (tree / "src/login").read_bytes() == b"later\n"
    done("rollback", "iter:1", "--files", "--dry-run")
    done("restore", "iter:1", "--into", "../out")
    done("restore", "iter:1", "--apply", "--yes")
    done(*BACK, "--force")
    assert (tree / "src/login").read_bytes() == b"good\n"
    done("undo", "--force", "--yes")
    done("redo", "--force", "--yes")


def test_only_an_agent_that_may_be_alive_in_this_tree_counts(tree: Path, done: Run) -> None:
    """Ended or killed agents, other machines and this process's own work do not count."""
    known = process(os.getppid())
    file = _begin(known._replace(started="1"))
    done(*BACK)
    assert not file.exists()
    _begin(known._replace(boot_id="another"))
    done(*BACK)
    _begin(process())
    done(*BACK)
    git(tree, "worktree", "add", "-q", "../linked")
    os.chdir("../linked")
    _begin(known)
    os.chdir(tree)
    done(*BACK)


def test_a_hooked_turn_counts_until_it_stops(
    tree: Path, run: Run, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn of an unknown process counts for 15 minutes, or until its Stop."""
    _hook("UserPromptSubmit")
    assert "a turn of claude-1, its process is unknown" in run(*BACK).err
    _hook("Stop")
    done(*BACK)
    _hook("PostToolUse", tool_name="Read", tool_use_id="1", tool_response={})
    assert run(*BACK).code == 1
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + at_work.TURN_SECONDS)
    done(*BACK)


def test_a_live_wrap_counts(tree: Path, run: Run, done: Run) -> None:
    """`wrap` records that it is active, until its command ends."""
    wrap = [sys.executable, "-m", "sprintlog.cli", "wrap", "--", "sh", "-c"]
    with subprocess.Popen([*wrap, "read x"], stdin=subprocess.PIPE, cwd=tree) as working:
        until = time.monotonic() + 30
        while (result := run(*BACK)).code == 0 and time.monotonic() < until:
            time.sleep(0.05)
        assert "`sprintlog wrap` of sh" in result.err
        assert working.stdin is not None
        working.stdin.close()
        assert working.wait() == 1
    done(*BACK)


def test_ignored_files_outlive_restores_of_gitignore(
    tree: Path, run: Run, done: Run
) -> None:
    """Files that git ignored before a restore of .gitignore are not removed later."""
    done("iteration", "end", "--snapshot")
    put(tree / ".gitignore", b"run.log\nbuild\nnote\n")
    put(tree / "build/made", b"x")
    put(tree / "note", b"x")
    for _ in range(3):
        done("rollback", "iter:2", "--files", "--yes")
        assert (tree / "build/made").exists()
        assert (tree / "note").exists()


def test_start_is_the_point_before_the_first_iteration(tree: Path, run: Run) -> None:
    """`rollback start --files` restores the files of `iter:0`, if they were saved."""
    one, other = (run("rollback", to, "--files", "--yes") for to in ("start", "iter:0"))
    assert (one.code, one.err) == (other.code, other.err)
