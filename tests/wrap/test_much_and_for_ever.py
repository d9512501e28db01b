"""Endless output, or output faster than its record, causes no delay."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sprintlog.cli.wrapping import start
from sprintlog.cli.wrapping.frames import (
    COUNTS,
    ENDED,
    FRAME,
    MISSED,
    WrapRequest,
    printed,
    read_pair,
)
from tests import needs
from tests.adapters.remains import gone_with

from .conftest import Events, Wrap
from .terminals import SPRINTLOG

RECORDER = """
import os, signal, sys, time

def parent(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])

def recorder():
    keeper = os.getppid()
    everybody = (int(one) for one in os.listdir("/proc") if one.isdigit())
    beside = []
    for pid in everybody:
        try:
            if pid != keeper and parent(pid) == parent(keeper):
                beside.append(pid)
        except OSError:
            continue
    return beside[0]
"""
needs_proc = needs.unless(
    os.path.exists("/proc/self/stat"), "/proc", "run the tests on Linux"
)


@needs_proc
def test_who_records_is_stopped(wrap: Wrap, later: Events) -> None:
    """More than a pipe holds is printed to its end; the rest is missing in the record."""
    prints = f"{RECORDER}\nfound = recorder()\nos.kill(found, signal.SIGSTOP)\n"
    prints += "sys.stderr.write(str(found))\nos.write(1, b'x' * 3_000_000)\nsys.exit(3)"
    done = wrap("--", sys.executable, "-c", prints)
    assert (done.returncode, done.stdout) == (3, b"x" * 3_000_000)
    os.kill(int(done.stderr), signal.SIGCONT)
    data = later("agent-ran")[0]["data"]
    assert data["output_bytes"] < 3_000_000
    assert "exit_code" not in data


@needs_proc
def test_who_records_hangs_for_a_while(wrap: Wrap, events: Events) -> None:
    """When it continues it records the command's end, and the number of missed bytes."""
    prints = f"{RECORDER}\nfound = recorder()\nos.kill(found, signal.SIGSTOP)\n"
    prints += "os.write(1, b'x' * 3_000_000)\nos.kill(found, signal.SIGCONT)\nsys.exit(3)"
    done = wrap("--", sys.executable, "-c", prints)
    assert (done.returncode, len(done.stdout), done.stderr) == (3, 3_000_000, b"")
    data = events("agent-ran")[0]["data"]
    assert (data["exit_code"], data["output_bytes"]) == (3, 3_000_000)
    assert "output_sha256" not in data
    assert data["output"].endswith(" bytes not recorded]\n")


@pytest.fixture
def pipes() -> Iterator[tuple[int, int]]:
    """Return both ends of a pipe without a reader yet."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    yield reading, writing
    for one in (reading, writing):
        try:
            os.close(one)
        except OSError:
            continue


def test_frames_stay_whole(pipes: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Output cut without a reader is completed once there is a reader."""
    monkeypatch.setattr(start, "PATIENCE_SECONDS", 0.05)
    reading, writing = pipes
    recorder = start.Recorder(writing, reading)
    for _ in range(40):
        recorder.hear(1, b"a" * 10_000)
    recorder.hear(2, b"b" * 7)
    taken = os.read(reading, 1 << 20)
    recorder.ended(0)
    taken += os.read(reading, 1 << 20)
    whole, kinds = 0, []
    while taken:
        kind, size = FRAME.unpack(taken[: FRAME.size])
        content, taken = taken[FRAME.size :][:size], taken[FRAME.size + size :]
        assert len(content) == size
        kinds.append(kind)
        whole += size if kind == 1 else 0
        if kind == MISSED:
            assert read_pair(COUNTS, content) == (400_000 - whole, 7)
    assert kinds[-2:] == [MISSED, ENDED]
    assert printed(1, b"x") == FRAME.pack(1, 1) + b"x"


@pytest.mark.parametrize(("missed", "seconds"), [({}, 0.3), ({1: 5}, 30)])
def test_the_end_waits_for_what_is_kept_of_the_files(
    pipes: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
    missed: dict[int, int],
    seconds: float,
) -> None:
    """The next process must not change the measurement; one that hangs is abandoned."""
    monkeypatch.setattr(start, "PATIENCE_SECONDS", 0.05)
    reading, writing = pipes
    recorder = start.Recorder(None, reading)
    recorder._missed = missed
    all_is_recorded = threading.Event()

    def end() -> None:
        all_is_recorded.set()
        os.close(writing)

    recording = threading.Timer(seconds, end)
    recording.start()
    recorder.wait(WrapRequest(("true",), measure="true").patience_seconds)
    recording.cancel()
    assert all_is_recorded.is_set() is not bool(missed)


def test_what_is_left_prints_for_ever(tmp_path: Path, clean: dict[str, str]) -> None:
    """A child that outlives the command and never stops printing does not keep us."""
    marked = {**clean, "PRINTS_FOR_EVER": str(tmp_path)}
    script = "yes & echo $! >pid; exit 3"
    with subprocess.Popen(
        [*SPRINTLOG, "wrap", "--", "sh", "-c", script],
        cwd=tmp_path,
        env=marked,
        stdout=subprocess.DEVNULL,
    ) as started:
        assert started.wait() == 3
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    gone_with(f"PRINTS_FOR_EVER={tmp_path}")


@pytest.mark.long
@needs_proc
def test_much_in_little_memory(wrap: Wrap, events: Events) -> None:
    """However much is printed, neither wrap nor the recorder stores more than a part."""
    prints = f"{RECORDER}\n"
    prints += "for _ in range(96): os.write(1, b'x' * 1_048_575 + b'\\n')\n"
    prints += "for pid in (parent(os.getppid()), recorder()):\n"
    prints += " with open(f'/proc/{pid}/status') as file:\n"
    prints += "  print(file.read().partition('VmHWM:')[2].split()[0], file=sys.stderr)\n"
    done = wrap("--", sys.executable, "-c", prints)
    assert (done.returncode, len(done.stdout)) == (0, 96 << 20)
    ours, recorders = map(int, done.stderr.split())
    assert ours < 32 << 10
    assert recorders < 80 << 10
    assert events("agent-ran")[0]["data"]["output_bytes"] == 96 << 20


def test_standard_output_that_is_closed(tmp_path: Path, clean: dict[str, str]) -> None:
    """A command with a closed output finds it closed, because no pipe replaces it."""
    looks = "import os\ntry: os.fstat(1)\nexcept OSError: os.write(2, b'closed')"
    words = [*SPRINTLOG, "wrap", "--", sys.executable, "-c", looks]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *words],
        cwd=tmp_path,
        env=clean,
        capture_output=True,
        check=True,
    )
    assert done.stderr == b"closed"


def test_the_end_of_output_is_handed_on(tmp_path: Path, clean: dict[str, str]) -> None:
    """A reader of the output sees its end when the command closes it."""
    script = "echo out; exec >&-; while [ ! -e go ]; do sleep 0.05; done"
    with subprocess.Popen(
        [*SPRINTLOG, "wrap", "--", "sh", "-c", script],
        cwd=tmp_path,
        env=clean,
        stdout=subprocess.PIPE,
    ) as started:
        assert started.stdout is not None
        assert started.stdout.read() == b"out\n"
        (tmp_path / "go").touch()
        assert started.wait() == 0
