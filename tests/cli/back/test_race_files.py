"""Handing over the files of an attempt, and removing worktrees of a race."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest

from sprintlog.engine import races as f
from sprintlog.engine.races import race_stream
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.projections.workspace import Workspace

from ...adapters.trees import git, picture, put
from ..conftest import Run
from ..restores import files

LINES = b"".join(b"%d\n" % number for number in range(9))
SUBMODULE = ("-c", "protocol.file.allow=always", "submodule", "--quiet")
WON = b"won\n" + LINES[2:]


@pytest.fixture
def main(repository: Path, done: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide the main work tree of a race of two attempts, of which the first one won."""
    race(repository, done, monkeypatch)
    return repository


@pytest.fixture
def repository(folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a repository with some files and a log."""
    main = folder / "main"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    git(folder, "init", "-q", "main")
    for name, content in (("f", LINES), ("gone", b"x"), ("bin", b"\0x")):
        put(main / name, content)
    put(main / ".gitignore", b"*.log\n")
    git(main, "add", ".")
    git(main, "commit", "-qm", "first")
    monkeypatch.chdir(main)
    done("init")
    return main


def race(main: Path, done: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Record a race, whose attempts change the same files."""
    commit = git(main, "rev-parse", "HEAD").strip()
    entrants = (f.Entrant(("agent",)), f.Entrant(("agent",)))
    told: list[f.RaceEvent] = [f.RaceStarted(commit, entrants)]
    for number in (1, 2):
        tree = worktree(main, number)
        git(main, "worktree", "add", "-q", "--detach", str(tree))
        git(tree, *SUBMODULE, "update", "--init")
        sprint = f"fix-{number}"
        started = f.AttemptStarted(number, sprint, str(tree), os.uname().nodename, commit)
        told += [started, f.AttemptEnded(number, 0, iteration=1)]
        monkeypatch.chdir(tree)
        done("sprint", "create", sprint, "--goal", "it works")
        done("sprint", "start")
        done("iteration", "start", "--snapshot")
        put(tree / "f", WON if number == 1 else b"lost\n")
        put(tree / "new\nline", b"new")
        put(tree / "bin", b"\0y")
        (tree / "gone").unlink()
        done("iteration", "end", "--snapshot")
    told.append(f.RaceDecided("ended", 1, winner=1, iteration=1))
    monkeypatch.chdir(main)
    with Workspace.open(main) as workspace:
        made = [new_event(x, at=workspace.now(), actor="runtime") for x in told]
        workspace.log.append(race_stream("fix"), made, expect=0)


def worktree(main: Path, number: int) -> Path:
    """Return the path of an attempt's worktree."""
    place = os.fsencode((main / ".git").resolve())
    name = sha256(place).hexdigest()[:16]
    return main.parent / f"state/sprintlog/attempts/{name}/fix/{number}"


def told(done: Run) -> list[str]:
    """Return the types of the events that the race recorded after its decision."""
    with Workspace.open(Path.cwd()) as workspace:
        recorded = workspace.log.read_stream(race_stream("fix"))
        return [one.type for one in recorded][6:]


def test_winner_is_applied_and_undone(main: Path, run: Run, done: Run) -> None:
    """Git shows exactly the winner's changes; the plan is shown first; the hint works."""
    shown = run("race", "apply")
    assert (shown.code, "receive the changes of fix-1@1\n" in shown.out) == (1, True)
    assert (git(main, "status", "--short"), told(done)) == ("", [])
    said = done("race", "apply", "--yes")
    changed = ' M bin\n M f\n D gone\n?? "new\\nline"\n'
    assert git(main, "status", "--short") == changed
    assert (files(main)["f"], told(done)) == (WON, ["attempt-applied"])
    done("race", "apply", "--yes")
    assert told(done) == ["attempt-applied"]
    assert done("why", "f:1", "--sprint", "fix-1", "--json").json["iterations"] == ["1"]
    hint = said.err.partition("`sprintlog ")[2].partition("`")[0]
    done(*hint.split(), "--yes")
    assert git(main, "status", "--short") == ""


def test_later_commits_are_merged(main: Path, run: Run, done: Run) -> None:
    """Changes on both sides are combined; conflicts end with status 1 and are recorded."""
    put(main / "f", LINES + b"later\n")
    git(main, "commit", "-qam", "later")
    done("race", "apply", "--yes")
    assert files(main)["f"] == WON + b"later\n"
    done("undo", "--sprint", "fix-1", "--yes")
    said = run("race", "apply", "--attempt", "2", "--yes")
    assert (said.code, "Merge conflict in f" in said.out) == (1, True)
    assert b"<<<<<<< work tree\n" in files(main)["f"]
    assert told(done) == ["attempt-applied"] * 2


def test_uncommitted_work_is_not_touched(main: Path, run: Run, done: Run) -> None:
    """The files are named; other uncommitted files stay; ignored files count as well."""
    put(main / "f", b"mine\n")
    put(main / "other", b"mine")
    said = run("race", "apply", "--yes")
    assert (said.code, "uncommitted changes would be changed: f\n" in said.err) == (1, True)
    assert "commit or stash" in said.err
    assert told(done) == []
    git(main, "checkout", "-q", "f")
    done("race", "apply", "--yes")
    assert files(main)["other"] == b"mine"


def test_branch_and_patch_leave_the_tree(main: Path, run: Run, done: Run) -> None:
    """Both start at the race's commit, although the main tree has moved on."""
    put(main / "f", LINES + b"later\n")
    git(main, "commit", "-qam", "later")
    answer = done("race", "apply", "--branch", "won", "--json").json
    assert (answer["action"], answer["files"]["branch"]) == ("race-apply", "won")
    assert run("race", "apply", "--branch", "won").code == 1
    done("race", "apply", "--patch", "../p")
    assert "already exists" in run("race", "apply", "--patch", "../p").err
    assert git(main, "status", "--short") == ""
    git(main, "apply", "--index", "-3", "../p")
    assert files(main)["f"] == WON + b"later\n"
    git(main, "reset", "-q", "--hard")
    git(main, "merge", "-q", "won")
    assert (files(main)["f"], files(main)["bin"]) == (WON + b"later\n", b"\0y")
    assert told(done) == ["attempt-applied"] * 2
    done("race", "apply", "--patch", "../q", "--dry-run")
    assert not Path("../q").exists()


def test_submodule_is_reported(
    repository: Path, run: Run, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A submodule's changes are unknown: `apply` names it, and `clean` keeps it."""
    put(repository.parent / "lib/code", b"x")
    git(repository.parent, "init", "-q", "lib")
    git(repository.parent / "lib", "add", ".")
    git(repository.parent / "lib", "commit", "-qm", "lib")
    git(repository, *SUBMODULE, "add", "../lib", "lib")
    git(repository, "commit", "-qm", "library")
    race(repository, done, monkeypatch)
    assert "unchanged: lib: not in the snapshot" in done("race", "apply", "--yes").out
    assert " M lib" not in git(repository, "status", "--short")
    said = run("race", "clean", "--yes").err
    assert "its snapshot omits: lib\n" in said


@pytest.mark.long
@pytest.mark.parametrize("step", range(12))
def test_apply_killed_at_any_time_is_repeated(main: Path, done: Run, step: int) -> None:
    """The same command finishes it, and one undo reverts it."""
    words = ("race", "apply", "--yes")
    with subprocess.Popen([sys.executable, "-m", "sprintlog.cli", *words]) as process:
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.1 + step * 0.06)
        process.kill()
    done(*words)
    assert told(done) == ["attempt-applied"]
    assert files(main)["f"] == WON
    done("undo", "--sprint", "fix-1", "--yes")
    assert git(main, "status", "--short") == ""


def test_worktrees_are_removed_after_a_snapshot(main: Path, run: Run, done: Run) -> None:
    """The hint restores the last files; commits are kept."""
    put(worktree(main, 2) / "last", b"last")
    git(worktree(main, 2), "commit", "-q", "--allow-empty", "-m", "made")
    head = git(worktree(main, 2), "rev-parse", "HEAD").strip()
    assert run("race", "clean").code == 1
    assert "remove" in done("race", "clean", "--dry-run").out
    answer = done("race", "clean", "--dry-run", "--json").json
    assert [one["attempt"] for one in answer["trees"]] == [1, 2]
    assert worktree(main, 1).exists()
    said = done("race", "clean", "--yes")
    assert not worktree(main, 1).parent.exists()
    assert git(main, "worktree", "list").count("\n") == 1
    assert told(done) == ["attempt-removed"] * 2
    hint = said.err.splitlines()[-1].partition("`sprintlog ")[2].partition("`")[0]
    done(*hint.replace("FOLDER", "../back").split())
    assert files(main.parent / "back")["last"] == b"last"
    assert git(main, "for-each-ref", "--format=%(objectname)", "refs/sprintlog") == (
        f"{head}\n"
    )
    assert "nothing to do" in done("race", "clean", "--yes").out
    done("race", "apply", "--yes")


def test_omitted_files_are_named(main: Path, run: Run, done: Run) -> None:
    """Ignored files and nested repositories are lost only with consent."""
    put(worktree(main, 1) / "a.log", b"x")
    nested = worktree(main, 1) / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    said = run("race", "clean", "--yes")
    assert (said.code, "its snapshot omits: a.log, nested\n" in said.err) == (1, True)
    assert (told(done), worktree(main, 2).exists()) == ([], True)
    done("race", "clean", "--yes", "--discard-omitted")
    assert not worktree(main, 1).exists()


def test_worktree_in_use_stays(main: Path, run: Run, done: Run) -> None:
    """A process in a worktree, a lock and a link in its place refuse the removal."""
    tree = worktree(main, 1)
    with subprocess.Popen(["cat"], cwd=tree, stdin=subprocess.PIPE) as process:
        assert f"process {process.pid} is working" in run("race", "clean", "--yes").err
        process.terminate()
    git(main, "worktree", "lock", str(tree))
    assert "it is locked" in run("race", "clean", "--yes").err
    git(main, "worktree", "unlock", str(tree))
    tree.rename(tree.with_name("moved"))
    tree.symlink_to("moved")
    before = picture(tree.parent)
    assert "it is a link" in run("race", "clean", "--yes", "--discard-omitted").err
    assert (picture(tree.parent), told(done)) == (before, [])


def test_tree_of_another_repository_stays(main: Path, run: Run, done: Run) -> None:
    """A worktree whose `.git` file was changed cannot be saved, and is named."""
    (worktree(main, 1) / ".git").unlink()
    git(worktree(main, 1), "init", "-q")
    said = run("race", "clean", "--yes")
    assert (said.code, "its snapshot omits: ." in said.err) == (1, True)
    done("race", "clean", "--yes", "--discard-omitted")
    assert git(main, "worktree", "list").count("\n") == 1


def test_deleted_worktree_is_pruned(main: Path, done: Run) -> None:
    """The output states that a worktree had been deleted."""
    shutil.rmtree(worktree(main, 1))
    assert "pruned" in done("race", "clean", "--yes").out
    assert git(main, "worktree", "list").count("\n") == 1
    assert told(done) == ["attempt-removed"] * 2


@pytest.mark.parametrize("half", ["tree", "record"])
def test_killed_removal_is_finished(
    main: Path, done: Run, monkeypatch: pytest.MonkeyPatch, half: str
) -> None:
    """After its event, a removal needs no other check, whatever is left of the tree."""
    from sprintlog.engine.adapters.git.worktrees import OwnRepository

    with monkeypatch.context() as patched:
        patched.setattr(OwnRepository, "remove", lambda *_: None)
        done("race", "clean", "--yes")
    if half == "record":
        shutil.rmtree(worktree(main, 1))
    else:
        (worktree(main, 1) / ".git").unlink()
    done("race", "clean", "--yes")
    assert told(done) == ["attempt-removed"] * 2
    assert not worktree(main, 1).parent.exists()
    assert git(main, "worktree", "list").count("\n") == 1
