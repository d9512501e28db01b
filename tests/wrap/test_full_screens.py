"""A full-screen program looks and behaves the same with and without wrap."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import needs

from .terminals import PATIENCE_SECONDS, wrapped

CURSES = """
import curses
def main(screen):
    screen.keypad(True)
    lines, key = [f"line {n}" for n in range(200)], None
    first = 0
    while key != ord("q"):
        height, width = screen.getmaxyx()
        first += {curses.KEY_NPAGE: height, curses.KEY_PPAGE: -height}.get(key, 0)
        screen.erase()
        for row in range(height - 1):
            screen.addstr(row, 0, lines[(first + row) % 200], curses.A_BOLD * (row % 2))
        screen.addstr(height - 1, 0, f"{width}x{height}", curses.A_REVERSE)
        screen.refresh()
        key = screen.getch()
curses.wrapper(main)
"""
"""Shows two hundred lines, a page at a time, and how large the screen is."""
PROGRAMS = {
    "curses": (
        [sys.executable, "-c", CURSES],
        [("", "100x30"), ("NPage", "line 30"), ("resize", "80x20"), ("PPage", "line 10")],
    ),
    "less": (
        ["less", "lines"],
        [("", "line 29"), ("Space", "line 58"), ("resize", "line 48"), ("g", "line 19")],
    ),
    "vi": (
        ["vi", "-u", "NONE", "-N", "-n", "lines"],
        [("", "line 29"), ("G", "line 200"), ("resize", "line 200"), ("gg", "line 1")],
    ),
}
"""Of each program: its command, and keys with the expected text after them."""


class Screen:
    """A screen of tmux, 100 by 30, of a separate server."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._tmux = ["tmux", "-f", "/dev/null", "-S", str(folder / "tmux")]
        self._run = {"cwd": folder, "env": environment, "check": True}

    def start(self, words: list[str]) -> None:
        """Start a program whose final screen remains visible."""
        script = '"$@"; echo "ended with $?"; read x'
        self.tell(
            "new-session", "-d", "-x", "100", "-y", "30", "sh", "-c", script, "sh", *words
        )

    def tell(self, *arguments: str) -> str:
        """Return an answer from tmux."""
        done = subprocess.run(
            [*self._tmux, *arguments], capture_output=True, text=True, **self._run
        )  # type: ignore[call-overload]
        return str(done.stdout)

    def after(self, key: str) -> None:
        """Type a key, or resize the screen."""
        if key == "resize":
            self.tell("resize-window", "-x", "80", "-y", "20")
        elif key:
            self.tell("send-keys", key)

    def seen(self) -> str:
        """Return the visible text, with its colours."""
        return self.tell("capture-pane", "-p", "-e")

    def until(self, wanted: str) -> str:
        """Return the stable visible text once it contains this."""
        end, before = time.monotonic() + PATIENCE_SECONDS, ""
        while time.monotonic() < end:
            if wanted in (shown := self.seen()) and shown == before:
                return shown
            before = shown
            time.sleep(0.1)
        raise AssertionError(shown)

    def equals(self, wanted: str) -> None:
        """Wait until exactly this is visible."""
        end = time.monotonic() + PATIENCE_SECONDS
        while (shown := self.seen()) != wanted and time.monotonic() < end:
            time.sleep(0.1)
        assert shown == wanted


@pytest.fixture
def screen(tmp_path: Path, clean: dict[str, str]) -> Iterator[Screen]:
    """Return a screen whose server ends with the test."""
    needs.program("tmux")
    one = Screen(tmp_path, {**clean, "LESS": "", "LC_ALL": "C.UTF-8"})
    one.tell("new-session", "-d", "sleep", "1000000")
    yield one
    one.tell("kill-server")


@pytest.mark.parametrize("name", [*PROGRAMS])
def test_the_screen_is_the_same(name: str, screen: Screen, tmp_path: Path) -> None:
    """After each key and a resize, the screen is the same as without wrap."""
    words, keys = PROGRAMS[name]
    needs.program(words[0])
    (tmp_path / "lines").write_text("".join(f"line {n}\n" for n in range(1, 201)))
    screen.start(words)
    plain = []
    for key, wanted in keys:
        screen.after(key)
        plain.append(screen.until(wanted))
    screen.start(wrapped(*words))
    for (key, _), seen in zip(keys, plain, strict=True):
        screen.after(key)
        screen.equals(seen)
    if name == "vi":
        screen.tell("send-keys", ":q", "Enter")
    else:
        screen.after("q")
    screen.until("ended with 0")
