"""`log`: which events it lists, and how."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

COMMAND = [sys.executable, "-m", "sprintlog.cli"]


@pytest.fixture
def history(sprint: Path, done: Any) -> Path:
    """Return a folder whose sprint had two iterations, one event per minute."""
    steps: Sequence[Sequence[str]] = [
        ("iteration", "start"),
        ("phase", "start", "setup", "--actor", "agent:coder"),
        ("phase", "complete", "setup", "--summary", "on branch Login"),
        ("iteration", "start"),
        ("phase", "start", "build/login/implement", "--actor", "agent:coder"),
        ("note", "straße", "--actor", "operator:ana"),
        ("step", "inject", "--prompt", "More", "--id", "two", "--position",
         "end-of-phase:build"),
        ("rollback", "version:7"),
        ("note", "after all", "--actor", "operator:bob"),
    ]  # fmt: skip
    for minute, step in enumerate(steps, start=1):
        done(*step, "--at", f"2026-01-15T09:{minute:02}:00Z")
    return sprint


def versions(done: Any, *options: str) -> list[int]:
    """Return the versions that `log` lists."""
    return [event["version"] for event in done("log", *options, "--json").lines]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ([], list(range(1, 12))),
        (["--type", "note-added"], [8, 11]),
        (["--type", "note-*", "--type", "*-injected"], [8, 9, 11]),
        (["--type", "nothing?"], []),
        (["--actor", "agent:*"], [4, 7]),
        (["--actor", "operator:ana", "--actor", "operator:b?b"], [8, 11]),
        (["--phase", "build"], [7, 9]),
        (["--phase", "build/login/implement"], [7]),
        (["--phase", "buil"], []),
        (["--iteration", "0"], [1, 2]),
        (["--iteration", "1"], [3, 4, 5]),
        (["--iteration", "2"], [6, 7, 8, 9]),
        (["--since", "version:9"], [9, 10, 11]),
        (["--since", "position:9"], [9, 10, 11]),
        (["--since", "iter:2", "--until", "iter:2"], [6, 7, 8, 9]),
        (["--until", "iter:1"], [1, 2, 3, 4, 5]),
        (["--since", "start", "--until", "start"], [1]),
        (["--since", "2026-01-15T09:08:00Z"], [10, 11]),
        (["--until", "2026-01-15T10:01:00+01:00"], [1, 2, 3]),
        (["--since", "2026-01-15T09:02:00Z", "--until", "version:5"], [4, 5]),
        (["--grep", "STRASSE"], [8]),
        (["--grep", "login", "--type", "phase-*"], [5, 7]),
        (["--phase", "build", "--actor", "agent:*", "--since", "iter:2"], [7]),
        (["--last", "2"], [10, 11]),
        (["--limit", "2"], [1, 2]),
        (["-n", "2", "--reverse"], [11, 10]),
        (["--reverse", "--type", "note-added"], [11, 8]),
        (["--last", "3", "-n", "2"], [9, 10]),
        (["--at", "version:3", "--last", "1"], [3]),
        (["--at", "iter:1", "--since", "version:4"], [4, 5]),
        (["--all", "--since", "position:10"], [10, 11]),
        (["--all", "--until", "2026-01-15T09:00:00Z"], [1, 2]),
    ],
)
def test_lists_what_fits_every_filter(
    history: Path, done: Any, options: list[str], wanted: list[int]
) -> None:
    """Each filter narrows the list, which is in log order or reversed."""
    assert versions(done, *options) == wanted


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--since", "iter:9"], 3),
        (["--iteration", "9"], 3),
        (["--until", "version:99"], 3),
        (["--since", "someday"], 1),
        (["--all", "--since", "version:3"], 1),
        (["--all", "--at", "version:3"], 2),
        (["--at", "start", "--until", "start"], 2),
        (["--follow", "--reverse"], 2),
        (["--follow", "--iteration", "1"], 2),
        (["--reverse", "--last", "1"], 2),
        (["-n", "0"], 2),
    ],
)
def test_refuses_what_has_no_sense(
    history: Path, run: Any, options: list[str], code: int
) -> None:
    """A missing point exits with 3, mutually exclusive options with 2."""
    assert run("log", *options).code == code


def test_one_short_line_each(history: Path, done: Any) -> None:
    """With --oneline an event is its position, its type and its description."""
    assert done("log", "--oneline", "--last", "3").out.splitlines() == [
        " 9  step-injected build/two  position end-of-phase:build",
        "10  rolled-back to version 7",
        "11  note-added: after all",
    ]


@pytest.mark.long
def test_long_listings_are_read_in_both_directions(sprint: Path, run: Any) -> None:
    """Over many pages, nothing is missing or duplicated, forwards and backwards."""
    lines = "".join('{"type": "note-added", "data": {"text": "x"}}\n' for _ in range(1300))
    subprocess.run(
        [*COMMAND, "append"], input=lines.encode(), check=True, stdout=subprocess.DEVNULL
    )
    forwards = [int(line.split()[0]) for line in run("log").out.splitlines()]
    assert forwards == list(range(1, 1303))
    backwards = run("log", "--reverse", "--all").out.splitlines()
    assert [int(line.split()[0]) for line in backwards] == forwards[::-1]


def test_a_follower_sees_what_comes(sprint: Path, done: Any) -> None:
    """Existing events come first, then new ones, until the limit."""
    following = subprocess.Popen(
        [*COMMAND, "log", "-f", "--json", "--type", "note-*", "--limit", "2"],
        stdout=subprocess.PIPE,
        text=True,
    )
    for text in ("one", "two", "three"):
        done("phase", "start", "setup")
        done("note", text)
    out, _ = following.communicate(timeout=60)
    assert [line.count('"text":"one"') for line in out.splitlines()] == [1, 0]


def _has_open(pid: int, name: str) -> bool:
    """Return whether a process has a file of that name open; without /proc, wait for it."""
    folder = Path(f"/proc/{pid}/fd")
    if not folder.exists():
        time.sleep(1.5)
        return True
    for descriptor in folder.iterdir():
        with suppress(OSError):
            if descriptor.readlink().name == name:
                return True
    return False


@pytest.mark.parametrize("target", ["/dev/null", "file"])
def test_a_follower_ends_by_an_interrupt(sprint: Path, target: str) -> None:
    """Ctrl-C ends it silently with 130, with and without a pipe."""
    # A signal that is ignored here would also be ignored in the child.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with open(sprint / target, "wb") as file:
        following = subprocess.Popen(
            [*COMMAND, "log", "-f"], stdout=file, stderr=subprocess.PIPE
        )
    signal.signal(signal.SIGINT, before)
    while following.poll() is None and not _has_open(following.pid, "log.db"):
        time.sleep(0.02)
    time.sleep(0.2)
    assert following.poll() is None
    following.send_signal(signal.SIGINT)
    _, err = following.communicate(timeout=30)
    assert (following.returncode, err.strip()) == (130, b"")


def test_a_follower_ends_when_nobody_reads(sprint: Path) -> None:
    """A follower whose reader has gone ends silently."""
    following = subprocess.Popen(
        [*COMMAND, "log", "-f"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert following.stdout is not None
    assert following.stderr is not None
    following.stdout.readline()
    following.stdout.close()
    assert following.wait(timeout=30) == 1
    assert following.stderr.read() == b""
    following.stderr.close()


def on_terminal(words: list[str], **environment: str) -> str:
    """Return the output of a command on a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *words],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, **environment},
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:
        pass
    finally:
        os.close(ours)
    assert process.wait(timeout=30) == 0
    return shown.decode().replace("\r\n", "\n")


def test_a_pager_on_a_terminal_only(history: Path, done: Any) -> None:
    """On a terminal $PAGER shows the list; without one or with --json, none is used."""
    pager = f"'{sys.executable}' -c 'import sys; print(len(sys.stdin.readlines()))'"
    piped, plain = done("log").out, on_terminal(["log"], PAGER="cat")
    assert on_terminal(["log"], PAGER=pager).startswith(f"{piped.count(chr(10))}\n")
    assert on_terminal(["log", "--no-pager"], PAGER=pager) == plain
    assert on_terminal(["log"], PAGER="no-such-pager") == plain
    assert on_terminal(["log", "--json"], PAGER=pager).count("\n") == 11
    os.environ["PAGER"] = pager
    try:
        assert done("log").out == piped
    finally:
        del os.environ["PAGER"]


def test_a_pager_that_is_left_is_no_error(history: Path) -> None:
    """A reader that quits the pager ends the command."""
    assert on_terminal(["log", "--last", "1"], PAGER="true") == ""


def test_events_of_other_streams_are_counted(sprint: Path, done: Any) -> None:
    """Without a filter the number of unlisted events is printed, and their command."""
    assert done("log").err == ""
    done("journal", "open")
    said = "note: 1 event not shown: `sprintlog log --all`\n"
    assert done("log").err == said
    for more in (["--all"], ["--last", "2"], ["--json"], ["--type", "note-*"]):
        assert done("log", *more).err == ""
