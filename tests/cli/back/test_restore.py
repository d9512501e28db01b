"""Restoring an iteration's files, and what never changes in the process."""

import os
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.adapters.snapshots import capture, file_stats
from sprintlog.engine.adapters.snapshots.objects import object_id
from sprintlog.engine.service.work_tree.own_paths import OUTPUT

from ...adapters.trees import git, picture, put, store_in
from ..conftest import Run
from ..restores import STATE, files, theirs


def test_new_folder_leaves_everything_as_it_is(tree: Path, done: Run) -> None:
    """Snapshot and restore into a folder touch neither the tree nor the repository."""
    before, repository = picture(tree, without=(".git",)), theirs(tree)
    done("iteration", "snapshot")
    answer = done("restore", "iter:1", "--into", "../best", "--json").json
    assert len(answer["files"]["written"]) == 4
    new = tree.parent / "best"
    assert files(new)["src/login"] == b"good\n"
    assert (new / "src/login").stat().st_mode & 0o777 == 0o755
    assert "src/mess" not in files(new)
    assert not {"run.log", STATE} & {path.name for path in new.iterdir()}
    assert picture(tree, without=(".git",)) == before
    assert theirs(tree) == repository


def test_where_files_are_put_is_said(tree: Path, done: Run, run: Run) -> None:
    """Without a target nothing is created, and the command for a rollback is named."""
    result = run("restore", "iter:1")
    assert (result.code, "`sprintlog rollback iter:1 --files`" in result.err) == (2, True)
    place = ("--into", "../new")
    answer = done("restore", "iter:1", "src", *place, "--dry-run", "--json").json
    assert (answer["done"], answer["files"]["written"]) == (False, ["src/login"])
    assert not (tree.parent / "new").exists()
    done("restore", "iter:1", "src", *place)
    assert [*files(tree.parent / "new")] == ["src/login"]
    result = run("restore", "iter:1", "src", *place)
    assert (result.code, "already exists" in result.err) == (1, True)
    result = run("restore", "iter:1", "no/such", *place)
    assert (result.code, "contains no such file" in result.err) == (1, True)
    result = run("restore", "iter:1", "../elsewhere", *place)
    assert (result.code, "is not in the work tree" in result.err) == (1, True)


def test_paths_are_seen_from_where_one_stands(
    tree: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder of the tree, a path is relative to that folder."""
    monkeypatch.chdir(tree / "src")
    done("restore", "iter:1", "login", "--into", "../../best")
    assert [*files(tree.parent / "best")] == ["src/login"]


def test_branch_holds_the_files(tree: Path, done: Run, run: Run) -> None:
    """A branch follows the checked-out tree; tree, index and stash are unchanged."""
    before, index = files(tree), (tree / ".git/index").read_bytes()
    head = git(tree, "rev-parse", "HEAD").strip()
    commit = done("restore", "iter:1", "--branch", "best", "--json").json["files"]["commit"]
    assert git(tree, "rev-parse", "best", "best^").split() == [commit, head]
    assert git(tree, "show", "best:src/login") == "good\n"
    assert git(tree, "ls-tree", "best", "src/login").startswith("100755")
    assert (files(tree), (tree / ".git/index").read_bytes()) == (before, index)
    git(tree, "fsck", "--strict")
    for name, said in (("best", "already"), ("..", "is not a"), ("-x", "is not a")):
        result = run("restore", "iter:1", f"--branch={name}")
        assert (result.code, said in result.err) == (1, True), result
    assert run("restore", "iter:1", "src", "--branch", "b").code == 2


def test_in_place_shows_its_plan_first(tree: Path, run: Run) -> None:
    """Without `--yes`, nothing is changed or recorded; the plan is shown."""
    before = files(tree)
    result = run("rollback", "iter:1", "--files")
    assert result.code == 1
    assert result.out.splitlines() == [
        "files  return to the end of iteration 1",
        "create  README",
        "replace  src/login",
        "remove  src/mess",
    ]
    assert "nothing was changed" in result.err
    plan = run("rollback", "iter:1", "--files", "--json").json
    assert (plan["done"], plan["files"]["removed"]) == (False, ["src/mess"])
    assert run("rollback", "iter:1", "--files", "--dry-run").out == result.out
    assert files(tree) == before
    assert "restore-started" not in run("log").out


def test_in_place_keeps_the_repository(tree: Path, done: Run) -> None:
    """Files are restored in place; ignored ones and the repository are unchanged."""
    repository = theirs(tree)
    answer = done("rollback", "iter:1", "--files", "--yes", "--json").json
    changed = answer["files"]
    assert changed["written"] == ["README", "src/login"]
    assert changed["removed"] == ["src/mess"]
    assert [e["type"] for e in answer["events"]] == ["snapshot-taken", "restore-started"]
    found = files(tree)
    assert (found["src/login"], found["run.log"]) == (b"good\n", b"ignored\n")
    assert "src/mess" not in found
    assert theirs(tree) == repository
    again = done("rollback", "iter:1", "--files", "--yes").out
    assert again == "nothing to do: the files are those of iteration 1 already\n"


def test_state_file_stays_what_the_log_says(tree: Path, done: Run) -> None:
    """The state file is not restored, because it is computed from the log."""
    done("rollback", "iter:1", "--files", "--yes")
    assert b"completed" in (tree / STATE).read_bytes()
    done("verify")
    assert "edit-observed" not in done("log").out


def test_rollback_with_files_and_back(tree: Path, done: Run, run: Run) -> None:
    """State and files are rolled back together, and undo restores both."""
    before, state = files(tree), (tree / STATE).read_bytes()
    assert run("rollback", "iter:1").code == 1
    assert "rolled-back" not in done("log").out
    done("rollback", "iter:1", "--yes")
    assert files(tree)["src/login"] == b"good\n"
    document = done("show", "progress", "--json").json
    assert document["phases"][0]["status"] == "in-progress"
    result = run("undo")
    assert (result.code, "create  src/mess" in result.out) == (1, True)
    done("undo", "--yes")
    assert (files(tree), (tree / STATE).read_bytes()) == (before, state)
    assert (run("undo").code, run("redo").code) == (1, 1)
    done("redo", "--yes")
    assert files(tree)["src/login"] == b"good\n"
    done("undo", "--yes")
    assert (files(tree), (tree / STATE).read_bytes()) == (before, state)


def test_best_gives_state_and_files(tree: Path, done: Run, run: Run) -> None:
    """After a regression, the best iteration's state and files are restored and work."""
    measured = ("--metric", "test_count=9", "--metric")
    done("iteration", "measure", "--number", "1", *measured, "tests_passed=9")
    done("iteration", "end", *measured, "tests_passed=4")
    before, state = files(tree), (tree / STATE).read_bytes()
    assert run("rollback", "best").code == 1
    answer = done("rollback", "best", "--yes", "--json").json
    assert (answer["files"]["iteration"], answer["files"]["removed"]) == (1, ["src/mess"])
    assert files(tree)["src/login"] == b"good\n"
    done("undo", "--yes")
    assert (files(tree), (tree / STATE).read_bytes()) == (before, state)
    done("restore", "best", "src", "--into", "../best")
    assert files(tree.parent / "best")["src/login"] == b"good\n"
    done("rollback", "best", "--plan")
    assert files(tree) == before


def test_later_snapshot_does_not_replace_what_was_measured(tree: Path, done: Run) -> None:
    """`best` are the files an iteration ended with; later ones have only their id."""
    metrics = ("--metric", "test_count=9", "--metric", "tests_passed=9")
    done("iteration", "end", "--snapshot", *metrics)
    put(tree / "src/login", b"later\n")
    later = done("iteration", "snapshot", "--json").json["snapshot"]
    done("restore", "best", "src", "--into", "../best")
    assert files(tree.parent / "best")["src/login"] == b"worse\n"
    done("restore", f"snapshot:{later[:9]}", "src", "--into", "../later")
    assert files(tree.parent / "later")["src/login"] == b"later\n"


def test_iteration_that_was_left_can_be_gone_back_to(tree: Path, done: Run) -> None:
    """An iteration discarded by a rollback with files can be the next target."""
    before = files(tree)
    done("rollback", "iter:1", "--yes")
    done("rollback", "iter:2", "--yes")
    assert files(tree) == before


def test_undo_can_leave_the_files(tree: Path, done: Run) -> None:
    """With `--plan`, only the plan is restored."""
    done("rollback", "iter:1", "--yes")
    done("undo", "--plan")
    assert files(tree)["src/login"] == b"good\n"
    assert b"completed" in (tree / STATE).read_bytes()


def test_rollback_without_a_snapshot_is_refused(tree: Path, done: Run, run: Run) -> None:
    """If an iteration has no snapshot, neither state nor files are rolled back."""
    done("iteration", "start")
    done("iteration", "start")
    result = run("rollback", "iter:3", "--files", "--yes")
    assert (result.code, "iteration 3 has no snapshot" in result.err) == (3, True)


def test_results_are_applied_to_a_folder(tree: Path, done: Run, run: Run) -> None:
    """Changes since the first snapshot are copied to the result folder."""
    put(tree / ".aiwg/output/src/login", b"earlier\n")
    put(tree / ".aiwg/output/other", b"other\n")
    assert run("restore", "iter:1", "--apply").code == 1
    answer = done("restore", "iter:1", "--apply", "--yes", "--json").json
    assert len(answer["files"]["written"]) == 3
    found = files(tree)
    assert found[".aiwg/output/src/login"] == b"good\n"
    assert found[".aiwg/output/other"] == b"other\n"
    assert found["src/login"] == b"worse\n"
    (event,) = done("log", "--type", "artifacts-applied", "--json").lines
    assert event["data"]["source"] == ".aiwg/ralph/auth/iterations/iteration-001/"
    assert event["data"]["destination"] == ".aiwg/output/"
    assert event["data"]["files_copied"] == [".gitignore", "README", "src/login"]
    done("restore", "iter:1", "src", "--apply", "--into", "out", "--yes")
    assert files(tree)["out/src/login"] == b"good\n"
    for folder in (".sprintlog/x", ".", "..", ".git/hooks", "a/.GIT/b"):
        assert run("restore", "iter:1", "--apply", "--into", folder).code == 1


def test_ways_exclude_each_other(tree: Path, run: Run) -> None:
    """Files have one target: a folder, a branch, or the result folder."""
    for ways in (("--apply", "--branch", "b"), ("--branch", "b", "--into", "x")):
        assert run("restore", "iter:1", *ways).code == 2
    for parts in (("--plan", "--files"), ("src", "--plan")):
        assert run("rollback", "iter:1", *parts).code == 2


def test_linked_work_tree_has_its_own_files(
    tree: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A snapshot taken in a linked work tree is restored only there."""
    linked = tree.parent / "linked"
    git(tree, "worktree", "add", "-q", str(linked))
    before = files(tree)
    monkeypatch.chdir(linked)
    put(linked / "mine", b"one")
    named = ("--sprint", "auth")
    done("iteration", "snapshot", *named)
    put(linked / "mine", b"two")
    done("rollback", "iter:2", "mine", "--files", "--yes", *named)
    assert files(linked)["mine"] == b"one"
    assert files(tree) == before


def test_what_was_removed_is_named(tree: Path, done: Run) -> None:
    """With `--yes`, some of the removed files are named."""
    for number in range(12):
        put(tree / f"new/{number:02}", b"x")
    said = done("rollback", "iter:1", "--files", "--yes").out.splitlines()[1:]
    named = [f"removed  new/{number:02}" for number in range(10)]
    assert said == ["2 files written, 13 removed", *named, "removed  3 more"]


def test_where_nothing_would_change_nothing_is_recorded(tree: Path, done: Run) -> None:
    """Nothing to do is reported, with consent, without, and in a dry run."""
    done("rollback", "iter:1", "--files", "--yes")
    # A copy of the result is never modified, so its folder cannot cause a conflict.
    put(tree / ".aiwg/output/login", b"good\n")
    events = done("log", "--json").lines
    for more in ([], ["--yes"], ["--dry-run"]):
        said = done("rollback", "iter:1", "--files", *more).out
        assert said == "nothing to do: the files are those of iteration 1 already\n"
        said = done("rollback", "iter:1", "src/login", *more).out
        assert said == "nothing to do: these files are those of iteration 1 already\n"
    assert done("log", "--json").lines == events


def test_a_folder_that_changes_is_asked_for(tree: Path, done: Run, run: Run) -> None:
    """If only a folder would be removed, the plan shows it, and so does the answer."""
    done("rollback", "iter:1", "--files", "--yes")
    (tree / "empty").mkdir()
    result = run("rollback", "iter:1", "--files")
    assert (result.code, "folder  empty" in result.out) == (1, True)
    assert (tree / "empty").exists()
    said = done("rollback", "iter:1", "--files", "--yes").out
    assert (
        "every file already has its old content; 1 folder created, removed or with" in said
    )
    assert not (tree / "empty").exists()


def test_restored_files_are_not_read_again(
    tree: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a full restore, a snapshot reads only files that have changed since."""
    monkeypatch.setattr(file_stats, "kind_of", lambda root: "ext4")
    monkeypatch.setattr(file_stats, "SETTLED_NS", -(10**12))
    monkeypatch.setattr(file_stats, "TICK_NS", -(10**12))
    done("rollback", "iter:1", "--files", "--yes")
    seen = (tree / "README").stat()
    (tree / "README").write_bytes(b"x" * seen.st_size)
    os.utime(tree / "README", ns=(seen.st_atime_ns, seen.st_mtime_ns))
    read: list[str] = []
    real: Any = vars(capture)["_read"]

    def noted(root: int, path: str, *given: Any) -> Any:
        read.append(path)
        return real(root, path, *given)

    monkeypatch.setattr(capture, "_read", noted)
    done("iteration", "snapshot")
    assert read == ["README"]
    done("undo", "--yes")
    done("restore", "iter:1", "--into", "../new")
    assert files(tree.parent / "new")["src/login"] == b"good\n"


def test_a_file_that_a_restore_skips_is_read_again(
    tree: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next snapshot contains the current content of a file that a restore skipped."""
    monkeypatch.setattr(file_stats, "kind_of", lambda root: "ext4")
    monkeypatch.setattr(file_stats, "SETTLED_NS", -(10**12))
    monkeypatch.setattr(file_stats, "TICK_NS", -(10**12))
    result = tree / OUTPUT / "result"
    put(result, b"old")
    done("iteration", "start")
    done("iteration", "end", "--snapshot")
    put(result, b"new")
    put(tree / "README", b"new")
    done("rollback", "iter:3", "--files", "--yes")
    assert result.read_bytes() == b"new"
    done("iteration", "start")
    done("iteration", "end", "--snapshot")
    taken = done("log", "--type", "snapshot-taken", "--last", "1", "--json").json["data"]
    held = store_in(tree / ".git" / "sprintlog").read(taken["snapshot"]).files
    assert held[f"{OUTPUT}/result"].oid == object_id("blob", b"new")
