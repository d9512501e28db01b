"""Logs that an agent deletes or moves during its work, and waiting runs."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from sprintlog.engine.log.port import Wait
from sprintlog.engine.service.driver import spooled_runs
from sprintlog.engine.service.place import anchor
from sprintlog.projections.workspace import Workspace

from ...adapters.trees import git
from ...leaks import open_files
from ..conftest import Run

WRAP = [sys.executable, "-m", "sprintlog.cli", "wrap"]
BEGUN = (
    f"until '{sys.executable}' -m sprintlog.cli log --json | grep -q iteration-started; "
    "do sleep 0.1; done; "
)
"""Waits until the iteration is recorded, however busy the machine is."""

DELETE = {
    "git": "rm -rf .git; git init -q",
    "log": "rm -rf .sprintlog",
    "clean": "git clean -qfdx; rm -rf .sprintlog",
}


@pytest.fixture(params=DELETE)
def deletes(request: pytest.FixtureRequest, folder: Path, done: Run) -> str:
    """Return a script that deletes the folder's log."""
    git(folder, "init", "-q")
    done("init", *([] if request.param == "git" else ["--here"]))
    return f"cat >/dev/null; touch made; {DELETE[request.param]}; echo done"


def _losses(done: Run) -> list[str]:
    events = done("log", "--all", "--json").lines
    return [e["data"]["text"] for e in events if e["type"] == "note-added"]


def test_wrap_records_its_iteration_in_a_new_log(
    folder: Path, done: Run, deletes: str
) -> None:
    """The loss is reported and recorded once; the new log is private to its owner."""
    wrap = [*WRAP, "--snapshot", "--", "sh", "-c"]
    os.umask(0o022)
    ended = subprocess.run(
        [*wrap, BEGUN + deletes],
        cwd=folder,
        input="",
        capture_output=True,
        text=True,
        check=True,
    )
    told = [line for line in ended.stderr.splitlines() if "sprintlog: " in line]
    assert len(told) == 1
    assert "was deleted while a command ran" in told[0]
    assert [told[0].endswith(loss) for loss in _losses(done)] == [True]
    types = [event["type"] for event in done("log", "--json").lines]
    assert types[-3:] == ["agent-ran", "iteration-ended", "snapshot-taken"]
    found = folder / ".git/sprintlog"
    found = found if found.exists() else folder / ".sprintlog"
    assert found.stat().st_mode & 0o777 == 0o700
    assert subprocess.run([*wrap, "true"], cwd=folder, check=True, input=b"").stderr is None
    assert len(_losses(done)) == 1
    done("verify")


def test_run_ends_and_a_new_log_records_the_loss(run: Run, done: Run, deletes: str) -> None:
    """`run` cannot continue without its plan: it ends with 4."""
    done("sprint", "create", "win", "--goal", "Win")
    ended = run("run", "--snapshot", "--rest", "0", "--", "sh", "-c", deletes)
    assert (ended.code, ended.err.count("was deleted while")) == (4, 1)
    assert len(_losses(done)) == 1
    done("verify")


@pytest.fixture
def linked(folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a linked work tree, whose log is in the adjacent repository."""
    main = folder / "main"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "i")
    git(main, "worktree", "add", "-q", "../linked", "-b", "linked")
    monkeypatch.chdir(folder / "linked")
    done("init")
    done("sprint", "create", "win", "--goal", "Win")
    return folder / "linked"


MOVE = "cat >/dev/null; mv ../main ../moved; echo x > made; echo done"


def _types(done: Run, linked: Path) -> list[str]:
    """Return the events of the log, whose repository was moved."""
    git(linked.with_name("moved"), "worktree", "repair", str(linked))
    done("verify")
    return [event["type"] for event in done("log", "--json").lines]


def test_wrap_goes_on_with_a_log_that_was_moved(done: Run, linked: Path) -> None:
    """Moving the main repository loses nothing of an iteration in a linked work tree."""
    wrap = [*WRAP, "--snapshot", "--", "sh", "-c"]
    ended = subprocess.run([*wrap, BEGUN + MOVE], input="", capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert not (linked / ".sprintlog").exists()
    assert not linked.with_name("main").exists()
    types = _types(done, linked)
    assert types[-3:] == ["agent-ran", "iteration-ended", "snapshot-taken"]
    assert "note-added" not in types


def test_run_goes_on_with_a_log_that_was_moved(run: Run, done: Run, linked: Path) -> None:
    """A loop uses its log at the new path, and continues; its end is recorded there."""
    loop = ("--snapshot", "--rest", "0", "--budget-iterations", "2", "--", "sh", "-c")
    script = f"test -d ../moved && echo again > made || {{ {MOVE}; }}; echo done"
    ended = run("run", *loop, script)
    assert ended.code == 20, ended
    assert not linked.with_name("main").exists()
    types = _types(done, linked)
    assert (types.count("agent-ran"), types.count("snapshot-taken")) == (2, 3)
    assert (types[-1], "note-added" in types) == ("run-ended", False)


def test_tree_and_log_moved_together_are_found(done: Run, folder: Path) -> None:
    """A repository moved with its log while a command runs in it remains usable."""
    tree = folder / "tree"
    tree.mkdir()
    git(tree, "init", "-q")
    wrap = [*WRAP, "--snapshot", "--", "sh", "-c"]
    script = "echo x > made; mv ../tree ../other"
    ended = subprocess.run(
        [*wrap, BEGUN + script], cwd=tree, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    os.chdir(folder / "other")
    types = [event["type"] for event in done("log", "--json").lines]
    assert types[-3:] == ["agent-ran", "iteration-ended", "snapshot-taken"]
    assert "note-added" not in types


def test_tree_moved_without_its_log_is_found(done: Run, linked: Path) -> None:
    """A linked work tree that is moved while a command runs in it keeps its files."""
    wrap = [*WRAP, "--snapshot", "--", "sh", "-c"]
    script = "git -C ../main worktree move ../linked ../other; echo x > made"
    ended = subprocess.run(
        [*wrap, BEGUN + script], input="", capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    os.chdir(linked.with_name("other"))
    last = done("log", "--json").lines[-1]
    assert (last["type"], last["data"]["files"]) == ("snapshot-taken", 1)


def test_run_waits_while_its_log_is_not_found_again(
    run: Run, done: Run, linked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that cannot be found is not lost: the run is recorded once it is back."""
    monkeypatch.setattr(anchor, "path_of", lambda folder: None)
    ended = run("run", "--rest", "0", "--", "sh", "-c", MOVE)
    assert (ended.code, "was deleted" in ended.err) == (4, False)
    assert "once the log is there again" in ended.err
    assert not linked.with_name("main").exists()
    linked.with_name("moved").rename(linked.with_name("main"))
    subprocess.run([*WRAP, "true"], input="", text=True, check=True)
    codes = [e["data"] for e in done("log", "--json").lines if e["type"] == "agent-ran"]
    assert [one["command"] for one in codes] == [f"sh -c {MOVE}", "true"]


def test_run_that_waits_stays_while_the_log_is_busy(folder: Path, done: Run) -> None:
    """A run is recorded by the next command that can; a busy log costs no record."""
    done("init")
    done("sprint", "create", "win", "--goal", "Win")
    with Workspace.open(folder, wait=Wait(0.1)) as workspace:
        place = workspace.location
        told = ("key", "win", "sh x", 3, 5, workspace.now(), "said", "")
        assert spooled_runs.keep(place, spooled_runs.SpooledRun(*told), {})
        (waiting,) = (place.folder / "spool").iterdir()
        with closing(sqlite3.connect(place.database, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            spooled_runs.take_in(workspace)
            assert waiting.exists()
        spooled_runs.take_in(workspace)
    assert not waiting.exists()
    assert not (place.folder / "not-understood").exists()
    (ran,) = (e for e in done("log", "--json").lines if e["type"] == "agent-ran")
    assert (ran["data"]["exit_code"], ran["data"]["output"]) == (3, "said")


def test_a_tree_that_is_gone_leaves_no_folder_open(folder: Path, done: Run) -> None:
    """The folder of a log is closed again if its work tree cannot be opened."""
    done("init", "--here")
    with Workspace.open(folder) as workspace:
        gone = replace(workspace.location, root=folder / "gone")
    before = open_files()
    with pytest.raises(FileNotFoundError):
        anchor.Anchor(gone)
    assert open_files() == before
