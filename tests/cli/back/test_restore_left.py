"""What a restore could not bring back: said, and in a branch as it is checked out."""

from hashlib import sha256
from pathlib import Path

from ...adapters.trees import git, put
from ..conftest import Run
from ..restores import STATE


def test_branch_keeps_what_no_snapshot_holds(tree: Path, done: Run) -> None:
    """What was left out, or git has in another form, is as checked out; all is said."""
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
    answer = done("extract", "iter:2", "--branch", "best", "--json").json
    assert {
        left["path"]: left["reason"].rpartition(":")[2] for left in answer["files"]["left"]
    } == {
        "also-big": " the branch does not have it",
        "big": " the branch has it as it is checked out",
        "library": " the branch has it as it is checked out",
        "lfs": " the branch has the pointer to them",
        "lines": " the branch has it as it is checked out",
    }
    changed = git(tree, "diff", "--name-only", "HEAD", "best").splitlines()
    assert {*changed} & {*checked_out, "library", "src/login"} == {"lfs"}
    for name, held in checked_out.items():
        assert git(tree, "show", f"best:{name}") == held.decode()
    assert git(tree, "ls-tree", "best", "lfs").startswith("100755")
    assert git(tree, "ls-tree", "best", "library").startswith("160000")
    git(tree, "fsck", "--strict")
    said = done("extract", "iter:2", "--branch", "again").out
    assert "left as it is: big: it was left out of the snapshot (larger than" in said


def test_every_restore_says_what_it_could_not_bring_back(tree: Path, done: Run) -> None:
    """What a snapshot left out is named by each way back, as text and as data."""
    put(tree / "big", b"x" * (1024 * 1024 + 1))
    metrics = ("--metric", "test_count=9", "--metric", "tests_passed=9")
    done("iteration", "end", "--snapshot", "--file-max", "1", *metrics)
    put(tree / "src/login", b"later\n")
    reason = "it was left out of the snapshot: larger than 1048576 bytes"
    left = [{"path": "big", "reason": reason}]
    answer = done("extract", "best", "--into", "../best", "--json").json
    assert answer["files"]["left"] == left
    assert f"left as it is: big: {reason}" in done("extract", "best", "--into", "../b").out
    answer = done("rollback", "best", "--yes", "--json").json
    assert (answer["files"]["written"], answer["files"]["left"]) == (["src/login"], left)
    said = done("rollback", "best", "--files", "--yes").out
    already = "nothing to do: the files are those of iteration 2 already"
    assert said == f"{already}\nleft as it is: big: {reason}\n"
    assert (
        done("extract", "best", "src", "--into", "../src", "--json").json["files"]["left"]
        == []
    )
    applied = done("iteration", "select", "--apply", "--json").json["applied"]
    assert applied["left"] == [{"path": ".aiwg/output/big", "reason": reason}]
    said = done("iteration", "select", "--apply").out
    assert f"left as it is: .aiwg/output/big: {reason}" in said
