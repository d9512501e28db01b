"""A wrapped command and what comes from outside: signals, a terminal, our own end."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import SPRINTLOG, Events

COUNTS = """
import os, signal, sys, time
seen = []
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), lambda number, frame: seen.append(number))
print("ready", flush=True)
end = time.monotonic() + 20
while not seen and time.monotonic() < end:
    time.sleep(0.05)
time.sleep(0.5)
print(*seen, flush=True)
"""
LOOKS = """
import os, shutil, sys
print(*map(os.isatty, (0, 1, 2)), *os.get_terminal_size(1), flush=True)
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
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.out = self.process.stdout

    def line(self) -> str:
        """Return the next line that it prints."""
        return self.out.readline().decode().strip()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
def test_a_signal_for_us_is_for_the_command(
    name: str, tmp_path: Path, clean: dict[str, str]
) -> None:
    """What is sent to us alone reaches the command once, and we end as it does."""
    started = Started(tmp_path, clean, sys.executable, "-c", COUNTS, name)
    assert started.line() == "ready"
    started.process.send_signal(getattr(signal, name))
    assert started.line() == str(int(getattr(signal, name)))
    started.out.close()
    assert started.process.wait() == 0


def test_it_dies_of_what_kills_the_command(tmp_path: Path, clean: dict[str, str]) -> None:
    """SIGTERM that ends the command ends us by the same signal."""
    started = Started(tmp_path, clean, "sh", "-c", "echo ready; exec sleep 60")
    assert started.line() == "ready"
    started.process.terminate()
    started.out.close()
    assert started.process.wait() == -signal.SIGTERM


def test_it_stops_and_goes_on_with_the_command(
    tmp_path: Path, clean: dict[str, str]
) -> None:
    """A command that stops stops us, as a shell expects; SIGCONT wakes both."""
    script = "echo ready; kill -STOP $$; echo woken"
    started = Started(tmp_path, clean, "sh", "-c", script)
    assert started.line() == "ready"
    _, status = os.waitpid(started.process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    started.process.send_signal(signal.SIGCONT)
    assert started.line() == "woken"
    started.out.close()
    assert started.process.wait() == 0


def test_our_own_end_by_force(
    tmp_path: Path, clean: dict[str, str], events: Events
) -> None:
    """After SIGKILL on us the iteration ends in the record: nobody knows how it ended."""
    started = Started(tmp_path, clean, "sh", "-c", "echo ready; sleep 60")
    assert started.line() == "ready"
    until = time.monotonic() + 30
    while not list(tmp_path.glob(".sprintlog/log.db")) and time.monotonic() < until:
        time.sleep(0.1)
    os.killpg(started.process.pid, signal.SIGKILL)
    started.process.wait()
    started.out.close()
    while time.monotonic() < until and not (found := events("agent-ran")):
        time.sleep(0.2)
    assert found[0]["data"]["status"] == "failed"
    assert "exit_code" not in found[0]["data"]
    assert len(events("iteration-ended")) == 1


class Terminal:
    """A terminal of 24 lines and 100 columns with a wrapped command in it."""

    def __init__(
        self, folder: Path, environment: dict[str, str], *command: str, before: str = ""
    ) -> None:
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            size = struct.pack("HHHH", 24, 100, 0, 0)
            fcntl.ioctl(1, termios.TIOCSWINSZ, size)
            words = [*SPRINTLOG, "wrap", "--", *command]
            if before:
                script = f'{before} | "$@"; echo "code ${{PIPESTATUS[1]}}"'
                words = ["bash", "-c", script, "bash", *words]
            os.execvpe(words[0], words, {**environment, "TERM": "xterm"})
        self.seen = b""

    def until(self, wanted: bytes) -> bytes:
        """Return all that was shown once this is there."""
        end = time.monotonic() + 20
        while wanted not in self.seen and time.monotonic() < end:
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    more = os.read(self.master, 1 << 16)
                except OSError:
                    break
                self.seen += more
                if not more:
                    break
        assert wanted in self.seen, self.seen
        return self.seen

    def type(self, keys: bytes) -> None:
        """Type on it."""
        os.write(self.master, keys)

    def end(self) -> int:
        """Return the exit code, or minus the signal."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.master, 1 << 16)
                except OSError:
                    time.sleep(0.05)
        raise AssertionError(self.seen)

    def close(self) -> None:
        """Take the terminal away."""
        os.close(self.master)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    """Give a list of terminals that are taken away at the end."""
    made: list[Terminal] = []
    yield made
    for one in made:
        try:
            one.close()
            os.kill(one.pid, signal.SIGKILL)
            os.waitpid(one.pid, 0)
        except OSError:
            continue


def test_a_terminal(
    tmp_path: Path, clean: dict[str, str], terminals: list[Terminal], events: Events
) -> None:
    """On a terminal the command has one of the same size; what it prints is recorded."""
    one = Terminal(tmp_path, clean, sys.executable, "-c", LOOKS)
    terminals.append(one)
    one.until(b"True True True 100 24\r\n")
    assert one.end() == 0
    assert "True True True" in events("agent-ran")[0]["data"]["output"]


def test_typing(tmp_path: Path, clean: dict[str, str], terminals: list[Terminal]) -> None:
    """What is typed is shown once, and read by the command."""
    one = Terminal(tmp_path, clean, "sh", "-c", 'echo ask; read x; echo "got $x"; exit 6')
    terminals.append(one)
    one.until(b"ask\r\n")
    one.type(b"word\r")
    assert one.until(b"got word\r\n").count(b"word") == 2
    assert one.end() == 6


def test_an_interrupt_is_typed(
    tmp_path: Path, clean: dict[str, str], terminals: list[Terminal]
) -> None:
    """Ctrl-C reaches the command once."""
    one = Terminal(tmp_path, clean, sys.executable, "-c", COUNTS, "SIGINT")
    terminals.append(one)
    one.until(b"ready\r\n")
    one.type(b"\x03")
    one.until(b"^C2\r\n")
    assert one.end() == 0


def test_an_interrupt_ends_it(
    tmp_path: Path, clean: dict[str, str], terminals: list[Terminal]
) -> None:
    """A command that takes no notice of Ctrl-C is ended by it, and we with it."""
    one = Terminal(tmp_path, clean, "sh", "-c", "echo ready; exec sleep 60")
    terminals.append(one)
    one.until(b"ready\r\n")
    one.type(b"\x03")
    assert one.end() == -signal.SIGINT


def test_a_prompt_by_a_pipe_on_a_terminal(
    tmp_path: Path, clean: dict[str, str], terminals: list[Terminal]
) -> None:
    """`cat PROMPT | wrap` on a terminal: read from the pipe, shown on a terminal."""
    script = "cat; " + f'exec {sys.executable} -c "$LOOKS"'
    environment = {**clean, "LOOKS": LOOKS}
    one = Terminal(tmp_path, environment, "sh", "-c", script, before="echo prompt")
    terminals.append(one)
    shown = one.until(b"code 0")
    assert b"prompt\r\nFalse True True 100 24\r\n" in shown
    assert one.end() == 0


def test_the_size_changes(
    tmp_path: Path, clean: dict[str, str], terminals: list[Terminal]
) -> None:
    """A terminal that gets another size is another size for the command."""
    script = (
        "import os,signal,time\n"
        "show=lambda *_: print(*os.get_terminal_size(1), flush=True)\n"
        "signal.signal(signal.SIGWINCH, show)\n"
        "print('ready', flush=True)\n"
        "end=time.monotonic()+10\n"
        "while time.monotonic()<end and os.get_terminal_size(1)[0]==100: time.sleep(.05)\n"
    )
    one = Terminal(tmp_path, clean, sys.executable, "-c", script)
    terminals.append(one)
    one.until(b"ready\r\n")
    fcntl.ioctl(one.master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 77, 0, 0))
    one.until(b"77 30\r\n")


def test_a_terminal_that_goes_away(
    tmp_path: Path, clean: dict[str, str], events: Events
) -> None:
    """When the terminal goes the command is told, ends, and is recorded."""
    one = Terminal(tmp_path, clean, "sh", "-c", "echo ready; exec sleep 60")
    one.until(b"ready\r\n")
    one.close()
    os.waitpid(one.pid, 0)
    until = time.monotonic() + 20
    while time.monotonic() < until and not (found := events("agent-ran")):
        time.sleep(0.2)
    assert found[0]["data"]["exit_code"] == -signal.SIGHUP


def test_a_full_screen_program_and_a_shell_that_stops_it(
    tmp_path: Path, clean: dict[str, str], terminals: list[Terminal]
) -> None:
    """In a shell with jobs Ctrl-Z stops it, `fg` goes on with it, the terminal is whole."""
    shell = subprocess.run(["bash", "--version"], capture_output=True, check=False)
    assert shell.returncode == 0
    words = json.dumps(" ".join([*SPRINTLOG, "wrap", "--", "cat"]))
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execvpe(
            "bash", ["bash", "--norc", "-i"], {**clean, "TERM": "xterm", "PS1": "$ "}
        )
    one = Terminal.__new__(Terminal)
    one.pid, one.master, one.seen = pid, master, b""
    terminals.append(one)
    one.until(b"$ ")
    one.type(json.loads(words).encode() + b"; echo CODE=$?\r")
    time.sleep(1.0)
    one.type(b"first\r")
    one.until(b"first\r\nfirst\r\n")
    one.type(b"\x1a")
    one.until(b"Stopped")
    one.type(b"stty -a | grep -c -- ' echo '\r")
    one.type(b"fg\r")
    time.sleep(0.5)
    one.type(b"second\r")
    one.until(b"second\r\nsecond\r\n")
    one.seen = b""
    one.type(b"\x04")
    one.until(b"$ ")
    one.type(b"exit 0\r")
    assert one.end() == 0
