"""`fork`, `undo` and `redo` through the command line."""

from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.engine.service import fork as forking
from sprintlog.projections.state_files.yaml.reader import load


@pytest.fixture
def worked(sprint: Path, done: Any) -> Path:
    """Return a folder whose sprint advanced, was rolled back, and advanced again."""
    done("iteration", "start")
    done("phase", "start", "--actor", "agent:coder")
    done("phase", "complete", "--summary", "first")
    done("note", "learned")
    done("rollback", "version:3")
    done("phase", "start")
    return sprint


def read(file: Path) -> Any:
    """Return a state file as data."""
    return load(file.read_bytes())


def test_a_fork_goes_its_own_way(worked: Path, done: Any) -> None:
    """The new sprint has a separate file and continues; the old one is unchanged."""
    before = (worked / "PROGRESS.yaml").read_bytes()
    answer = done("fork", "again", "--from", "version:6", "--reason", "why not", "--json")
    assert answer.json["stream"] == "sprint/again"
    assert [event["type"] for event in answer.json["events"]] == ["fork-created"]
    shown = done("show", "progress", "--sprint", "auth", "--at", "version:6", "--json").json
    assert read(worked / "again" / "PROGRESS.yaml") == {**shown, "sprint-id": "again"}
    done("phase", "start", "--sprint", "again")
    assert (worked / "PROGRESS.yaml").read_bytes() == before
    assert done("verify", "--json").json["sound"]


def test_a_fork_holds_all_that_was(worked: Path, done: Any) -> None:
    """Every event is copied, with its version, time and actor; numbers continue."""
    done("fork", "again", "--from", "version:8")
    old = done("log", "--sprint", "auth", "--json").lines
    *copies, last = done("log", "--sprint", "again", "--json").lines
    for event, source in zip(copies, old, strict=True):
        assert event["causation_id"] == source["id"]
        for field in ("version", "type", "at", "actor", "observed"):
            assert event[field] == source[field]
    assert last["data"] == {"source": "sprint/auth", "version": 8, "hash": old[7]["hash"]}
    assert done("iteration", "start", "--sprint", "again", "--json").json["version"]
    (started,) = done(
        "log", "--sprint", "again", "--type", "iteration-started", "--last", "1", "--json"
    ).lines
    assert started["data"]["number"] == 2


def test_where_the_file_of_a_fork_is(worked: Path, done: Any, run: Any) -> None:
    """Its file is next to the old one's folder or in --sprint-dir, never over a file."""
    done("fork", "one", "--from", "start", "--sprint-dir", "deep/er")
    assert (worked / "deep" / "er" / "PROGRESS.yaml").exists()
    done("fork", "two", "--from", "version:2", "--sprint", "one")
    assert (worked / "deep" / "two" / "PROGRESS.yaml").exists()
    (worked / "three").mkdir()
    (worked / "three" / "PROGRESS.yaml").write_text("mine: 1\n")
    result = run("fork", "three", "--from", "start", "--sprint", "auth")
    assert (result.code, "already exists" in result.err) == (1, True)
    assert run("fork", "four", "--from", "start", "--sprint", "auth", "--sprint-dir", "."
               ).code == 1  # fmt: skip


@pytest.mark.parametrize(
    ("name", "point", "code"),
    [
        ("auth", "version:3", 1),
        ("a/b", "version:3", 1),
        ("..", "version:3", 1),
        ("new", "version:99", 3),
        ("new", "iter:7", 3),
        ("new", "never", 1),
    ],
)
def test_refuses_what_cannot_be(
    worked: Path, run: Any, name: str, point: str, code: int
) -> None:
    """A used or invalid name, and a point that does not exist, are refused."""
    assert run("fork", name, "--from", point, "--sprint", "auth").code == code


def test_never_forks_inside_an_append(sprint: Path, done: Any, run: Any) -> None:
    """Events of one append are copied together."""
    done("phase", "start")
    done("phase", "fail", "--error", "x")
    result = run("fork", "new", "--from", "version:4")
    assert (result.code, "inside an atomic append" in result.err) == (1, True)


def measured(done: Any, passed: int) -> None:
    """Record an iteration with its files and a number of passed tests out of ten."""
    done("iteration", "start")
    metrics = ("--metric", "test_count=10", "--metric", f"tests_passed={passed}")
    done("iteration", "end", "--snapshot", *metrics)


def test_a_fork_goes_back_to_every_point_of_its_origin(sprint: Path, done: Any) -> None:
    """Rollbacks in a fork, and in a fork of it, reach the points before it was made."""
    for passed in (8, 9, 5):
        measured(done, passed)
    done("fork", "again", "--from", "iter:3")
    done("fork", "further", "--from", "iter:3", "--sprint", "again")
    for name in ("again", "further"):
        for point in ("best", "iter:1", "start"):
            wanted = done(
                "show", "progress", "--sprint", name, "--at", point, "--json"
            ).json
            done("rollback", point, "--sprint", name, "--plan")
            shown = done("show", "progress", "--sprint", name, "--json").json
            assert shown == wanted
            done("undo", "--sprint", name)


def test_a_loop_in_a_fork_goes_back_by_itself(sprint: Path, done: Any, run: Any) -> None:
    """After a regression a loop in a fork returns to an iteration of the origin."""
    (sprint / "score").write_text("9/10")
    measured(done, 9)
    done("fork", "again", "--from", "iter:1")
    loop = ("--rest", "0", "--on-regression", "rollback", "--measure", "cat score")
    agent = "cat > prompt; echo 2/10 > score; echo did it"
    result = run("run", "--sprint", "again", "--budget-iterations", "1", *loop, "--",
                 "sh", "-c", agent)  # fmt: skip
    assert (result.code, (sprint / "score").read_text()) == (20, "9/10")
    assert done("log", "--sprint", "again", "--type", "rolled-back", "--json").lines


def test_a_broken_fork_goes_on(
    worked: Path, done: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fork of several appends, killed in between, is finished by the same command."""
    fork = ["fork", "again", "--from", "version:8", "--sprint", "auth", "--json"]
    monkeypatch.setattr(forking, "APPEND_EVENTS_MAX", 2)
    with monkeypatch.context() as patched:
        append, calls = SqliteLog.append, iter(range(9))

        def breaks(*given: Any, **named: Any) -> Any:
            if next(calls) == 2:
                raise RefusedError("the disk is full")
            return append(*given, **named)

        patched.setattr(SqliteLog, "append", breaks)
        assert run(*fork).code == 1
    assert len(done("log", "--sprint", "again", "--json").lines) == 4
    assert len(done(*fork).json["events"]) == 1
    assert len(done("log", "--sprint", "again", "--json").lines) == 9
    assert done(*fork).json["events"] == []
    assert run("fork", "again", "--from", "version:7", "--sprint", "auth").code == 1


def test_undoes_the_latest_decision(worked: Path, done: Any, run: Any) -> None:
    """The last decision of a person is undone before an older rollback, and redone."""
    done("phase", "skip", "build/login/check", "--reason", "x", "--actor", "operator:ana")
    done("note", "later")
    before = (worked / "PROGRESS.yaml").read_bytes()
    done("undo", "--reason", "no")
    state = read(worked / "PROGRESS.yaml")
    assert state["phases"][1]["steps"][0]["phases"][1]["status"] == "pending"
    (event,) = done("log", "--last", "1", "--json").lines
    assert event["data"] == {"to": 8, "reason": "no", "undoes": 9}
    done("redo")
    assert (worked / "PROGRESS.yaml").read_bytes() == before
    done("undo")
    answer = done("undo", "--json").json
    assert (answer["from"], answer["to"], answer["undo"]) == (13, 6, "sprintlog redo")
    result = run("undo")
    assert (result.code, "nothing to undo" in result.err) == (1, True)
