"""`uninstall` shows its plan, asks, and needs two confirmations to remove a log."""

import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import Run

HOLD = """
import fcntl, sys
held = open(sys.argv[1], "a+")
fcntl.flock(held, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def home(sprint: Path, monkeypatch: pytest.MonkeyPatch, done: Run) -> Path:
    """Return a home with our completion script, a foreign one, and a start-up file."""
    home = sprint / "home"
    for name in (".zfunc/_sprintlog", ".config/fish/completions/sprintlog.fish"):
        (home / name).parent.mkdir(parents=True)
    (home / ".zfunc/_sprintlog").write_text(done("completion", "zsh").out)
    (home / ".config/fish/completions/sprintlog.fish").write_text("echo mine\n")
    (home / ".bashrc").write_text('ls\neval "$(sprintlog completion bash)"\n')
    monkeypatch.setenv("HOME", str(home))
    return home


def test_a_dry_run_shows_and_changes_nothing(home: Path, done: Run) -> None:
    """The plan lists the log with its size; nothing is removed."""
    told = done("uninstall", "--dry-run")
    assert "_sprintlog" in told.out
    assert "log: " in told.out
    assert f"{home / '.bashrc'}:2 is not managed by sprintlog" in told.err
    assert (home / ".zfunc/_sprintlog").exists()


def test_where_nobody_can_be_asked_nothing_goes(home: Path, run: Run) -> None:
    """Without a terminal the flags are needed; the log needs two."""
    assert run("uninstall").code == 1
    assert run("uninstall", "--and-log").code == 2
    assert (home / ".zfunc/_sprintlog").exists()


def test_it_removes_what_is_ours_and_leaves_the_log(home: Path, done: Run) -> None:
    """Third-party scripts, start files and the log stay."""
    (home.parent / "sprintlog.toml").write_text('[agent]\ncommand = ["true"]\n')
    done("config", "--trust")
    done("uninstall", "--yes")
    assert not (home / ".zfunc/_sprintlog").exists()
    assert (home / ".config/fish/completions/sprintlog.fish").exists()
    assert not done("config", "--json").json["trusted"]
    assert done("status").out


def test_the_log_goes_on_two_words(home: Path, done: Run, run: Run) -> None:
    """State files stay, and so does everything not created by sprintlog."""
    folder = home.parent / ".sprintlog"
    (folder / "mine.txt").write_text("x")
    told = done("uninstall", "--yes", "--and-log")
    assert "mine.txt was not created by sprintlog" in told.err
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]
    assert (home.parent / "PROGRESS.yaml").exists()
    assert run("status").code == 3


def test_a_log_that_somebody_works_with_stays(home: Path, done: Run, run: Run) -> None:
    """A held lock is named with its process, and nothing of the log is removed."""
    lock = home.parent / ".sprintlog" / "run-1.lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, lock],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        refused = run("uninstall", "--yes", "--and-log")
        assert (refused.code, f"process {holder.pid}" in refused.err) == (5, True)
        assert done("verify").code == 0
        holder.communicate()
    done("uninstall", "--yes", "--and-log")
    assert not lock.parent.exists()
