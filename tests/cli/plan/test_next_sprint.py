"""Requests deferred to the next sprint are taken over where it starts."""

from pathlib import Path
from typing import Any

import pytest

from sprintlog.projections import Workspace

WHY = ("--reasoning", "So")


@pytest.fixture
def waiting(sprint: Path, done: Any) -> Path:
    """Return a log whose sprint deferred two requests, and an unstarted sprint."""
    for name in ("one", "two"):
        words = ("--id", name, "--description", f"All of {name}", "--context", '{"n": 1}')
        done("queue", "add", name, *words, "--priority", "low", "--type", "docs",
             "--at", "2026-01-15T09:30:00Z")  # fmt: skip
        done("queue", "defer", name, *WHY, "--until", "next-sprint")
    create(done, "b")
    return sprint


def create(done: Any, *names: str) -> None:
    """Create sprints that have not started."""
    for name in names:
        done("sprint", "create", name, "--plan", "plan.yaml", "--sprint-dir", name)


def queue(done: Any, sprint: str) -> list[Any]:
    """Return the queue of a sprint."""
    found: list[Any] = done("queue", "list", "--sprint", sprint, "--json").json
    return found


def taken(done: Any, *sprints: str) -> list[tuple[str, Any]]:
    """Return the requests that each sprint took over, in order of the sprints."""
    return [(s, r["taken_over_from"]["request"]) for s in sprints for r in queue(done, s)]


def test_is_taken_over_with_its_origin(waiting: Path, done: Any) -> None:
    """It is pending in the new sprint, unchanged; here it stays deferred."""
    done("sprint", "start", "--sprint", "b")
    one, two = queue(done, "b")
    assert (one["id"], one["status"], two["id"]) == ("one", "pending", "two")
    assert one["taken_over_from"] == {"sprint": "auth", "request": "one"}
    assert one["created_at"] == "2026-01-15T09:30:00Z"
    assert (one["discovered_in"], one["context"]) == ("setup", {"n": 1})
    assert (one["title"], one["description"]) == ("one", "All of one")
    assert [request["status"] for request in queue(done, "auth")] == ["deferred"] * 2
    done("queue", "approve", "one", *WHY, "--sprint", "b")
    done("verify")


def test_is_taken_over_once(waiting: Path, done: Any) -> None:
    """Only the first sprint that starts takes it over, even if it starts again."""
    create(done, "c")
    done("sprint", "start", "--sprint", "b")
    done("sprint", "start", "--sprint", "c")
    done("rollback", "--sprint", "b", "version:1")
    done("sprint", "start", "--sprint", "b")
    assert taken(done, "b", "c") == [("b", "one"), ("b", "two")]


def test_goes_on_from_sprint_to_sprint(waiting: Path, done: Any) -> None:
    """A transferred request can be deferred again, and names its last source."""
    done("sprint", "start", "--sprint", "b")
    done("queue", "defer", "two", *WHY, "--until", "next-sprint", "--sprint", "b")
    create(done, "c")
    done("sprint", "start", "--sprint", "c")
    (request,) = queue(done, "c")
    assert request["taken_over_from"] == {"sprint": "b", "request": "two"}


def test_keeps_ids_apart(waiting: Path, done: Any) -> None:
    """If an id is in use, the request gets the next number."""
    done("queue", "add", "x", "--id", "one", "--priority", "low", "--type", "docs",
         "--sprint", "b")  # fmt: skip
    done("sprint", "start", "--sprint", "b")
    assert [r["id"] for r in queue(done, "b")] == ["one", "req-1", "two"]


@pytest.mark.parametrize(
    "start",
    [
        ["sprint", "start", "--expect", "1"],
        ["sprint", "start", "--key", "k"],
        ["append", "sprint-started"],
        ["append", "sprint-started", "--observed"],
    ],
)
def test_whoever_starts_takes_over(waiting: Path, done: Any, start: list[str]) -> None:
    """Every way to start a sprint takes them over, and returns only its own event."""
    assert "b: sprint-started  [" in done(*start, "--sprint", "b").out
    assert taken(done, "b") == [("b", "one"), ("b", "two")]


def test_a_loop_that_starts_takes_over(waiting: Path, run: Any, done: Any) -> None:
    """So does `run`, whatever happens to its agent."""
    run("run", "--sprint", "b", "--", "true")
    assert taken(done, "b") == [("b", "one"), ("b", "two")]


def test_who_expects_something_else_takes_nothing(
    waiting: Path, run: Any, done: Any
) -> None:
    """A start that is refused or comes too late changes no queue."""
    assert run("sprint", "start", "--sprint", "b", "--expect", "7").code == 5
    assert run("sprint", "complete", "--sprint", "b").code == 1
    assert run("sprint", "resume", "--sprint", "b").code == 1
    assert queue(done, "b") == []
    done("sprint", "start", "--sprint", "b")
    assert "nothing to record" in done("sprint", "start", "--sprint", "b").out


def test_state_files_show_it(waiting: Path, done: Any) -> None:
    """The new sprint's PROGRESS.yaml names the origin; nothing differs from the log."""
    done("sprint", "start", "--sprint", "b")
    assert "taken-over-from:" in (waiting / "b" / "PROGRESS.yaml").read_text()
    done("rebuild", "--check")
    with Workspace.open(waiting) as workspace:
        assert workspace.repository.from_nothing("b").queue == workspace.sprint("b").queue


def test_copies_in_a_fork_are_taken_over_once(waiting: Path, done: Any) -> None:
    """A fork has the same requests: whichever is read first, they are taken over once."""
    done("fork", "another", "--sprint", "auth", "--from", "version:6")
    done("queue", "add", "own", "--priority", "low", "--type", "docs", "--id", "own",
         "--sprint", "another")  # fmt: skip
    done("queue", "defer", "own", *WHY, "--until", "next-sprint", "--sprint", "another")
    done("sprint", "start", "--sprint", "b")
    create(done, "c")
    done("sprint", "start", "--sprint", "c")
    assert sorted(taken(done, "b", "c")) == [("b", "one"), ("b", "own"), ("b", "two")]
