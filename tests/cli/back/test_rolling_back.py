"""`rollback` and `undo` through the command line."""

from pathlib import Path
from typing import Any


def test_goes_back_and_forth(sprint: Path, done: Any) -> None:
    """A rollback restores the file of that version, its undo the previous one."""
    done("phase", "start", "--at", "2026-01-15T09:01:00Z")
    earlier = (sprint / "PROGRESS.yaml").read_bytes()
    done("phase", "complete", "--at", "2026-01-15T09:02:00Z")
    later = (sprint / "PROGRESS.yaml").read_bytes()
    done("rollback", "version:3", "--reason", "went bad")
    assert (sprint / "PROGRESS.yaml").read_bytes() == earlier
    done("undo")
    assert (sprint / "PROGRESS.yaml").read_bytes() == later
    assert len(done("log", "--json").lines) == 6


def test_goes_back_to_the_end_of_an_iteration(sprint: Path, done: Any) -> None:
    """`--to iter:N` is the state in which iteration N ended; numbers continue."""
    done("iteration", "start")
    done("phase", "start")
    before = (sprint / "PROGRESS.yaml").read_bytes()
    done("iteration", "start")
    done("phase", "complete")
    done("rollback", "iter:1")
    assert (sprint / "PROGRESS.yaml").read_bytes() == before
    assert done("iteration", "start", "--json").code == 0
    assert done("status", "--json").json["stats"]["current-iteration"] == 3


def test_refuses_a_target_inside_one_append(sprint: Path, run: Any) -> None:
    """Events that were appended together are rolled back together."""
    run("phase", "start")
    run("phase", "fail", "--error", "no")
    result = run("rollback", "version:4")
    assert result.code == 1
    assert "inside an atomic append" in result.err


def test_refuses_to_undo_nothing(sprint: Path, run: Any) -> None:
    """Without an effective rollback, there is nothing to undo."""
    assert run("undo").code == 1
    run("phase", "start")
    run("rollback", "start")
    assert run("undo").code == 0
    assert run("undo").code == 1


def test_a_rollback_to_where_the_plan_is_records_nothing(sprint: Path, done: Any) -> None:
    """If only knowledge was recorded since, nothing to do is reported."""
    done("phase", "start")
    done("note", "looks good")
    events = done("log", "--json").lines
    said = done("rollback", "version:3").out
    assert said == "nothing to do: the plan is at version 3 already\n"
    assert done("log", "--json").lines == events
    done("rollback", "version:2")
    done("note", "that was worse")
    assert "nothing to do" in done("rollback", "version:2").out
    assert "rolled-back" in done("rollback", "version:3").out
