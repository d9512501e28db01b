"""The undo of an event reports the later work that is discarded with it."""

from pathlib import Path

from ..conftest import Run


def test_undoing_a_rollback_names_the_work_since(sprint: Path, done: Run) -> None:
    """Undoing a rollback discards later work, which is reported."""
    done("phase", "start")
    done("rollback", "version:2")
    done("phase", "start", "setup")
    done("note", "seen")
    warned = done("undo")
    assert "1 later event is also discarded: phase-started setup" in warned.err
    assert "`sprintlog redo`" in warned.err
    assert done("redo").err == ""


def test_redoing_names_the_way_back_to_the_work_since(sprint: Path, done: Run) -> None:
    """Work after an undo is discarded by a redo, and the named command restores it."""
    done("phase", "start")
    done("rollback", "version:2")
    done("undo")
    done("phase", "complete", "--summary", "mine")
    warned = done("redo").err
    assert "1 later event is also discarded: phase-completed setup" in warned
    done(*warned.partition("`sprintlog ")[2].partition("`")[0].split())
    assert "summary: mine" in (sprint / "PROGRESS.yaml").read_text()


def test_undoing_at_once_says_nothing(sprint: Path, done: Run) -> None:
    """Without later work there is nothing to report."""
    done("phase", "start")
    done("rollback", "version:2")
    done("note", "seen")
    assert done("undo").err == ""


def test_undoing_a_decision_names_what_followed_it(sprint: Path, done: Run) -> None:
    """Undoing a decision discards later work; its own append is not later work."""
    done("queue", "add", "A bug", "--priority", "low", "--type", "bug")
    done("queue", "approve", "req-1", "--reasoning", "x")
    assert done("undo").err == ""
    done("redo")
    done("phase", "start")
    done("phase", "complete")
    assert "2 later events are also discarded" in done("undo").err


def test_what_is_taken_back_is_named(sprint: Path, done: Run) -> None:
    """An undo and a redo print which event they reverse, and its time."""
    when = "2026-02-01T10:00:00Z"
    done("phase", "start")
    done("phase", "skip", "review", "--reason", "late", "--at", when)
    assert done("undo").out.splitlines()[1] == f"undid: phase-skipped review, of {when}"
    assert done("redo").out.splitlines()[1].startswith("undid: rolled-back 3, of ")
    assert "took back" not in done("rollback", "version:2").out
