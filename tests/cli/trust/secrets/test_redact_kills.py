"""A redaction that is killed, and texts of any length."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import sprintlog
from sprintlog.commands import AddNote
from sprintlog.engine.log.stores.sqlite import journal_mode
from sprintlog.errors import RefusedError
from sprintlog.projections.health import redaction
from sprintlog.projections.health.selection import Selector, chosen

from ....adapters.trees import git, put
from ...conftest import Run
from .redacting import LOG, PLAN, SECRET, holding, tell


@pytest.fixture
def told(folder: Path, done: Run) -> Path:
    """Return a tree with a secret in events, snapshots, edits, reports and copies."""
    return tell(folder, done)


KILLED = """
import os, sys
from sprintlog.projections.health import redaction
from sprintlog.projections.workspace import Workspace
from pathlib import Path
last, secret = int(sys.argv[1]), sys.argv[2]
workspace = Workspace.open(Path.cwd())
workspace.environment = dict(os.environ)
from sprintlog.projections.health.selection import Selector, chosen
found = chosen(workspace, Selector(text=secret))
note = redaction.note_of(found.events, found.texts, reason="x", actor="operator",
                         at=workspace.now())
count = 0
def step(frame, event, arg):
    global count
    if "redaction.py" in frame.f_code.co_filename and frame.f_code.co_name != "_meant":
        if event == "line":
            count += 1
            if count == last:
                os._exit(9)
        return step
sys.settrace(step)
redaction.redact(workspace, note)
os._exit(0)
"""


@pytest.mark.long
def test_killed_anywhere_the_next_command_finishes(told: Path, done: Run) -> None:
    """At whatever line it dies, it has not started, or the next command finishes it."""
    whole = told.parent / "whole"
    shutil.copytree(told, whole, symlinks=True)
    found = set()
    for last in (3, 7, 12, 16, 40, 80):
        shutil.rmtree(told / ".git")
        shutil.copytree(whole / ".git", told / ".git", symlinks=True)
        put(told / "PROGRESS.yaml", (whole / "PROGRESS.yaml").read_bytes())
        ended = subprocess.run(
            [sys.executable, "-c", KILLED, str(last), SECRET], check=False
        )
        assert ended.returncode in (0, 9)
        done("status", "--sprint", "auth")
        assert not (told / LOG / "redaction").exists()
        erased = any(line["salt"] is None for line in done("log", "--json").lines)
        assert bool(holding(told, SECRET)) is not erased, last
        assert done("verify", "--full", "--json").json["sound"]
        found.add(erased)
    assert found == {False, True}


def test_a_note_that_is_not_ours_is_left(told: Path, done: Run) -> None:
    """An incomplete file starts nothing."""
    put(told / LOG / "redaction", b"{}")
    done("status", "--sprint", "auth")
    assert holding(told, SECRET)


def begun(folder: Path) -> None:
    """Leave a redaction as one leaves it that dies when its events are erased."""
    with sprintlog.open(folder) as workspace:
        workspace.environment = dict(os.environ)
        found = chosen(workspace, Selector(text=SECRET))
        note = redaction.note_of(
            found.events, found.texts, reason="x", actor="operator", at=workspace.now()
        )
        assert [*redaction._erase_events(workspace, note)]
        content = msgspec.json.encode(note)
    put(folder / LOG / "redaction", content)


def test_the_library_finishes_too(told: Path) -> None:
    """Opening the log from Python finishes an interrupted redaction."""
    begun(told)
    assert holding(told, SECRET)
    sprintlog.open(told).close()
    assert holding(told, SECRET) == []
    assert not (told / LOG / "redaction").exists()


def test_what_cannot_be_finished_is_reported(
    told: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands continue with a warning, the library refuses; with git it is finished."""
    begun(told)
    with monkeypatch.context() as without_git:
        without_git.setenv("PATH", "/nowhere")
        without_git.setattr(os, "defpath", "/nowhere")
        answer = done("note", "still recorded")
        assert "interrupted redaction cannot be completed: snapshots need git" in answer.err
        with pytest.raises(RefusedError, match="cut short cannot be finished"):
            sprintlog.open(told)
    assert "interrupted redaction was completed" in done("status", "--sprint", "auth").err
    assert holding(told, SECRET) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", [20, 12_000, 900_000])
@pytest.mark.parametrize("mode", ["wal", "rollback"])
def test_texts_of_any_length(
    folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch, size: int, mode: str
) -> None:
    """Whether it is on one page or on many, no part of it remains in any file."""
    if mode == "rollback":
        monkeypatch.setattr(journal_mode, "LOCAL", frozenset())
    put(folder / "plan.yaml", PLAN.encode())
    git(folder, "init", "-q")
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    text = os.urandom(size).hex()[:size]
    put(folder / "said", text.encode())
    with sprintlog.open(folder) as workspace:
        workspace.handle(AddNote(text), sprint_id="auth")
    done("iteration", "snapshot")
    done("query", "SELECT count(*) FROM v_events")
    put(folder / LOG / "reports" / "0123", text.encode())
    parts = [text[at : at + 18] for at in range(0, size - 17, max(size // 7, 1))]
    assert all(holding(folder, part) for part in parts)
    with sprintlog.open(folder) as workspace:
        workspace.environment = dict(os.environ)
        found = chosen(workspace, Selector(text=text))
        note = redaction.note_of(
            found.events, found.texts, reason="x", actor="operator", at=workspace.now()
        )
        redaction.redact(workspace, note)
    assert [part for part in parts if holding(folder, part)] == []
