"""Gate runs in separate processes that overlap, are killed or interrupted."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ...conftest import Gated, Run, types

Begin = Callable[..., subprocess.Popen[bytes]]

WAITS = "echo $$ > shell; while [ ! -e go ]; do sleep 0.02; done"
"""A script that writes its process id, and continues on a signal."""


STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture
def begin(folder: Path) -> Iterator[Begin]:
    """Return a function that starts the gate, and waits for its script."""
    running: list[subprocess.Popen[bytes]] = []

    def call(*arguments: str) -> subprocess.Popen[bytes]:
        (folder / "shell").unlink(missing_ok=True)
        command = [sys.executable, "-m", "sprintlog.cli", "gate", "run", *arguments]
        pipe = subprocess.PIPE
        # A signal that is ignored here would also be ignored in the child.
        kept = {n: signal.signal(n, signal.SIG_DFL) for n in STOPS}
        running.append(subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe))
        for number, before in kept.items():
            signal.signal(number, before)
        wait_for(lambda: has_text(folder / "shell"))
        return running[-1]

    yield call
    for one in running:
        one.kill()
        one.communicate()


def wait_for(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, for at most a minute."""
    until = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def has_text(path: Path) -> bool:
    """Return whether a file exists and is not empty."""
    return path.exists() and path.read_text() != ""


def is_gone(folder: Path) -> bool:
    """Return whether the shell of the gate's script has ended."""
    try:
        os.kill(int((folder / "shell").read_text()), 0)
    except ProcessLookupError:
        return True
    return False


def test_is_on_the_disk_before_the_script(
    gated: Gated, begin: Begin, done: Run, folder: Path
) -> None:
    """The start is recorded before the script starts, and no lock is held during it."""
    gated(WAITS)
    one = begin()
    assert types(done) == ["gate-started"]
    assert "status: running" in (folder / "PROGRESS.yaml").read_text()
    done("note", "the log is free")
    (folder / "go").touch()
    assert one.wait() == 0
    assert types(done) == ["gate-started", "note-added", "gate-checked"]


def test_lets_the_script_record(gated: Gated, done: Run) -> None:
    """A gate's script may itself record in the log."""
    gated(f"'{sys.executable}' -m sprintlog.cli note hello")
    done("gate", "run")
    assert types(done) == ["gate-started", "note-added", "gate-checked"]


def test_refuses_a_second_run(gated: Gated, begin: Begin, run: Run, folder: Path) -> None:
    """While one process runs a gate another is refused, naming the first one."""
    gated(WAITS)
    one = begin()
    result = run("gate", "run", "--json")
    assert result.code == 1
    assert f'"pid":{one.pid}' in result.err
    assert run("gate", "record", "--exit-code", "0").code == 1
    (folder / "go").touch()
    assert one.wait() == 0


def test_lets_one_of_many_run(gated: Gated, folder: Path, done: Run) -> None:
    """Of several simultaneous runs, only one runs the script."""
    gated("echo ran >> runs; sleep 1")
    command = [sys.executable, "-m", "sprintlog.cli", "gate", "run"]
    many = [
        subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(4)
    ]
    assert sorted(one.wait() for one in many) == [0, 1, 1, 1]
    assert (folder / "runs").read_text() == "ran\n"
    assert types(done) == ["gate-started", "gate-checked"]


def test_notices_a_killed_run(
    gated: Gated, begin: Begin, run: Run, done: Run, folder: Path
) -> None:
    """A run that was killed is shown, recorded by the next one, and costs no retry."""
    gated(WAITS, retries=0)
    one = begin()
    one.kill()
    one.wait()
    wait_for(lambda: is_gone(folder))
    shown = done("status").out
    assert f"was being run by process {one.pid}, which is gone" in shown
    assert types(done) == ["gate-started"]
    (folder / "go").touch()
    assert done("gate", "run", "--json").json["attempt"] == 1
    assert types(done) == [
        "gate-started",
        "gate-interrupted",
        "gate-started",
        "gate-checked",
    ]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", STOPS)
def test_is_cut_short_by_a_signal(
    gated: Gated, begin: Begin, run: Run, done: Run, folder: Path, number: signal.Signals
) -> None:
    """A signal ends the script, which is recorded, and shown in the state file."""
    gated(WAITS)
    one = begin()
    one.send_signal(number)
    assert one.wait() == 128 + number
    assert is_gone(folder)
    assert types(done) == ["gate-started", "gate-interrupted"]
    assert "status: running" not in (folder / "PROGRESS.yaml").read_text()
    assert run("rebuild", "--check").code == 0
    assert "gate pending" in done("status").out


def test_counts_its_result_in_a_pause(
    gated: Gated, begin: Begin, run: Run, done: Run, folder: Path
) -> None:
    """A sprint paused while its gate runs stays paused, and the verdict is recorded."""
    gated(WAITS)
    one = begin()
    done("sprint", "pause")
    (folder / "go").touch()
    assert one.wait() == 0
    assert types(done) == ["gate-started", "sprint-paused", "gate-checked"]
    assert run("rebuild", "--check").code == 0
    assert done("status", "--json").json["status"] == "paused"
    done("sprint", "resume")
    assert done("next", "--json").json["phase"] == "ship"


def test_forgets_a_run_that_was_rolled_back(
    gated: Gated, begin: Begin, done: Run, folder: Path
) -> None:
    """A result is too late once its start was discarded."""
    gated(WAITS)
    one = begin()
    done("rollback", "version:4")
    (folder / "go").touch()
    _, err = one.communicate()
    assert one.returncode == 1
    assert b"was discarded" in err
    assert types(done) == ["gate-started", "rolled-back"]


def test_runs_where_the_sprint_works(gated: Gated, run: Run, folder: Path) -> None:
    """In another work tree the script would check other files, so it is refused."""
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com"]
    subprocess.run([*git, "init", "-q", "."], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    gated("true")
    subprocess.run([*git, "worktree", "add", "-q", "other"], check=True)
    os.chdir(folder / "other")
    result = run("gate", "run", "--sprint", "auth")
    assert result.code == 1
    assert f"sprint auth works in {folder}, " in result.err
