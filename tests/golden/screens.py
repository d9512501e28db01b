"""The most frequently seen screens, for one log: `python -m tests.golden.screens`.

The clock, time zone and random bytes are fixed, so that a screen is the same on every
machine. Each is shown on terminals of 80 and 120 columns, without colours, and through a
pipe.
"""

import os
import pty
import re
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from fcntl import ioctl
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from sprintlog.cli.main import main
from sprintlog.engine.service.workspace import ServiceWorkspace
from sprintlog.engine.sprint.state.times import parse

EXPECTED = Path(__file__).resolve().parents[2] / "fixtures" / "expected" / "screens"
NOW = "2026-01-16T08:30:00Z"
ZONE = "Europe/Vienna"
FOLDER = "/tmp/sprintlog-folder_1"
"""The placeholder for the folder in a screen; as long as the real one."""

SCREENS = {
    "status": ["status"],
    "log": ["log"],
    "log-full": ["log", "-v", "--last", "12"],
    "show-event": ["show", "event", "6"],
    "show-progress": ["show", "progress"],
    "diff": ["diff", "version:4"],
    "blame": ["why", "phases[build].status", "current.phase"],
    "best": ["iteration", "best", "--explain"],
    "iteration-list": ["list"],
    "report": ["report"],
    "alerts": ["iteration", "alerts", "--all"],
    "decide": ["iteration", "decide", "--explain"],
    "audit": ["audit"],
    "queue-list": ["queue", "list"],
    "doctor": ["doctor"],
    "next": ["next"],
    "query": ["query", "SELECT position, at, type, data FROM v_events LIMIT 12"],
}
"""Each screen by its name, with its command."""
MACHINE = ("sizes", "file-system", "journal-mode", "sqlite", "versions", "owner", "space")
"""Lines of the doctor that differ on another machine."""


class Form(NamedTuple):
    """A way to display a screen."""

    columns: int | None = None
    environment: tuple[tuple[str, str], ...] = ()


FORMS = {
    "80 columns": Form(80),
    "120 columns": Form(120),
    "80 columns, NO_COLOR": Form(80, (("NO_COLOR", "1"),)),
    "piped": Form(),
}

PLAN = """\
phases:
  - id: setup
    prompt: Create the branch
  - id: build
    steps:
      - id: login
        prompt: Build the login page, its form, and the checks that make it safe to use
        phases:
          - id: implement
            prompt: Implement the form
          - id: check
            prompt: Try it in three browsers
    gate:
      script: make test
      on-fail: {prompt: Mend what the tests say, max-retries: 2}
  - id: ship
    prompt: Ship it
"""
LONG = (
    "the form checks what is typed while it is typed, remembers who was there, and says "
    "what is wrong beside the field; it does not yet work with a screen reader"
)
AGENT = (
    '{"phase":"%s","status":"%s","exit_code":%d,"duration_ms":%d,"output":"{\\"a\\": 1}",'
    '"usage":{"input_tokens":%d,"output_tokens":%d,"cost_usd":%s,"turns":%d},"iteration":%d}'
)


def story() -> Iterator[tuple[str, list[str]]]:
    """Yield the steps of the log: the time, and the command."""
    night, morning = "2026-01-15T%s:00Z", "2026-01-16T%s:00Z"
    bot, person = ["--actor", "agent:coder"], ["--actor", "operator"]
    end = ["iteration", "end", "--actor", "runtime"]
    yield night % "20:58", ["sprint", "create", "auth", "--plan", "plan.yaml"]
    yield night % "21:00", ["sprint", "start", "--actor", "operator"]
    yield night % "21:00", ["iteration", "baseline", *_metrics(8, 5, 61, 0)]
    yield night % "21:01", ["iteration", "start", "--max-iterations", "9"]
    yield night % "21:02", ["phase", "start", "setup", *bot]
    ran = AGENT % ("setup", "completed", 0, 192_400, 41_200, 1_830, "0.4213", 7, 1)
    yield night % "21:05", ["append", "agent-ran", "--data", ran, *bot]
    yield night % "21:05", ["phase", "complete", "setup", "--summary", LONG, *bot]
    yield (night % "21:06", [*end, *_metrics(10, 9, 72.5, 1)])
    yield night % "22:40", ["iteration", "start", *bot]
    yield night % "22:41", ["phase", "start", "build/login/implement", *bot]
    title = "Umlaute wie ä und 表示が崩れる 🎉 break the table \x1b[31mof requests"
    yield night % "22:44", ["queue", "add", title, "--type", "bug", "--priority", "high"]
    yield night % "22:44", ["queue", "add", f"Docs: {LONG}", "--type", "docs",
                            "--priority", "low"]  # fmt: skip
    ran = AGENT % ("build/login/implement", "completed", 0, 4_512_000, 1_200_400, 88_210,
                   "12.5", 48, 2)  # fmt: skip
    yield night % "23:10", ["append", "agent-ran", "--data", ran, *bot]
    yield night % "23:10", ["phase", "complete", "build/login/implement", *bot]
    yield (night % "23:12", [*end, *_metrics(14, 13, 80.25, 0)])
    yield night % "23:13", ["iteration", "decide"]
    yield night % "23:30", ["iteration", "start", *bot]
    yield morning % "06:02", ["note", "back at my desk\twith coffee", "--actor", "operator"]
    yield (morning % "06:10", [*end, *_metrics(14, 9, 71, 6)])
    yield morning % "07:00", ["rollback", "iter:2", "--reason",
                              "iteration 3 broke four tests", *person]  # fmt: skip
    yield morning % "07:05", ["queue", "defer", "req-2", "--until", "end-of-phase",
                              "--reasoning", "first the tests", *person]  # fmt: skip
    yield morning % "08:00", ["iteration", "start", *bot]
    yield morning % "08:01", ["phase", "start", "build/login/check", *bot]


def _metrics(count: int, passed: int, coverage: float, errors: int) -> list[str]:
    figures: tuple[str, ...] = (f"test_count={count}", f"tests_passed={passed}")
    figures += (f"error_count={errors}", f"coverage_percentage={coverage}")
    return [
        word for one in (*figures, "build_status=success") for word in ("--metric", one)
    ]


def make_log(folder: Path) -> None:
    """Create the log in a folder, in a separate process."""
    (folder / "plan.yaml").write_text(PLAN)
    chance = count(1)

    def play() -> None:
        _fix(NOW, lambda size: next(chance).to_bytes(size, "big"))
        _run(["init", "--here"])
        for at, line in story():
            _fix(at, lambda size: next(chance).to_bytes(size, "big"))
            _run(line)

    said = _in_child(folder, Form(), play).decode()
    if "error: " in said:
        raise SystemExit(said)


def screen(folder: Path, line: list[str], form: Form) -> str:
    """Return the screen of a command, with control sequences made visible."""

    def look() -> None:
        _fix(NOW, bytes)
        _run(line)

    shown = _in_child(folder, form, look).decode(errors="replace")
    shown = shown.replace(str(folder), FOLDER).replace("\r\n", "\n")
    for name in MACHINE if line == ["doctor"] else ():
        shown = re.sub(rf"({name} +).*\n( {{20,}}.*\n)*", r"\1(of the machine)\n", shown)
    return re.sub(r"[\x00-\x09\x0b-\x1f]", lambda found: chr(0x2400 + ord(found[0])), shown)


def page(folder: Path, name: str) -> str:
    """Return a command in all forms, in the format of its file."""
    typed = "sprintlog " + " ".join(SCREENS[name])
    parts = [f"== {form}: {typed}\n{screen(folder, SCREENS[name], how)}"
             for form, how in FORMS.items()]  # fmt: skip
    return "\n".join(parts)


def new_folder() -> Path:
    """Return a new folder with a path of constant length."""
    return Path(tempfile.mkdtemp(prefix="sprintlog-", dir="/tmp"))


def _fix(at: str, entropy: object) -> None:
    moment = parse(at).timestamp()
    time.time, time.time_ns = lambda: moment, lambda: int(moment * 1e9)
    makers: tuple[Any, ...] = (ServiceWorkspace.init, ServiceWorkspace.open)
    for maker in makers:
        maker.__func__.__kwdefaults__["entropy"] = entropy


def _run(line: list[str]) -> None:
    sys.argv = ["sprintlog", *line]
    # The screen shows how a command ends.
    with suppress(SystemExit):
        main()


def _in_child(folder: Path, form: Form, play: object) -> bytes:
    """Run a function in a fork, and return its output on a terminal or pipe."""
    reading, writing = pty.openpty() if form.columns else os.pipe()
    if form.columns:
        ioctl(writing, termios.TIOCSWINSZ, struct.pack("4H", 24, form.columns, 0, 0))
    child = os.fork()
    if not child:
        try:
            _become(folder, form, writing)
            play()  # type: ignore[operator]
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    said = b""
    while chunk := _read(reading):
        said += chunk
    os.close(reading)
    _, status = os.waitpid(child, 0)
    assert status == 0, said.decode(errors="replace")
    return said


def _become(folder: Path, form: Form, writing: int) -> None:
    """Behave like a process started in a folder, with a clean environment."""
    for name in [n for n in os.environ if n.startswith(("GIT_", "SPRINTLOG_", "LC_"))]:
        del os.environ[name]
    for name in ("NO_COLOR", "COLUMNS", "LESS"):
        os.environ.pop(name, None)
    os.environ |= {"TZ": ZONE, "LANG": "C.UTF-8", "TERM": "xterm", "PAGER": "cat"}
    os.environ |= {"XDG_CONFIG_HOME": str(folder / "none"), **dict(form.environment)}
    time.tzset()
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(writing, 1)
    os.dup2(writing, 2)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")


def _read(reading: int) -> bytes:
    try:
        return os.read(reading, 65536)
    except OSError:
        return b""


if __name__ == "__main__":
    from shutil import rmtree

    made = new_folder()
    make_log(made)
    EXPECTED.mkdir(exist_ok=True)
    for known in SCREENS:
        (EXPECTED / f"{known}.txt").write_text(page(made, known))
    rmtree(made)
