"""A wrapped command gets each signal once, and wrap ends only in the same way."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.remains import gone_with

from .conftest import Events
from .terminals import SPRINTLOG

SAYS = """
import os, signal, sys
for name in (sys.argv[1], "SIGUSR2"):
    signal.signal(getattr(signal, name), lambda number, frame: print(number, flush=True))
print("ready", flush=True)
while True:
    signal.pause()
"""
TOLD_AT_ONCE = """
import os, signal
from sprintlog.engine.adapters.processes.keeper import Keeper
from sprintlog.engine.adapters.processes.signals import WaitingSignals

with WaitingSignals() as signals:
    for _ in range(20):
        keeper = Keeper.start(
            ["sleep", "60"], os.environ, terminal=None, streams={}, held_back=signals.before
        )
        keeper.tell(signal.SIGTERM)
        print(*keeper.read())
"""


# In a separate process: only one thread blocks signals, but the test process has other
# threads, which a signal would end.
HELD_BACK = """
import os, signal, time
from sprintlog.engine.adapters.processes.signals import WaitingSignals

seen = []
with WaitingSignals() as signals:
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGCONT):
        os.kill(os.getpid(), number)
    signals.start(lambda number, is_alone: seen.append(int(number)))
    print(*signals.read())
    while len(seen) < 3:
        time.sleep(0.001)
print(*sorted(seen))
"""


class Started:
    """A wrapped command that runs."""

    def __init__(self, folder: Path, environment: dict[str, str], *command: str) -> None:
        self.process = subprocess.Popen(
            [*SPRINTLOG, "wrap", "--", *command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.out, self.err = self.process.stdout, self.process.stderr

    def line(self) -> str:
        """Return the next line that it prints."""
        return self.out.readline().decode().strip()

    def end(self) -> int:
        """Return its exit status, after the rest of its output."""
        self.process.communicate()
        return self.process.returncode


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
def test_a_signal_for_us_is_for_the_command(
    name: str, tmp_path: Path, clean: dict[str, str]
) -> None:
    """A signal sent only to wrap reaches the command once, and wrap ends like it."""
    started = Started(tmp_path, clean, sys.executable, "-c", SAYS, name)
    assert started.line() == "ready"
    for number in (getattr(signal, name), signal.SIGUSR2):
        started.process.send_signal(number)
        assert started.line() == str(int(number))
    started.process.send_signal(signal.SIGQUIT)
    assert started.end() == -signal.SIGQUIT


def test_it_dies_of_what_kills_the_command(
    tmp_path: Path, clean: dict[str, str], events: Events
) -> None:
    """SIGTERM that ends the command ends us by the same signal, and is recorded."""
    started = Started(tmp_path, clean, "sh", "-c", "echo ready; exec sleep 60")
    assert started.line() == "ready"
    started.process.terminate()
    assert started.end() == -signal.SIGTERM
    assert events("agent-ran")[0]["data"]["exit_code"] == -signal.SIGTERM


def test_what_is_ignored_stays_ignored(tmp_path: Path, clean: dict[str, str]) -> None:
    """Under `nohup`, a hang-up ends neither wrap nor the command."""
    script = "echo ready; kill -HUP $$; read x; echo alive"
    words = [*SPRINTLOG, "wrap", "--", "sh", "-c", script]
    with subprocess.Popen(
        ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *words],
        cwd=tmp_path,
        env=clean,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"ready\n"
        started.send_signal(signal.SIGHUP)
        assert started.communicate(b"go\n")[0] == b"alive\n"
    assert started.returncode == 0


def test_a_signal_before_anything_is_started_waits() -> None:
    """A signal that arrives while signals are blocked is forwarded later."""
    done = subprocess.run(
        [sys.executable, "-c", HELD_BACK], capture_output=True, check=True
    )
    numbers = sorted([signal.SIGTERM, signal.SIGUSR1, signal.SIGCONT])
    assert done.stdout.split() == [b"%d" % signal.SIGCONT, *(b"%d" % x for x in numbers)]


def test_a_signal_between_fork_and_command() -> None:
    """The command ends by a signal before it is more than a copy of wrap."""
    done = subprocess.run(
        [sys.executable, "-c", TOLD_AT_ONCE], capture_output=True, check=True
    )
    assert done.stdout == b"3 -15\n" * 20


@pytest.mark.parametrize("name", ["SIGSTOP", "SIGTSTP"])
def test_it_stops_and_goes_on_with_the_command(
    name: str, tmp_path: Path, clean: dict[str, str]
) -> None:
    """A command that stops stops us, as a shell expects; SIGCONT wakes both."""
    script = f"echo ready; kill -{name[3:]} $$; echo woken"
    started = Started(tmp_path, clean, "sh", "-c", script)
    assert started.line() == "ready"
    _, status = os.waitpid(started.process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    assert os.WSTOPSIG(status) == getattr(signal, name)
    started.process.send_signal(signal.SIGCONT)
    assert started.line() == "woken"
    assert started.end() == 0


def test_a_stop_for_us_stops_the_command(tmp_path: Path, clean: dict[str, str]) -> None:
    """SIGTSTP sent only to wrap first stops the command, and both continue."""
    started = Started(tmp_path, clean, "sh", "-c", "echo ready; read x; sleep 0.2; echo on")
    assert started.line() == "ready"
    started.process.send_signal(signal.SIGTSTP)
    _, status = os.waitpid(started.process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    started.process.send_signal(signal.SIGCONT)
    assert started.end() == 0


def test_nobody_reads_what_it_prints(tmp_path: Path, clean: dict[str, str]) -> None:
    """A signal reaches the command also while what it prints waits for a reader."""
    marked = {**clean, "NOBODY_READS": str(tmp_path)}
    started = Started(tmp_path, marked, "sh", "-c", "echo ready >&2; exec yes")
    assert started.err.readline() == b"ready\n"
    started.process.terminate()
    gone_with(f"NOBODY_READS={tmp_path}", "yes")
    assert started.end() == -signal.SIGTERM


def test_it_stops_also_where_nobody_reads(tmp_path: Path, clean: dict[str, str]) -> None:
    """A command that stops while its output waits for a reader stops us, too."""
    script = "echo ready >&2; yes & sleep 0.3; kill -STOP $$; kill $!"
    started = Started(tmp_path, clean, "sh", "-c", script)
    assert started.err.readline() == b"ready\n"
    _, status = os.waitpid(started.process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    started.process.send_signal(signal.SIGCONT)
    assert started.end() == 0


def test_our_own_end_by_force(
    tmp_path: Path, clean: dict[str, str], events: Events, later: Events
) -> None:
    """After SIGKILL of wrap the iteration has an end: with unknown outcome."""
    started = Started(tmp_path, clean, "sh", "-c", "echo ready; sleep 60")
    assert started.line() == "ready"
    later_than = later("iteration-started")
    os.killpg(started.process.pid, signal.SIGKILL)
    started.end()
    assert len(later_than) == len(later("iteration-ended")) == 1
    data = events("agent-ran")[0]["data"]
    assert data["status"] == "unknown"
    assert "exit_code" not in data
