"""Wrapped commands during other events in the log."""

import json
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import needs

from .conftest import Events, Wrap
from .terminals import SPRINTLOG

pytestmark = pytest.mark.long

INNER = shlex.join([*SPRINTLOG, "wrap", "--", "echo", "inner"])


def test_within_run(events: Events, sprintlog: Callable[..., str]) -> None:
    """A command wrapped inside a loop belongs to the loop's current iteration."""
    sprintlog("init", "--here")
    sprintlog("sprint", "create", "s", "--goal", "g")
    sprintlog("run", "--", "sh", "-c", f"{INNER}; echo RALPH_COMPLETE")
    ran = [e["data"] for e in events("agent-ran")]
    assert [one["iteration"] for one in ran] == [1, 1]
    assert ran[0]["command"] == "echo inner"
    assert len(events("iteration-started")) == len(events("iteration-ended")) == 1


@pytest.mark.parametrize("said", ["", "ticket-7", "x" * 200, "odd\n"])
def test_a_session_within_is_linked_to_its_iteration(
    wrap: Wrap, events: Events, sprintlog: Callable[..., str], said: str
) -> None:
    """Iteration and session share a correlation id: the given one, if it is valid."""
    hooked = json.dumps({"session_id": "s", "hook_event_name": "SessionStart"})
    script = f"printf '%s' '{hooked}' | \"{sys.executable}\" -m sprintlog.cli hook claude"
    wrap("--", "true")
    wrap("--", "sh", "-c", script, SPRINTLOG_CORRELATION=said)
    events()
    told = [json.loads(x) for x in sprintlog("log", "--all", "--json").splitlines()]
    last = {event["type"]: event["correlation_id"] for event in told}
    ids = {last[x] for x in ("iteration-started", "agent-ran", "session-started")}
    assert len(ids) == 1
    assert None not in ids
    assert (ids == {said}) == (said == "ticket-7")


def test_within_another_one_at_once(wrap: Wrap, events: Events, tmp_path: Path) -> None:
    """A nested command finds its iteration, however early it starts."""
    (tmp_path / "twice").write_text(INNER)
    again = shlex.join([*SPRINTLOG, "wrap", "--", "sh", "twice"])
    done = wrap("--sprint", "night", "--", "sh", "-c", again)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"inner\n", b"")
    assert [e["data"]["iteration"] for e in events("agent-ran")] == [1, 1, 1]
    assert {e["stream"] for e in events()} == {"sprint/night"}
    assert len(events("iteration-started")) == len(events("iteration-ended")) == 1


def test_two_at_once_with_others_within(
    events: Events, tmp_path: Path, clean: dict[str, str]
) -> None:
    """Of two concurrent commands, each contains its own wrapped commands."""
    words = [*SPRINTLOG, "wrap", "--", "sh", "-c"]
    both = [
        subprocess.Popen(
            [*words, f"{INNER} {letter}"], cwd=tmp_path, env=clean, stdout=subprocess.PIPE
        )
        for letter in "ab"
    ]
    for letter, one in zip("ab", both, strict=True):
        assert one.communicate()[0] == f"inner {letter}\n".encode()
    ran = [e["data"] for e in events("agent-ran")]
    for letter in "ab":
        assert len({one["iteration"] for one in ran if one["command"][-1] == letter}) == 1
    assert sorted(one["iteration"] for one in ran) == [1, 1, 2, 2]


def test_a_rollback_amid_it(
    wrap: Wrap, events: Events, sprintlog: Callable[..., str], tmp_path: Path
) -> None:
    """An iteration that a rollback discards while it runs ends nevertheless."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for number in (1, 2):
        wrap("--snapshot", "--", "sh", "-c", f"echo {number} >made")
    back = shlex.join([*SPRINTLOG, "rollback", "iter:1", "--yes", "--force"])
    done = wrap("--snapshot", "--", "sh", "-c", f"sleep 0.5; {back}; cat made")
    assert done.returncode == 0
    assert done.stdout.endswith(b"1\n")
    wrap("--", "true")
    assert [e["data"]["number"] for e in events("iteration-ended")] == [1, 2, 3, 4]
    sprintlog("verify")


def test_a_log_that_is_locked(wrap: Wrap, events: Events, tmp_path: Path) -> None:
    """While the log is locked, the command runs and ends; it is recorded later."""
    wrap("--", "true")
    log = sqlite3.connect(tmp_path / ".sprintlog" / "log.db", isolation_level=None)
    log.execute("BEGIN IMMEDIATE")
    done = wrap("--", "sh", "-c", "echo fine; exit 4")
    log.execute("ROLLBACK")
    log.close()
    assert (done.returncode, done.stdout, done.stderr) == (4, b"fine\n", b"")
    assert events("agent-ran")[1]["data"]["exit_code"] == 4


def test_no_log_can_be_made(wrap: Wrap, tmp_path: Path) -> None:
    """If no log can be created a line reports it, and the command runs."""
    (tmp_path / ".sprintlog").write_text("a file")
    done = wrap("--", "sh", "-c", "echo fine; exit 4")
    assert (done.returncode, done.stdout) == (4, b"fine\n")
    assert done.stderr.startswith(b"sprintlog: not recorded: ")
    assert done.stderr.count(b"\n") == 1


@needs.an_ordinary_user
def test_a_log_that_is_only_read(wrap: Wrap, tmp_path: Path) -> None:
    """A read-only log is unchanged, and the command runs."""
    wrap("--", "true")
    folder = tmp_path / ".sprintlog"
    for path in (*folder.iterdir(), folder):
        path.chmod(0o500 if path.is_dir() else 0o400)
    done = wrap("--", "sh", "-c", "echo fine; exit 4")
    folder.chmod(0o700)
    assert (done.returncode, done.stdout) == (4, b"fine\n")
    assert done.stderr.startswith(b"sprintlog: not recorded: ")


def test_who_records_cannot_be_imported(wrap: Wrap, tmp_path: Path) -> None:
    """A broken installation is one line, and does not affect the command."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "msgspec.py").write_text("raise ImportError('this one is broken')")
    done = wrap("--", "sh", "-c", "echo fine; exit 4", PYTHONPATH=str(broken))
    assert (done.returncode, done.stdout) == (4, b"fine\n")
    assert done.stderr == b"sprintlog: not recorded: ImportError: this one is broken\n"


def test_off_in_a_file(wrap: Wrap, tmp_path: Path) -> None:
    """If the work tree's settings say so, nothing is recorded or printed."""
    (tmp_path / "sprintlog.toml").write_text("[record]\noff = true\n")
    done = wrap("--", "sh", "-c", "head -c 3000000 /dev/zero; exit 5")
    assert (done.returncode, len(done.stdout), done.stderr) == (5, 3_000_000, b"")
    assert not (tmp_path / ".sprintlog").exists()


def test_two_work_trees(tmp_path: Path, clean: dict[str, str]) -> None:
    """Two work trees of a repository record into one log, each with its own state file."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    one, other = tmp_path / "one", tmp_path / "other"
    subprocess.run([*git, "init", "-q", one], check=True)
    subprocess.run([*git, "-C", one, "commit", "-qm", "c", "--allow-empty"], check=True)
    subprocess.run([*git, "-C", one, "worktree", "add", "-q", other], check=True)
    for folder, name in ((one, "first"), (other, "second")):
        words = [*SPRINTLOG, "wrap", "--state-files", "--sprint", name, "--", "echo", name]
        done = subprocess.run(words, cwd=folder, env=clean, check=True, capture_output=True)
        assert (done.stdout, done.stderr) == (f"{name}\n".encode(), b"")
        assert "current-iteration: 1" in (folder / "PROGRESS.yaml").read_text()
    told = subprocess.run(
        [*SPRINTLOG, "log", "--all", "--json", "--type", "iteration-ended"],
        cwd=other,
        env=clean,
        check=True,
        capture_output=True,
    )
    assert told.stdout.count(b"\n") == 2


def test_all_options_together(
    wrap: Wrap, events: Events, sprintlog: Callable[..., str], tmp_path: Path
) -> None:
    """Files, measurement, a named sprint and its state file can be combined."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    options = ["--snapshot", "--measure", "grep -q 1 made", "--sprint", "night"]
    for number in (1, 2):
        done = wrap(*options, "--state-files", "--", "sh", "-c", f"echo {number} >made")
        assert (done.returncode, done.stderr.count(b"\n")) == (0, number % 2)
    built = [e["data"]["metrics"]["build_status"] for e in events("iteration-measured")]
    assert built == ["success", "failed"]
    assert "current-iteration: 2" in (tmp_path / "PROGRESS.yaml").read_text()
    sprintlog("rollback", "iter:1", "--yes")
    assert (tmp_path / "made").read_text() == "1\n"
    assert wrap("--sprint", "night", "--", "true").stderr == b""
    assert [e["data"]["number"] for e in events("iteration-ended")] == [1, 2, 3]


def test_a_script_that_names_no_shell(wrap: Wrap, tmp_path: Path) -> None:
    """A script without a shebang line is run like a shell runs it."""
    script = tmp_path / "loop.sh"
    script.write_text("echo $1; exit 7\n")
    script.chmod(0o755)
    for environment in ({}, {"SPRINTLOG_OFF": "1"}):
        done = wrap("--", "./loop.sh", "fine", **environment)
        assert (done.returncode, done.stdout) == (7, b"fine\n")


def test_hostile_names_in_what_is_said(wrap: Wrap, tmp_path: Path) -> None:
    """Messages about the record cannot act on a terminal."""
    done = wrap("--sprint", "a\x1b[31mb", "--", "echo", "fine")
    assert (done.returncode, done.stdout) == (0, b"fine\n")
    assert b"not recorded" in done.stderr
    assert b"\x1b" not in done.stderr
