"""`sprintlog redact` in all situations: trees, imports, sessions, copies."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from sprintlog.engine.service.place.location import SPOOL

from ....adapters.trees import git, put
from ...conftest import Run
from ...plumbing.sessions.test_sessions import tell
from .redacting import LOG, PLAN, holding

pytestmark = pytest.mark.long

WORD = "correct-horse-4711"
SAID = ("--text", WORD, "--reason", "leaked", "--yes", "--json")


@pytest.fixture
def begun(folder: Path, done: Run) -> Path:
    """Return a repository with a log and a sprint that has started."""
    git(folder, "init", "-q")
    put(folder / "plan.yaml", PLAN.encode())
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "plan")
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    done("sprint", "start")
    return folder


def text_in(place: Path) -> list[str]:
    """Return the files below a folder that contain the word verbatim."""
    found = (path for path in place.rglob("*") if path.is_file())
    return [path.name for path in found if WORD.encode() in path.read_bytes()]


def test_two_work_trees(begun: Path, done: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state file of another tree is named, with the command that clears it there."""
    other = begun.with_name(f"{begun.name}-other")
    git(begun, "worktree", "add", "-q", str(other))
    monkeypatch.chdir(other)
    done("sprint", "create", "other", "--plan", "plan.yaml")
    done("sprint", "start", "--sprint", "other")
    done("phase", "start", "--sprint", "other")
    done("phase", "complete", "--sprint", "other", "--summary", WORD)
    assert WORD in (other / "PROGRESS.yaml").read_text()
    monkeypatch.chdir(begun)
    answer = done("redact", *SAID).json
    assert holding(begun, WORD) == []
    (left,) = answer["unreached"]
    assert (left["why"], "another work tree" in left["where"]) == (
        "it is written there",
        True,
    )
    monkeypatch.chdir(other)
    done(*left["command"].split()[1:])
    assert "[erased]" in (other / "PROGRESS.yaml").read_text()
    assert text_in(other) == []
    assert done("verify", "--full", "--json").json["sound"]


def test_an_imported_document(begun: Path, done: Run, run: Run) -> None:
    """An import is a plan: refused alone, erased with its complete sprint."""
    theirs = begun / "theirs" / "PROGRESS.yaml"
    put(
        theirs,
        f"# kept\nsprint-id: theirs\nstatus: in-progress\nphases:\n"
        f"  - {{id: one, status: in-progress, prompt: {WORD}}}\n".encode(),
    )
    done("import", "progress", str(theirs))
    refused = run("redact", *SAID)
    assert (refused.code, "--whole-sprint" in refused.err + refused.out) == (1, True)
    done("redact", *SAID, "--whole-sprint")
    assert text_in(begun / LOG) == []
    assert text_in(begun / "theirs") == []
    done("status", "--sprint", "theirs")
    done("phase", "complete", "one", "--sprint", "theirs")
    assert done("verify", "--full", "--json").json["sound"]


def call(number: int) -> bytes:
    """Return the input of a hook after a command that contains the word."""
    given = {
        "session_id": "s-1",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": f"login {WORD} {number}"},
        "tool_use_id": f"call-{number}",
    }
    return json.dumps(given).encode()


def test_sessions(begun: Path, done: Run) -> None:
    """An agent's texts are erased, its actions remain, and the session continues."""
    tell(begun, call(1), call(2))
    assert done("redact", *SAID).json["erased"] == 2
    tell(begun, json.dumps({**json.loads(call(3)), "tool_input": {}}).encode())
    shown = done("query", "SELECT * FROM v_tool_calls", "--json").out
    assert ("call" in shown, WORD in shown) == (True, False)
    assert holding(begun, WORD) == []
    assert done("verify", "--json").json["sound"]


def test_events_that_wait(begun: Path, done: Run) -> None:
    """A spooled call is not imported later with its text."""
    held = sqlite3.connect(begun / LOG / "log.db", isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    tell(begun, call(1))
    held.execute("ROLLBACK")
    held.close()
    waiting = [path for path in (begun / LOG / SPOOL).rglob("*") if path.is_file()]
    assert [path for path in waiting if WORD.encode() in path.read_bytes()]
    done("redact", *SAID)
    done("status")
    assert holding(begun, WORD) == []
    assert text_in(begun / LOG) == []


def test_a_run_under_way(begun: Path, done: Run) -> None:
    """An agent that erases something in the middle of its loop ends it as any other."""
    done("note", f"it is {WORD}")
    script = (
        f'"{sys.executable}" -m sprintlog.cli redact --text {WORD[:8]}"{WORD[8:]}"'
        " --reason leaked --yes >&2 && echo further"
    )
    put(begun.with_name("agent.sh"), script.encode())
    agent = ("sh", str(begun.with_name("agent.sh")))
    done("run", "--budget-iterations", "2", "--rest", "0", "--snapshot", "--", *agent)
    texts = done("log", "--json").out
    assert (WORD in texts, '"run-ended"' in texts or "finished" in texts) == (False, True)
    assert text_in(begun / LOG) == []
    assert done("verify", "--full", "--json").json["sound"]


def test_a_fork_says_the_same(begun: Path, done: Run) -> None:
    """Events copied into a fork are erased together with their originals."""
    done("note", f"it is {WORD}")
    done("fork", "again", "--from", "version:3", "--sprint-dir", "again")
    assert done("redact", *SAID).json["erased"] == 2
    done("fork", "third", "--from", "version:3", "--sprint-dir", "third")
    done("note", "on", "--sprint", "again")
    assert holding(begun, WORD) == []
    assert done("verify", "--json").json["sound"]


def test_a_copy_from_before(begun: Path, done: Run, run: Run) -> None:
    """A backup with erased text is reported each time; a new one has the gap."""
    done("note", f"it is {WORD}")
    there = begun.with_name(f"{begun.name}-copy")
    done("store copy", ".", str(there))
    assert text_in(there)
    done("redact", *SAID)
    for _ in range(2):
        told = run("store copy", ".", str(there))
        assert (
            told.code,
            "contains the text of 1 event that . has since erased" in told.err,
        ) == (1, True)
    fresh = begun.with_name(f"{begun.name}-fresh")
    done("store copy", ".", str(fresh))
    assert text_in(fresh) == []


def test_backups(begun: Path, done: Run) -> None:
    """A later backup has the gap and is complete; an earlier one is not changed."""
    done("note", f"it is {WORD}")
    before, after = (begun.with_name(f"{begun.name}-{n}.db") for n in ("before", "after"))
    done("store backup", str(before))
    done("redact", *SAID)
    done("store backup", str(after))
    assert WORD.encode() in before.read_bytes()
    assert WORD.encode() not in after.read_bytes()
    tree = begun.with_name(f"{begun.name}-back")
    (tree / ".sprintlog").mkdir(parents=True, mode=0o700)
    shutil.copy(after, tree / ".sprintlog" / "log.db")
    said = subprocess.run(
        [sys.executable, "-m", "sprintlog.cli", "verify", "--json"],
        cwd=tree,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    # The state file is missing, but the log is intact.
    findings = json.loads(said.stdout)["findings"]
    assert [one["severity"] for one in findings] == ["drift"], said


def test_out_by_a_pipe_and_in(begun: Path, done: Run) -> None:
    """`store export | store import -` preserves the gap, and both logs are equal."""
    done("note", f"it is {WORD}")
    done("redact", *SAID)
    tree = begun.with_name(f"{begun.name}-piped")
    tree.mkdir()
    command = f'"{sys.executable}" -m sprintlog.cli'
    taken = f"{command} init --here && {command} store import -"
    script = f"{command} store export | (cd {tree} && {taken})"
    subprocess.run(script, shell=True, cwd=begun, check=True, capture_output=True)
    assert text_in(tree) == []
    head = done("verify", "--json").json["head"]
    said = subprocess.run(
        [sys.executable, "-m", "sprintlog.cli", "verify", "--json"],
        cwd=tree,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(said.stdout)["head"] == head
