"""Snapshots taken, compared and pruned by commands."""

import json
import os
from pathlib import Path

import pytest

from sprintlog.cli import output
from sprintlog.engine.service.work_tree import restore

from ..conftest import Run


@pytest.fixture
def tree(sprint: Path, done: Run) -> Path:
    """Provide a work tree with two iterations, each with its snapshot."""
    done("iteration", "snapshot")
    (sprint / "src").mkdir()
    (sprint / "src/a").write_text("one\n")
    (sprint / "b").write_text("one\n")
    done("iteration", "start")
    done("iteration", "snapshot")
    done("iteration", "start")
    (sprint / "src/a").write_text("two\n")
    (sprint / "b").chmod(0o755)
    (sprint / "new").write_text("new\n")
    done("iteration", "snapshot")
    return sprint


def test_snapshot_says_what_it_holds(sprint: Path, done: Run) -> None:
    """The answer has the event's position, the snapshot, its size, and omitted paths."""
    os.mkfifo(sprint / "pipe")
    (sprint / "Readme").touch()
    (sprint / "README").touch()
    answer = done("iteration", "snapshot", "--json").json
    assert answer["type"] == "snapshot-taken"
    assert (answer["files"], len(answer["snapshot"])) == (3, 40)
    assert answer["left_out"] == [
        {"path": "pipe", "reason": "neither file, link nor folder"}
    ]
    assert answer["collisions"] == [["README", "Readme"]]
    said = done("iteration", "snapshot").out
    assert "skipped: pipe: neither file" in said
    assert "differ only in case: README, Readme" in said


def test_snapshot_is_recorded_once_under_its_key(sprint: Path, done: Run) -> None:
    """A repeated key returns the first snapshot and takes no other."""
    first = done("iteration", "snapshot", "--key", "k", "--json").json
    (sprint / "more").touch()
    again = done("iteration", "snapshot", "--key", "k", "--json").json
    assert again == {**{n: first[n] for n in again if n != "duplicate"}, "duplicate": True}
    assert "already recorded" in done("iteration", "snapshot", "--key", "k").out
    events = done("log", "--type", "snapshot-taken", "--json").lines
    assert [json.loads(json.dumps(e["data"]))["files"] for e in events] == [1]


def test_ignored_files_are_taken_when_asked_for(sprint: Path, done: Run) -> None:
    """Patterns add ignored files; large ones can be omitted."""
    (sprint / ".gitignore").write_text(".env\n")
    (sprint / ".env").write_text("x")
    without = done("iteration", "snapshot", "--json").json["files"]
    answer = done("iteration", "snapshot", "--include-ignored", ".env", "--json").json
    assert answer["files"] == without + 1
    (sprint / "large").write_bytes(b"x" * (1024 * 1024 + 1))
    said = done("iteration", "snapshot", "--file-max", "1").out
    assert "skipped: large: larger than 1048576 bytes" in said


def test_iteration_ends_with_its_snapshot(sprint: Path, done: Run) -> None:
    """`iteration end --snapshot` records both in one append; repeated, nothing."""
    done("iteration", "start")
    end = ("iteration", "end", "--snapshot", "--summary", "x")
    assert done(*end).err == "1 file kept\n"
    again = done(*end)
    assert ("nothing to record" in again.out, again.err) == (True, "")
    events = done("log", "--json").lines
    assert [e["type"] for e in events[-2:]] == ["iteration-ended", "snapshot-taken"]
    assert events[-2]["remaining"] == 1
    assert done("show", "iteration", "1", "--json").json["files"] == 1


def test_difference_of_two_iterations(tree: Path, done: Run) -> None:
    """Added, removed and changed files are listed, and lines on demand."""
    found = done("iteration", "diff", "iter:1", "iter:2", "--json").json["files"]
    assert {x["path"]: x["how"] for x in found} == {
        "src/a": "changed", "b": "mode", "new": "added",
    }  # fmt: skip
    back = done("iteration", "diff", "iter:2", "iter:1", "new", "--json").json["files"]
    assert back == [{"path": "new", "how": "removed"}]
    lines = done("iteration", "diff", "iter:1", "iter:2", "src", "--patch").out
    assert "-one\n+two\n" in lines
    assert "PROGRESS" not in lines
    as_json = done("iteration", "diff", "iter:1", "iter:2", "src", "--patch", "--json").json
    assert as_json["patch"] == lines
    assert done("iteration", "diff", "iter:1", "iter:1").out == "no file differs\n"


def test_compared_iterations_tell_their_files(tree: Path, done: Run) -> None:
    """`compare` lists the files that differ, if both snapshots exist."""
    for number in (1, 2):
        done("iteration", "measure", "--number", number, "--metric", "test_count=1")
    files = done("iteration compare", 1, 2, "--json").json["files"]
    assert {"path": "src/a", "how": "changed"} in files
    lines = done("iteration compare", 1, 2).out.splitlines()
    assert lines[-3:] == [f"{file['how'].ljust(7)}  {file['path']}" for file in files]
    assert done("iteration compare", 1, 1).out.endswith("\nno file differs\n")


def test_unknown_point_is_told(tree: Path, run: Run) -> None:
    """A point without a snapshot is not found; an invalid one is refused."""
    result = run("iteration", "diff", "iter:1", "iter:9")
    assert (result.code, "iteration 9 has no snapshot" in result.err) == (3, True)
    result = run("iteration", "diff", "iter:1", "yesterday")
    assert (result.code, "specify iter:N, start, best or snapshot:ID" in result.err) == (
        1,
        True,
    )


def test_files_of_an_iteration_are_listed(tree: Path, done: Run) -> None:
    """`show iteration` describes an iteration, and with `--files` its contents."""
    answer = done("show", "iteration", "2", "--files", "--json").json
    assert answer["iteration"] == 2
    assert answer["files"] == 4
    listed = {x["path"]: x["mode"] for x in answer["listing"]}
    assert listed["b"] == "100755"
    text = done("show", "iteration", "2", "--files").out
    assert "100755" in text
    assert "src/a" in text
    assert "listing" not in done("show", "iteration", "1", "--json").json


def test_an_iteration_is_shown_by_its_point(tree: Path, done: Run) -> None:
    """`show iter:N` is `show iteration N`, with the outcome if it is known."""
    done("iteration", "measure", "--number", "2", "--metric", "tests_passed=3")
    by_point = done("show", "iter:2")
    assert by_point.out == done("show", "iteration", "2").out
    assert by_point.out.startswith("iteration  class")
    assert "`sprintlog report 2`" in by_point.err


def test_a_dry_run_says_what_does_it(tree: Path, done: Run, run: Run) -> None:
    """Without a terminal, a dry run over files names the option for consent."""
    (tree / "b").write_text("other")
    shown = done("rollback", "iter:1", "--files", "--dry-run")
    assert "`--yes`" in shown.err
    assert run("rollback", "iter:1", "--files").code == 1
    assert done("rollback", "iter:1", "--files", "--yes").out
    again = done("rollback", "iter:1", "--files", "--dry-run")
    assert "`--yes`" not in again.err


def test_old_snapshots_are_let_go(tree: Path, done: Run, run: Run) -> None:
    """Pruning keeps the newest and the first; removed ones are listed and not found."""
    for number in range(3):
        (tree / "b").write_text(f"{number}\n")
        done("iteration", "start")
        done("iteration", "snapshot")
    answer = done("store prune", "--keep", "1", "--json").json
    assert len(answer["pruned"]) == 4
    assert answer["events"][0]["type"] == "snapshots-pruned"
    assert run("restore", "iter:2", "--apply").code == 3
    assert done("iteration", "diff", "iter:0", "iter:5").out
    assert "0 snapshots removed" in done("store prune", "--keep", "1").out


def test_fork_brings_no_files_back(
    tree: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupted restore belongs to its own sprint: a fork does not touch the files."""
    with monkeypatch.context() as patched:
        patched.setattr(restore, "_finish", lambda *_, **__: [])
        done("rollback", "iter:1", "--files", "--yes")
    last = done("log", "--json").lines[-1]
    assert last["type"] == "restore-started"
    done("fork", "other", "--from", f"version:{last['version']}")
    done("note", "next", "--sprint", "other")
    assert (tree / "src/a").read_text() == "two\n"
    done("note", "next", "--sprint", "auth")
    assert (tree / "src/a").read_text() == "one\n"


def test_missing_git_stops_nothing_else(
    sprint: Path, run: Run, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without git, a snapshot reports that git is required, and recording continues."""
    monkeypatch.setenv("PATH", str(sprint))
    result = run("iteration", "snapshot")
    assert (result.code, "snapshots need git" in result.err) == (1, True)
    assert "install git" in result.err
    done("phase", "start", "setup")
    done("verify")


def test_a_long_snapshot_or_restore_reports_that_it_goes_on(
    tree: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a second, here immediately, a line on a terminal states what takes so long."""
    assert done("iteration", "snapshot").err == ""
    monkeypatch.setattr(output, "shows_counting", lambda: True)
    monkeypatch.setattr(output, "LONG_SECONDS", 0.0)
    assert "saving the files" in done("iteration", "snapshot").err
    assert "restoring" in done("rollback", "iter:1", "--files", "--yes").err
