"""An iteration's files brought back, and what never changes on the way."""

from pathlib import Path

import pytest

from ..adapters.trees import git, picture, put
from .conftest import Run
from .restores import STATE, files, theirs


def test_new_folder_leaves_everything_as_it_is(tree: Path, done: Run) -> None:
    """Snapshot and restore into a folder touch neither the tree nor the repository."""
    before, repository = picture(tree, without=(".git",)), theirs(tree)
    done("iteration", "snapshot")
    answer = done("restore", "iter:1", "--into", "../best", "--json").json
    assert answer["files"] == 4
    new = tree.parent / "best"
    assert files(new)["src/login"] == b"good\n"
    assert (new / "src/login").stat().st_mode & 0o777 == 0o755
    assert "src/mess" not in files(new)
    assert not {"run.log", STATE} & {path.name for path in new.iterdir()}
    assert picture(tree, without=(".git",)) == before
    assert theirs(tree) == repository


def test_folder_is_beside_the_work_tree(tree: Path, done: Run, run: Run) -> None:
    """Without a name the new folder stands beside the work tree; chosen paths alone."""
    done("restore", "iter:1", "src")
    (new,) = [p for p in tree.parent.iterdir() if p.name.startswith(f"{tree.name}-iter-1")]
    assert [*files(new)] == ["src/login"]
    result = run("restore", "iter:1", "src")
    assert (result.code, "is there already" in result.err) == (1, True)
    result = run("restore", "iter:1", "no/such")
    assert (result.code, "holds no such file" in result.err) == (1, True)
    result = run("restore", "iter:1", "../elsewhere")
    assert (result.code, "is not in the work tree" in result.err) == (1, True)


def test_paths_are_seen_from_where_one_stands(
    tree: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder of the tree a path means what it means there."""
    monkeypatch.chdir(tree / "src")
    done("restore", "iter:1", "login", "--into", "../../best")
    assert [*files(tree.parent / "best")] == ["src/login"]


def test_branch_holds_the_files(tree: Path, done: Run, run: Run) -> None:
    """A branch follows what is checked out; tree, index and stash stay as they are."""
    before, index = files(tree), (tree / ".git/index").read_bytes()
    head = git(tree, "rev-parse", "HEAD").strip()
    commit = done("restore", "iter:1", "--branch", "best", "--json").json["commit"]
    assert git(tree, "rev-parse", "best", "best^").split() == [commit, head]
    assert git(tree, "show", "best:src/login") == "good\n"
    assert git(tree, "ls-tree", "best", "src/login").startswith("100755")
    assert (files(tree), (tree / ".git/index").read_bytes()) == (before, index)
    git(tree, "fsck", "--strict")
    for name, said in (("best", "already"), ("..", "cannot be"), ("-x", "cannot be")):
        result = run("restore", "iter:1", f"--branch={name}")
        assert (result.code, said in result.err) == (1, True), result
    assert run("restore", "iter:1", "src", "--branch", "b").code == 1


def test_in_place_shows_its_plan_first(tree: Path, run: Run) -> None:
    """Without --yes nothing is changed and nothing recorded; the plan is shown."""
    before = files(tree)
    result = run("restore", "iter:1", "--in-place")
    assert result.code == 1
    assert result.out.splitlines() == [
        "write  README",
        "write  src/login",
        "remove  src/mess",
    ]
    assert "nothing was changed" in result.err
    plan = run("restore", "iter:1", "--in-place", "--json").json
    assert (plan["done"], plan["remove"]) == (False, ["src/mess"])
    assert files(tree) == before
    assert "restore-started" not in run("log").out


def test_in_place_keeps_the_repository(tree: Path, done: Run) -> None:
    """In place the files are as they were; ignored ones and the repository stay."""
    repository = theirs(tree)
    answer = done("restore", "iter:1", "--in-place", "--yes", "--json").json
    assert (answer["written"], answer["removed"]) == (2, 1)
    assert [e["type"] for e in answer["events"]] == ["snapshot-taken", "restore-started"]
    found = files(tree)
    assert (found["src/login"], found["run.log"]) == (b"good\n", b"ignored\n")
    assert "src/mess" not in found
    assert theirs(tree) == repository
    again = done("restore", "iter:1", "--in-place", "--yes").out
    assert again == "every file is as it was then\n"


def test_state_file_stays_what_the_log_says(tree: Path, done: Run) -> None:
    """The state file is not brought back: it is computed from the log."""
    done("restore", "iter:1", "--in-place", "--yes")
    assert b"completed" in (tree / STATE).read_bytes()
    done("verify")
    assert "edit-observed" not in done("log").out


def test_rollback_with_files_and_back(tree: Path, done: Run, run: Run) -> None:
    """State and files go back together, and undo brings back the others together."""
    before, state = files(tree), (tree / STATE).read_bytes()
    assert run("rollback", "--to", "iter:1", "--files").code == 1
    assert "rolled-back" not in done("log").out
    done("rollback", "--to", "iter:1", "--files", "--yes")
    assert files(tree)["src/login"] == b"good\n"
    document = done("show", "progress", "--json").json
    assert document["phases"][0]["status"] == "in-progress"
    result = run("undo")
    assert (result.code, "write  src/mess" in result.out) == (1, True)
    done("undo", "--yes")
    assert (files(tree), (tree / STATE).read_bytes()) == (before, state)
    assert (run("undo").code, run("redo").code) == (1, 1)
    done("redo", "--yes")
    assert files(tree)["src/login"] == b"good\n"
    done("undo", "--yes")
    assert (files(tree), (tree / STATE).read_bytes()) == (before, state)


def test_best_gives_state_and_files(tree: Path, done: Run, run: Run) -> None:
    """After a degraded run the best iteration comes back, state and files, and goes."""
    measured = ("--metric", "test_count=9", "--metric")
    done("iteration", "measure", "--number", "1", *measured, "tests_passed=9")
    done("iteration", "end", *measured, "tests_passed=4")
    before, state = files(tree), (tree / STATE).read_bytes()
    assert run("rollback", "--to", "best").code == 1
    answer = done("rollback", "--to", "best", "--yes", "--json").json
    assert (answer["iteration"], answer["written"], answer["removed"]) == (1, 2, 1)
    assert files(tree)["src/login"] == b"good\n"
    done("undo", "--yes")
    assert (files(tree), (tree / STATE).read_bytes()) == (before, state)
    done("restore", "best", "src", "--into", "../best")
    assert files(tree.parent / "best")["src/login"] == b"good\n"
    done("rollback", "--to", "best", "--no-files")
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
    """Where a rollback with files left, another one can go to again."""
    before = files(tree)
    done("rollback", "--to", "iter:1", "--files", "--yes")
    done("rollback", "--to", "iter:2", "--files", "--yes")
    assert files(tree) == before


def test_undo_can_leave_the_files(tree: Path, done: Run) -> None:
    """With --no-files the state alone comes back."""
    done("rollback", "--to", "iter:1", "--files", "--yes")
    done("undo", "--no-files")
    assert files(tree)["src/login"] == b"good\n"
    assert b"completed" in (tree / STATE).read_bytes()


def test_rollback_without_a_snapshot_is_refused(tree: Path, done: Run, run: Run) -> None:
    """Where an iteration has no snapshot neither state nor files go back."""
    done("iteration", "start")
    done("iteration", "start")
    result = run("rollback", "--to", "iter:3", "--files", "--yes")
    assert (result.code, "iteration 3 has no snapshot" in result.err) == (3, True)


def test_results_are_applied_to_a_folder(tree: Path, done: Run, run: Run) -> None:
    """What changed since the first snapshot is copied to where results are looked for."""
    put(tree / ".aiwg/output/src/login", b"earlier\n")
    put(tree / ".aiwg/output/other", b"other\n")
    assert run("restore", "iter:1", "--apply").code == 1
    answer = done("restore", "iter:1", "--apply", "--yes", "--json").json
    assert answer["written"] == 3
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
    """A restore goes one way: a folder, a branch, in place or applied."""
    for ways in (("--in-place", "--branch", "b"), ("--in-place", "--into", "x")):
        assert run("restore", "iter:1", *ways).code == 2


def test_linked_work_tree_has_its_own_files(
    tree: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A snapshot taken in a linked work tree comes back there and nowhere else."""
    linked = tree.parent / "linked"
    git(tree, "worktree", "add", "-q", str(linked))
    before = files(tree)
    monkeypatch.chdir(linked)
    put(linked / "mine", b"one")
    done("iteration", "snapshot")
    put(linked / "mine", b"two")
    done("restore", "iter:2", "mine", "--in-place", "--yes")
    assert files(linked)["mine"] == b"one"
    assert files(tree) == before
