"""Restores of files alone, reversed by `undo` and repeated by `redo`."""

from pathlib import Path

import pytest

from ...adapters.trees import put
from ..conftest import Run
from ..restores import STATE, files

RESULT = ".aiwg/output/src/login"


@pytest.mark.parametrize("paths", [(), ("src",)])
def test_restore_in_place_is_undone(
    tree: Path, done: Run, run: Run, paths: tuple[str, ...]
) -> None:
    """The touched files are restored; later changes elsewhere remain, and the state."""
    before, state = files(tree), (tree / STATE).read_bytes()
    done("rollback", "iter:1", *paths, "--files", "--yes")
    put(tree / "since", b"since\n")
    result = run("undo")
    assert (result.code, "create  src/mess" in result.out) == (1, True)
    assert [event["type"] for event in done("undo", "--yes", "--json").json["events"]] == [
        "snapshot-taken", "restore-started",
    ]  # fmt: skip
    assert files(tree) == {**before, "since": b"since\n"}
    assert (tree / STATE).read_bytes() == state
    assert run("undo", "--yes").code == 1
    done("redo", "--yes")
    assert files(tree)["src/login"] == b"good\n"
    done("undo", "--yes")
    assert files(tree) == {**before, "since": b"since\n"}


def test_rollback_that_changed_only_files_is_undone(tree: Path, done: Run) -> None:
    """If the state was the same already, `undo` restores the files nevertheless."""
    metrics = ("--metric", "test_count=9", "--metric", "tests_passed=9")
    done("iteration", "end", "--snapshot", *metrics)
    put(tree / "src/login", b"later\n")
    before = files(tree)
    answer = done("rollback", "best", "--yes", "--json").json
    assert "rolled-back" not in [event["type"] for event in answer["events"]]
    assert files(tree)["src/login"] == b"worse\n"
    done("undo", "--yes")
    assert files(tree) == before


@pytest.mark.parametrize("is_ignored", [False, True])
def test_applied_results_are_undone(tree: Path, done: Run, is_ignored: bool) -> None:
    """The copy of a result is removed, and the earlier file is restored."""
    if is_ignored:
        put(tree / ".gitignore", b"*.log\n.aiwg/\n")
    put(tree / RESULT, b"earlier\n")
    before = files(tree)
    done("iteration", "measure", "--number", "1", "--metric", "test_count=9",
         "--metric", "tests_passed=9")  # fmt: skip
    done("iteration", "select", "--apply")
    assert files(tree)[RESULT] == b"good\n"
    assert ".aiwg/output/README" in files(tree)
    done("undo", "--yes")
    assert files(tree) == before


def test_undo_goes_from_the_latest_backwards(tree: Path, done: Run, run: Run) -> None:
    """Restores and rollbacks are undone in their order, each of them once."""
    seen = [files(tree)]
    done("rollback", "iter:1", "src/login", "--files", "--yes")
    seen.append(files(tree))
    done("rollback", "iter:0", "--yes")
    seen.append(files(tree))
    done("rollback", "iter:2", "--files", "--yes")
    for wanted in reversed(seen):
        done("undo", "--yes")
        assert files(tree) == wanted
    assert run("undo", "--yes").code == 1
    for wanted in seen[1:]:
        done("redo", "--yes")
        assert files(tree) == wanted


def test_restore_that_somebody_took_back_by_hand_is_undone_once(
    tree: Path, done: Run, run: Run
) -> None:
    """With nothing left to do, the undo is recorded."""
    done("rollback", "iter:1", "src/login", "--files", "--yes")
    put(tree / "src/login", b"worse\n")
    done("undo", "--yes")
    assert run("undo", "--yes").code == 1
