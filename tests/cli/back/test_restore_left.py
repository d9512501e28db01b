"""Files that a restore could not restore are reported, and checked out in a branch."""

import os
import shutil
from hashlib import sha256
from pathlib import Path

from ...adapters.trees import git, put
from ..conftest import Run
from ..restores import STATE


def test_branch_keeps_what_no_snapshot_holds(tree: Path, done: Run) -> None:
    """Omitted files, and those in another form, are as checked out; each is reported."""
    content = b"large file\n" * 9
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n" % (
        sha256(content).hexdigest().encode(),
        len(content),
    )
    checked_out = {"big": b"old\n", "lfs": pointer, "lines": b"a\nb\n", STATE: b"ours\n"}
    state = (tree / STATE).read_bytes()
    for name, held in checked_out.items():
        put(tree / name, held)
    git(tree, "clone", "-q", ".", "library")
    git(tree, "add", "-f", *checked_out, "library")
    git(tree, "commit", "-qm", "second")
    put(tree / STATE, state)
    put(tree / "big", b"x" * (1024 * 1024 + 1))
    put(tree / "also-big", b"x" * (1024 * 1024 + 1))
    put(tree / "lfs", content, 0o755)
    put(tree / "lines", b"a\r\nb\r\n")
    done("iteration", "snapshot", "--file-max", "1")
    answer = done("restore", "iter:2", "--branch", "best", "--json").json
    assert {
        left["path"]: left["reason"].rpartition(":")[2] for left in answer["files"]["left"]
    } == {
        "also-big": " the branch does not have it",
        "big": " the branch contains the checked-out version",
        "library": " the branch contains the checked-out version",
        "lfs": " the branch has the pointer to them",
        "lines": " the branch contains the checked-out version",
    }
    changed = git(tree, "diff", "--name-only", "HEAD", "best").splitlines()
    assert {*changed} & {*checked_out, "library", "src/login"} == {"lfs"}
    for name, held in checked_out.items():
        assert git(tree, "show", f"best:{name}") == held.decode()
    assert git(tree, "ls-tree", "best", "lfs").startswith("100755")
    assert git(tree, "ls-tree", "best", "library").startswith("160000")
    git(tree, "fsck", "--strict")
    said = done("restore", "iter:2", "--branch", "again").out
    assert "unchanged: big: not in the snapshot (larger than" in said


def test_every_restore_says_what_it_could_not_bring_back(tree: Path, done: Run) -> None:
    """Paths omitted by a snapshot are named by each restore, as text and as data."""
    put(tree / "big", b"x" * (1024 * 1024 + 1))
    metrics = ("--metric", "test_count=9", "--metric", "tests_passed=9")
    done("iteration", "end", "--snapshot", "--file-max", "1", *metrics)
    put(tree / "src/login", b"later\n")
    reason = "not in the snapshot: larger than 1048576 bytes"
    left = [{"path": "big", "reason": reason}]
    answer = done("restore", "best", "--into", "../best", "--json").json
    assert answer["files"]["left"] == left
    assert f"unchanged: big: {reason}" in done("restore", "best", "--into", "../b").out
    answer = done("rollback", "best", "--yes", "--json").json
    alike = [{**left[0], "differs": False}]
    assert (answer["files"]["written"], answer["files"]["left"]) == (["src/login"], alike)
    said = done("rollback", "best", "--files", "--yes").out
    already = "nothing to do: the files are those of iteration 2 already"
    assert said == f"{already}\nunchanged: big: {reason}\n"
    assert (
        done("restore", "best", "src", "--into", "../src", "--json").json["files"]["left"]
        == []
    )
    applied = done("iteration", "select", "--apply", "--json").json["applied"]
    assert applied["left"] == [{"path": ".aiwg/output/big", "reason": reason}]
    said = done("iteration", "select", "--apply").out
    assert f"unchanged: .aiwg/output/big: {reason}" in said


def test_a_rollback_that_leaves_differences_ends_with_4(tree: Path, run: Run) -> None:
    """Each path that differs from the snapshot is named; "nothing to do" is not printed."""
    put(tree / ".gitignore", b"ignored\n")
    put(tree / "big", b"x" * (1024 * 1024 + 1))
    git(tree, "clone", "-q", ".", "library")
    git(tree, "clone", "-q", ".", "gone")
    git(tree, "worktree", "add", "-q", "linked")
    os.mkfifo(tree / "pipe")
    put(tree / "sprintlog.toml", b"[snapshot]\nfile-max = 1\n")
    assert run("iteration", "snapshot").code == 0
    put(tree / "ignored", b"x")
    unchanged = run("rollback", "iter:2", "--files", "--yes")
    assert (unchanged.code, "differs" in unchanged.out) == (0, False)
    (tree / "big").unlink()
    put(tree / "new-big", b"x" * (1024 * 1024 + 1))
    git(tree / "library", "commit", "-q", "--allow-empty", "-m", "more")
    shutil.rmtree(tree / "gone")
    git(tree / "linked", "commit", "-q", "--allow-empty", "-m", "more")
    git(tree, "worktree", "add", "-q", "other")
    dry = run("rollback", "iter:2", "--files", "--dry-run")
    assert dry.code == 0
    for _ in range(2):
        result = run("rollback", "iter:2", "--files", "--yes")
        assert (result.code, "nothing to do" in result.out) == (4, False)
        assert result.err == "warning: 4 paths differ from the snapshot\n"
        for said in (dry, result):
            lines = said.out.splitlines()
            named = [line.split(": ")[1] for line in lines if line.startswith("differs: ")]
            assert sorted(named) == ["big", "gone", "library", "new-big"]
    assert result.out.startswith("nothing can be restored\n")
    answer = run("rollback", "iter:2", "--files", "--yes", "--json")
    left = {one["path"]: one["differs"] for one in answer.json["files"]["left"]}
    assert {path for path, differs in left.items() if not differs} == {
        *("linked", "other", "pipe")
    }


def test_an_undo_that_cannot_restore_a_file_ends_with_4(tree: Path, run: Run) -> None:
    """Obstacles of an undo are named, as by a rollback."""
    assert run("iteration", "end", "--snapshot").code == 0
    put(tree / "src/login", b"later\n")
    assert run("rollback", "iter:2", "--files", "--yes").code == 0
    (tree / "src/login").unlink()
    os.mkfifo(tree / "src/login")
    result = run("undo", "--yes")
    assert result.code == 4
    assert "differs: src/login: " in result.out
