"""A run with snapshots waits until the earlier files are saved."""

import io
import json
import os
import shlex
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sprintlog.cli.wrapping import frames, start
from sprintlog.cli.wrapping.frames import HeldCommand, WrapRequest, result
from sprintlog.cli.wrapping.recorder import record
from sprintlog.projections.workspace import Workspace
from tests.adapters.trees import git

from .conftest import Events, Wrap
from .terminals import SPRINTLOG


def test_files_are_kept_before_the_first_run_of_all(
    wrap: Wrap, events: Events, sprintlog: Callable[..., str], tmp_path: Path
) -> None:
    """Changes in the first run are detected, too; later runs compare with the last end."""
    (tmp_path / "there").write_text("before\n")
    for name in ("one", "two"):
        assert wrap("--snapshot", "--", "touch", name).returncode == 0
    taken = [event["data"] for event in events("snapshot-taken")]
    assert [(one["iteration"], one["files"]) for one in taken] == [(0, 1), (1, 2), (2, 3)]
    for number, name in ((1, "one"), (2, "two")):
        changed = json.loads(sprintlog("iteration", "diff", str(number), "--json"))
        assert [one["path"] for one in changed["files"]] == [name]


def test_files_that_no_measure_uses_were_there_before(
    wrap: Wrap, sprintlog: Callable[..., str], tmp_path: Path
) -> None:
    """A snapshot of the measuring script alone does not make other files look added."""
    (tmp_path / "there").write_text("before\n")
    (tmp_path / "test.sh").write_text("echo 1/2\n")
    assert (
        wrap("--snapshot", "--measure", "sh test.sh", "--", "touch", "one").returncode == 0
    )
    changed = json.loads(sprintlog("iteration", "diff", "1", "--json"))
    assert [one["path"] for one in changed["files"]] == ["one"]
    assert changed["outside"]["files"] == []


def test_a_command_that_started_without_them_is_no_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that were not kept in time are reported, and are no state before the run."""
    for name in [n for n in os.environ if n.startswith(("GIT_", "SPRINTLOG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    waits, ends = os.pipe()
    told: list[str] = []
    record(
        WrapRequest(("true",), snapshot=True),
        io.BytesIO(result(0, 5)),
        told.append,
        key="k",
        began=1_700_000_000_000,
        before=lambda: None,
        waiting=HeldCommand(ends, 0.0),
    )
    assert os.read(waits, 1) == b""
    os.close(waits)
    (line,) = told
    assert line.startswith(
        "the files before this run were not saved: saving took too long; "
    )
    with Workspace.open(tmp_path) as workspace:
        types = [event.type for event in workspace.events(*workspace.sprints())]
    assert types == [
        *("sprint-compiled", "sprint-started", "iteration-started", "agent-ran"),
        *("iteration-ended", "snapshot-taken"),
    ]


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_command_waits_as_long_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], is_terminal: bool
) -> None:
    """Only a terminal shows that saving is slow; every command waits for it."""
    seconds: list[float] = []

    def wait_for(number: int, event: int, limit: float) -> bool:
        seconds.append(limit)
        return False

    monkeypatch.setattr(start, "wait_for", wait_for)
    monkeypatch.setattr(os, "isatty", lambda number: is_terminal)
    waits, ends = os.pipe()
    start.Recorder(None, 0, waits).wait_for_files()
    os.close(ends)
    assert sum(seconds) == start.BEFORE_SECONDS
    assert ("saving the files" in capfd.readouterr().err) == is_terminal


def test_what_was_kept_and_measured_too_late_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the wait was given up, later changes may be included, which is reported."""
    for name in [n for n in os.environ if n.startswith(("GIT_", "SPRINTLOG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(frames, "FILES_SECONDS", -1_000.0)
    monkeypatch.chdir(tmp_path)
    told: list[str] = []
    record(
        WrapRequest(("true",), snapshot=True, measure="echo 3/4"),
        io.BytesIO(result(0, 5)),
        told.append,
        key="k",
        began=1_700_000_000_000,
        before=lambda: None,
    )
    late = "it took too long: others may have changed the files"
    assert told == [
        "the files were not saved: saving took too long",
        f"iteration 1 could not be measured: {late}",
    ]
    with Workspace.open(tmp_path) as workspace:
        types = [event.type for event in workspace.events(*workspace.sprints())]
    assert types[-2:] == ["iteration-ended", "measurement-failed"]


def test_what_a_person_commits_between_two_runs_is_not_the_agents(
    wrap: Wrap, sprintlog: Callable[..., str], tmp_path: Path
) -> None:
    """A line committed between two wrapped runs is outside of both, with its commit."""
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "begin")
    assert wrap("--snapshot", "--", "sh", "-c", "echo a > a.txt").returncode == 0
    (tmp_path / "h.txt").write_text("human\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "mine")
    assert wrap("--snapshot", "--", "touch", "b").returncode == 0
    found = json.loads(sprintlog("why", "h.txt:1", "--json"))
    assert (found["written_by"], found["committed"]["subject"]) == ("outside", "mine")
    changed = json.loads(sprintlog("iteration", "diff", "2", "--json"))
    assert [one["path"] for one in changed["files"]] == ["b"]
    assert [one["path"] for one in changed["outside"]["files"]] == ["h.txt"]
    assert [one["subject"] for one in changed["outside"]["commits"]] == ["mine"]


def test_runs_at_the_same_time_mark_each_other(
    wrap: Wrap, sprintlog: Callable[..., str], tmp_path: Path
) -> None:
    """Changes during two overlapping runs in one folder may belong to either."""
    inner = shlex.join([*SPRINTLOG, "wrap", "--snapshot", "--", "touch", "in"])
    outer = f"echo 1 > a; env -u SPRINTLOG_WITHIN {inner}; echo 2 >> a"
    assert wrap("--snapshot", "--", "sh", "-c", outer).returncode == 0
    who = [
        json.loads(sprintlog("why", place, "--json"))["iterations"]
        for place in ("a:1", "a:2")
    ]
    assert who == [["1"], ["1"]]
    found = json.loads(sprintlog("iteration", "diff", "2", "--json"))
    assert [(one["path"], one["by"]) for one in found["files"]] == [("in", "one-of")]
    assert found["overlapping"] == ["1"]


def test_a_run_goes_on_after_another_one_has_begun_and_ended(
    wrap: Wrap, sprintlog: Callable[..., str], tmp_path: Path
) -> None:
    """Later lines may be its own while it runs, and are its own once the other ended."""
    inner = shlex.join([*SPRINTLOG, "wrap", "--snapshot", "--", "touch", "in"])
    ask = shlex.join([*SPRINTLOG, "why", "a:2", "--json"])
    outer = f"echo 1 > a; env -u SPRINTLOG_WITHIN {inner}; echo 2 >> a; {ask}"
    told = wrap("--snapshot", "--", "sh", "-c", outer).stdout
    assert wrap("--snapshot", "--", "touch", "b").returncode == 0
    both = json.loads(told), json.loads(sprintlog("why", "a:2", "--json"))
    assert [one["iterations"] for one in both] == [["1"], ["1"]]
    assert [one["written_by"] for one in both] == ["agent-or-outside", "agent"]
    started = sprintlog("log", "--type", "iteration-started", "--json").splitlines()
    names = [json.loads(line)["data"].get("overlapping") for line in started]
    assert names == [None, ["1"], None]


def test_files_and_measurement(wrap: Wrap, events: Events, tmp_path: Path) -> None:
    """--snapshot saves the files, --measure a result; an exit status alone is reported."""
    git(tmp_path, "init", "-q")
    done = wrap("--snapshot", "--measure", "test -f made", "--", "touch", "made")
    assert (done.returncode, done.stderr.count(b"\n")) == (0, 1)
    assert b"test -f made: no figures such as 9/10 in the last line" in done.stderr
    assert [e["data"]["files"] for e in events("snapshot-taken")] == [0, 1]
    assert events("iteration-measured")[0]["data"]["metrics"] == {"build_status": "success"}


def test_a_running_measure_is_shown_and_protected(wrap: Wrap, tmp_path: Path) -> None:
    """While an ended iteration is measured, `status` states it and rollbacks wait."""
    git(tmp_path, "init", "-q")
    ours = shlex.join(SPRINTLOG)
    before = f"{ours} status > a; {ours} status --at iter:1 > c"
    measure = f"{before}; {ours} rollback iter:1 --files --yes 2> b; echo 1/1"
    wrap("--snapshot", "--measure", measure, "--", "touch", "made")
    assert "at work: the measure of iteration 1, since" in (tmp_path / "a").read_text()
    assert "the measure of" not in (tmp_path / "c").read_text()
    assert "an agent is working in this work tree" in (tmp_path / "b").read_text()


def test_changed_files_are_recorded(
    wrap: Wrap, events: Events, sprintlog: Callable[..., str], tmp_path: Path
) -> None:
    """The result is unknown if a run may have changed files before they were listed."""
    (tmp_path / "there").write_text("before\n")
    sprintlog("init", "--here")
    time.sleep(0.1)
    for script in ("sleep 3", "sleep 3; echo 2 > there", "rm there; sleep 3"):
        assert wrap("--", "sh", "-c", script).returncode == 0
    found = [event["data"].get("changed_files") for event in events("agent-ran")]
    assert found == [False, True, None]
