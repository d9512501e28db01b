"""A wrapped command on a terminal has one like ours, which remains intact."""

import fcntl
import hashlib
import os
import shlex
import signal
import struct
import sys
import termios
import threading
from pathlib import Path

from tests.adapters.remains import gone_with

from .conftest import Events
from .terminals import Terminal, in_a_shell, wrapped

COUNTS = """
import signal, time
seen = []
signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
print("ready", flush=True)
while not seen:
    time.sleep(0.05)
time.sleep(0.5)
print(*seen, flush=True)
"""
LOOKS = """
import os, shutil, sys
print(*map(os.isatty, (0, 1, 2)), *os.get_terminal_size(1), flush=True)
"""
BUSY = """
import array, fcntl, hashlib, os, sys, termios, time, tty
tty.setraw(0)
print("ready", flush=True)
waiting, before = array.array("i", [0]), -1
while waiting[0] == 0 or waiting[0] != before:
    before = waiting[0]
    time.sleep(0.3)
    fcntl.ioctl(0, termios.FIONREAD, waiting)
os.write(1, b"x" * 1_000_000)
print("printed", flush=True)
found, left = hashlib.sha256(), int(sys.argv[1])
while left:
    typed = os.read(0, 1 << 16)
    found.update(typed)
    left -= len(typed)
print(found.hexdigest())
"""
"""Reads no input until the buffer is full, and it has printed."""
WAITS = """
import os, time
print("ready", flush=True)
while not os.path.exists("go"):
    time.sleep(0.05)
print("went", flush=True)
print(input(), flush=True)
"""
PASTE = bytes(range(32, 127)) * 5000


def test_a_terminal(
    tmp_path: Path, clean: dict[str, str], terminals: list[Terminal], events: Events
) -> None:
    """The command has a terminal of the same size, and its output is recorded."""
    one = Terminal(tmp_path, clean, wrapped(sys.executable, "-c", LOOKS))
    terminals.append(one)
    one.until(b"True True True 100 24\r\n")
    assert one.end() == 0
    assert "True True True" in events("agent-ran")[0]["data"]["output"]


def test_typing(tmp_path: Path, clean: dict[str, str], terminals: list[Terminal]) -> None:
    """Typed text is shown once, and read by the command."""
    one = Terminal(
        tmp_path, clean, wrapped("sh", "-c", 'echo ask; read x; echo "got $x"; exit 6')
    )
    terminals.append(one)
    one.until(b"ask\r\n")
    one.type(b"word\r")
    assert one.until(b"got word\r\n").count(b"word") == 2
    assert one.end() == 6


def test_an_interrupt_is_typed(
    tmp_path: Path, clean: dict[str, str], terminals: list[Terminal]
) -> None:
    """Ctrl-C reaches the command once."""
    one = Terminal(tmp_path, clean, wrapped(sys.executable, "-c", COUNTS, "SIGINT"))
    terminals.append(one)
    one.until(b"ready\r\n")
    one.type(b"\x03")
    one.until(b"^C2\r\n")
    assert one.end() == 0


def test_an_interrupt_ends_it(
    tmp_path: Path, clean: dict[str, str], terminals: list[Terminal]
) -> None:
    """A command that takes no notice of Ctrl-C is ended by it, and we with it."""
    one = Terminal(tmp_path, clean, wrapped("sh", "-c", "echo ready; exec sleep 60"))
    terminals.append(one)
    one.until(b"ready\r\n")
    one.type(b"\x03")
    assert one.end() == -signal.SIGINT


def test_a_prompt_by_a_pipe_on_a_terminal(
    tmp_path: Path, clean: dict[str, str], terminals: list[Terminal]
) -> None:
    """`cat PROMPT | wrap` on a terminal: read from the pipe, shown on a terminal."""
    script = "cat; " + f'exec "{sys.executable}" -c "$LOOKS"'
    environment = {**clean, "LOOKS": LOOKS}
    piped = 'echo prompt | "$@"; echo "code ${PIPESTATUS[1]}"'
    one = Terminal(tmp_path, environment, in_a_shell(piped, "sh", "-c", script))
    terminals.append(one)
    shown = one.until(b"code 0")
    assert b"prompt\r\nFalse True True 100 24\r\n" in shown
    assert one.end() == 0


def test_the_size_changes(
    tmp_path: Path, clean: dict[str, str], terminals: list[Terminal]
) -> None:
    """If the terminal is resized, so is the command's."""
    script = (
        "import os,signal,time\n"
        "show=lambda *_: print(*os.get_terminal_size(1), flush=True)\n"
        "signal.signal(signal.SIGWINCH, show)\n"
        "print('ready', flush=True)\n"
        "end=time.monotonic()+10\n"
        "while time.monotonic()<end and os.get_terminal_size(1)[0]==100: time.sleep(.05)\n"
    )
    one = Terminal(tmp_path, clean, wrapped(sys.executable, "-c", script))
    terminals.append(one)
    one.until(b"ready\r\n")
    fcntl.ioctl(one.master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 77, 0, 0))
    one.until(b"77 30\r\n")


def test_a_terminal_that_goes_away(
    tmp_path: Path, clean: dict[str, str], later: Events
) -> None:
    """When the terminal closes the command is signalled, ends, and is recorded."""
    one = Terminal(tmp_path, clean, wrapped("sh", "-c", "echo ready; exec sleep 60"))
    one.until(b"ready\r\n")
    one.close()
    os.waitpid(one.pid, 0)
    assert later("agent-ran")[0]["data"]["exit_code"] == -signal.SIGHUP


def test_a_shell_that_stops_it(
    tmp_path: Path, clean: dict[str, str], terminals: list[Terminal]
) -> None:
    """In a shell with job control, Ctrl-Z stops it, `fg` continues it, without damage."""
    one = Terminal(tmp_path, clean, ["bash", "--norc", "-i"])
    terminals.append(one)
    one.until(b"$ ")
    one.type(shlex.join(wrapped("sh", "-c", "echo ready; exec cat")).encode() + b"\r")
    one.until(b"ready\r\n")
    one.type(b"first\r")
    one.until(b"first\r\nfirst\r\n")
    one.type(b"\x1a")
    one.until(b"Stopped")
    one.type(b"stty -a | grep -c -- ' echo '\r")
    one.until(b"\r1\r\n")
    one.type(b"fg\r")
    one.until(b"fg\r\n")
    one.type(b"second\r")
    one.until(b"second\r\nsecond\r\n")
    one.seen = b""
    one.type(b"\x04")
    one.until(b"$ ")
    one.type(b"exit 7\r")
    assert one.end() == 7


def test_a_job_behind_a_shell(
    tmp_path: Path, clean: dict[str, str], terminals: list[Terminal]
) -> None:
    """After Ctrl-Z, `bg` continues it in the background while the shell reads input."""
    one = Terminal(tmp_path, clean, ["bash", "--norc", "-i"])
    terminals.append(one)
    one.until(b"$ ")
    (tmp_path / "waits.py").write_text(WAITS)
    one.type(shlex.join(wrapped(sys.executable, "waits.py")).encode() + b"\r")
    one.until(b"ready\r\n")
    one.type(b"\x1a")
    one.until(b"Stopped")
    one.type(b"bg\r")
    one.type(b"touch go\r")
    one.until(b"went\r")
    one.type(b"echo shell 1>&2; fg\r")
    one.until(b"shell\r\n")
    one.until(b"\r\n" + shlex.quote(wrapped()[0]).encode())
    one.type(b"in front\r")
    one.until(b"in front\r\nin front\r\n")
    one.seen = b""
    one.until(b"$ ")
    one.type(b"exit 7\r")
    assert one.end() == 7


def test_a_stop_that_nobody_could_end(
    tmp_path: Path, clean: dict[str, str], terminals: list[Terminal]
) -> None:
    """Without a shell, Ctrl-Z stops the command only briefly, as without wrap."""
    one = Terminal(tmp_path, clean, wrapped("sh", "-c", "echo ready; read x; echo got $x"))
    terminals.append(one)
    one.until(b"ready\r\n")
    one.type(b"\x1a")
    one.until(b"^Z")
    one.type(b"word\r")
    one.until(b"got word\r\n")
    assert one.end() == 0


def test_a_large_paste(
    tmp_path: Path, clean: dict[str, str], terminals: list[Terminal]
) -> None:
    """Typed text waits for a command that is busy printing, and arrives completely."""
    one = Terminal(tmp_path, clean, wrapped(sys.executable, "-c", BUSY, str(len(PASTE))))
    terminals.append(one)
    one.until(b"ready")
    typing = threading.Thread(target=one.type, args=(PASTE,), daemon=True)
    typing.start()
    one.until(b"printed")
    one.until(hashlib.sha256(PASTE).hexdigest().encode())
    typing.join()
    assert one.seen.count(b"x") == 1_000_000
    assert one.end() == 0


def test_what_is_left_keeps_its_terminal(
    tmp_path: Path, clean: dict[str, str], terminals: list[Terminal]
) -> None:
    """A child that outlives the command prints while the shell continues; then all end."""
    marked = {**clean, "LEFT_BEHIND": str(tmp_path)}
    waits = "echo soon; (while [ ! -e go ]; do sleep 0.05; done; echo late) &"
    one = Terminal(
        tmp_path, marked, in_a_shell('"$@"; echo next; read x', "sh", "-c", waits)
    )
    terminals.append(one)
    one.until(b"soon\r\nnext\r\n")
    (tmp_path / "go").touch()
    one.until(b"next\r\nlate\r\n")
    one.type(b"\r")
    assert one.end() == 0
    gone_with(f"LEFT_BEHIND={tmp_path}")


def test_no_terminal_is_left(
    tmp_path: Path, clean: dict[str, str], terminals: list[Terminal]
) -> None:
    """When the command ends, its terminal is closed, and no process keeps it open."""
    marked = {**clean, "NOBODY_STAYS": str(tmp_path)}
    one = Terminal(tmp_path, marked, in_a_shell('"$@"; echo next; read x', "true"))
    terminals.append(one)
    one.until(b"next\r\n")
    gone_with(f"NOBODY_STAYS={tmp_path}", "sprintlog")
    one.type(b"\r")
    assert one.end() == 0
