"""One run of an agent's program under `sprintlog wrap`, and its record."""

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..commands import answers
from .model_server import ModelServer
from .programs import Program, environment
from .tokens import Answered

_LINGERS_SECONDS = 180
_ENDS_SECONDS = 120


class Case(NamedTuple):
    """A case to test."""

    program: Program
    form: str
    play: str
    by: signal.Signals | None = None
    """What ends it in the middle."""

    def __str__(self) -> str:
        ended = f", {self.by.name}" if self.by else ""
        return f"{self.program.name} ({self.form}), {self.play}{ended}"


class Ran(NamedTuple):
    """The result of a case: from outside, from the server, and from the log."""

    exit_code: int
    stdout: str
    stderr: str
    answered: list[Answered]
    recorded: dict[str, Any]
    """The data of `agent-ran`."""
    ended: dict[str, Any]
    """The data of `iteration-ended`."""
    problems: list[str]


def play(case: Case, server: ModelServer, folder: Path | None) -> Ran:
    """Run a case in a new repository, with a separate home."""
    with tempfile.TemporaryDirectory(prefix="sprintlog-live-") as name:
        home, work = Path(name) / "home", Path(name) / "work"
        home.mkdir()
        work.mkdir()
        git(work, "init", "-q")
        (work / "README.md").write_text("A repository.\n")
        git(work, "add", ".")
        git(work, "commit", "-qm", "first")
        env = environment(case.program, home, server.url, folder=folder)
        server.ledger.taken()
        server.lingers.clear()
        prompt = f"Do it. play:{case.play} at:{work}"
        command = [*case.program.forms[case.form], prompt]
        done, problems = wrapped(command, work, env, by=case.by, server=server)
        events = answers(work, "log")
        return Ran(
            done.returncode,
            done.stdout.decode("utf-8", "replace"),
            done.stderr.decode("utf-8", "replace"),
            server.ledger.taken(),
            _only(events, "agent-ran", problems),
            _only(events, "iteration-ended", problems),
            problems,
        )


def wrapped(
    command: list[str],
    work: Path,
    env: dict[str, str],
    *,
    by: signal.Signals | None,
    server: ModelServer,
) -> "tuple[subprocess.CompletedProcess[bytes], list[str]]":
    """Run a command under `wrap`; return how it ended, and any problems."""
    wrap = [sys.executable, "-m", "sprintlog.cli", "wrap", "--", *command]
    problems: list[str] = []
    with subprocess.Popen(
        wrap,
        cwd=work,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        if by is not None and not end_in_the_middle(process.pid, by, server):
            problems.append("it never came to the middle of its work")
        try:
            out, err = process.communicate(timeout=_ENDS_SECONDS)
        except subprocess.TimeoutExpired:
            problems.append(f"it did not end within {_ENDS_SECONDS} s")
            process.terminate()
            out, err = process.communicate()
    done = subprocess.CompletedProcess(wrap, process.returncode, out, err)
    return done, problems


def end_in_the_middle(process: int, by: signal.Signals, server: ModelServer) -> bool:
    """Send a signal to the agents below a process once the model delays its answer."""
    is_there = server.lingers.wait(_LINGERS_SECONDS)
    # The agent's launcher does not always forward a signal.
    for agent in _agents_below(process):
        with suppress(ProcessLookupError):
            os.kill(agent, by)
    return is_there


def _agents_below(wrap: int) -> list[int]:
    """Return the processes below `wrap` that are not sprintlog's, outermost first."""
    waiting, found = [wrap], []
    while waiting:
        process = waiting.pop(0)
        with suppress(OSError):
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
            if b"sprintlog.cli" not in words:
                found.append(process)
            waiting += _children(process)
    return found


def _children(process: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        found += [int(one) for one in task.read_text().split()]
    return found


def _only(events: list[Any], type_: str, problems: list[str]) -> dict[str, Any]:
    found: list[dict[str, Any]] = [e["data"] for e in events if e["type"] == type_]
    if len(found) != 1:
        problems.append(f"{len(found)} {type_} events")
    return found[0] if found else {}


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder with a fixed author."""
    who = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True)
