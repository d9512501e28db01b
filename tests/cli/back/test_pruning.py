"""Used space is reported, and `prune` frees it unless a rollback needs it."""

import os
from pathlib import Path

import pytest

from ..conftest import Run


@pytest.fixture
def many(tree: Path, done: Run) -> Path:
    """Provide a repository with six more iterations, each with saved files."""
    for number in range(6):
        (tree / "made.txt").write_text(f"{number}\n")
        done("iteration", "start")
        done("iteration", "end", "--snapshot")
    return tree


def test_doctor_says_what_takes_space(many: Path, done: Run) -> None:
    """Events and snapshots each have their bytes, with units."""
    done("query", "SELECT 1")
    checks = {one["check"]: one for one in done("doctor", "--json").json["checks"]}
    said = checks["sizes"]["found"]
    for word in ("events and saved states", "snapshots", "query copy", "KiB"):
        assert word in said


def test_a_dry_run_says_the_same_and_changes_nothing(many: Path, done: Run) -> None:
    """The dry run names exactly what is removed afterwards."""
    before = done("log", "--json").out
    would = done("store prune", "--keep", "2", "--dry-run", "--json").json["snapshots"]
    assert would
    assert done("log", "--json").out == before
    assert done("store prune", "--keep", "2", "--json").json["pruned"] == would


def test_only_what_is_older_goes(many: Path, done: Run) -> None:
    """Nothing here is a day old; the oldest ones are removed only by their number."""
    assert (
        done("store prune", "--keep", "1", "--older-than", "1d", "--json").json["pruned"]
        == []
    )
    assert done("store prune", "--keep", "1", "--json").json["pruned"]


def test_an_age_has_a_form(many: Path, run: Run) -> None:
    """An invalid age is refused with an example."""
    assert "must be an age like 30d" in run("store prune", "--older-than", "long").err


def test_copies_that_nobody_asks_go_with_age(many: Path, done: Run) -> None:
    """An old copy for queries is removed, and recreated on demand."""
    done("query", "SELECT 1")
    copy = many / ".git" / "sprintlog" / "query.db"
    os.utime(copy, (0, 0))
    assert "query.db" in done("store prune", "--older-than", "1d", "--dry-run").out
    assert copy.exists()
    done("store prune", "--older-than", "1d")
    assert not copy.exists()
    assert done("query", "SELECT 1").out


@pytest.mark.long
def test_undo_of_files_works_after_pruning(many: Path, done: Run) -> None:
    """Files that the undo of a rollback needs are never removed."""
    done("rollback", "iter:1", "--files", "--yes")
    done("store prune", "--keep", "1")
    done("undo", "--yes")
    assert (many / "made.txt").read_text() == "5\n"


def test_the_best_ones_files_stay(many: Path, done: Run) -> None:
    """After pruning to one, the best iteration's files can still be restored."""
    for number in (3, 4):
        share = "9" if number == 3 else "5"
        done("iteration", "measure", "--number", number, "--metric", "test_count=10",
             "--metric", f"tests_passed={share}")  # fmt: skip
    done("store prune", "--keep", "1")
    out = many.parent / "best"
    done("restore", "iter:3", "--into", out)
    assert (out / "made.txt").read_text() == "0\n"


def test_events_are_never_pruned(many: Path, done: Run) -> None:
    """The log only grows: the pruning itself is recorded."""
    before = len(done("log", "--json").lines)
    done("store prune", "--keep", "1")
    assert len(done("log", "--json").lines) == before + 1
    done("verify")
