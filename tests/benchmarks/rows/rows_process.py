"""Rows about whole processes: a recording command, and many events in one process."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count, cycle
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from ..logs import Bench, make_started
from ..measure import (
    OURS,
    PROCESSES,
    WALL_OF_PROCESSES,
    Figure,
    duration,
    side_by_side,
    speed_up,
)
from ..samples import PHASES, address, event_of_300_bytes

IMPORTS = "import click, msgspec, sqlite3"
LIGHT_IMPORTS = "import msgspec, sqlite3"
HELP = ("phase", "start", "--help")
TOLD = {
    "session_id": "4b1d7e0c-90f2-4c1b-8a49-1f7d2f6f0a11",
    "cwd": "/w/shop",
    "hook_event_name": "PostToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "make test"},
    "tool_response": {"stdout": "fine", "stderr": "", "interrupted": False},
    "duration_ms": 812,
}
"""What a hook of an agent is handed."""
LINES = 50
COMMANDS = 3


def start(bench: Bench) -> Figure:
    """Measure the modules that a recording command loads before it opens a log."""
    shell = Shell(bench, bench.new_folder("start"))
    shell.sprintlog(*HELP)
    shell.run(sys.executable, "-c", IMPORTS)
    sides = side_by_side(
        lambda: shell.sprintlog(*HELP),
        lambda: shell.run(sys.executable, "-c", IMPORTS),
        rounds=bench.sizes.processes,
        by=PROCESSES,
    )
    return duration(sides, f'python -c "{IMPORTS}"')


def completion(bench: Bench) -> Figure:
    """Measure a completion that offers the addresses of a plan."""
    folder = bench.new_folder("completion")
    make_started(folder, PHASES)
    shell, asking = Shell(bench, folder), Shell(bench, folder)
    asked = {"_SPRINTLOG_COMPLETE": "bash", "COMP_LINE": "sprintlog phase start "}
    asking.environment |= asked
    asking.sprintlog()
    shell.run(sys.executable, "-c", IMPORTS)
    sides = side_by_side(
        asking.sprintlog,
        lambda: shell.run(sys.executable, "-c", IMPORTS),
        rounds=bench.sizes.processes,
        by=PROCESSES,
    )
    return duration(sides, f'python -c "{IMPORTS}"')


def wrapped(bench: Bench) -> Figure:
    """Measure the time until a wrapped command has printed.

    This is elapsed time, because recording runs in parallel with the command.
    """
    folder = bench.new_folder("wrapped")
    make_started(folder, PHASES)
    shell = Shell(bench, folder)
    shell.sprintlog("wrap", "--", "echo", "ready")
    sides = side_by_side(
        lambda: shell.until_it_prints("-m", "sprintlog.cli", "wrap", "--", "echo", "ready"),
        lambda: shell.until_it_prints("-c", f"{LIGHT_IMPORTS}; print('ready')"),
        rounds=bench.sizes.processes,
        by=WALL_OF_PROCESSES,
        before=shell.wait,
    )
    shell.wait()
    return duration(sides, f'python -c "{LIGHT_IMPORTS}"')


def hook(bench: Bench) -> Figure:
    """Measure the delay of each of an agent's tool calls."""
    folder = bench.new_folder("hook")
    make_started(folder, PHASES)
    shell = Shell(bench, folder)
    given = folder / "given.json"
    calls = count()

    def call() -> None:
        given.write_text(json.dumps({**TOLD, "tool_use_id": f"toolu_{next(calls)}"}))
        with given.open("rb") as told:
            shell.run(*command(), "hook", "claude", given=told)

    call()
    sides = side_by_side(
        call,
        lambda: shell.run(sys.executable, "-c", LIGHT_IMPORTS),
        rounds=bench.sizes.processes,
        by=PROCESSES,
    )
    return duration(sides, f'python -c "{LIGHT_IMPORTS}"')


def small(bench: Bench) -> Figure:
    """Measure one recorded action in a sprint of 100 phases."""
    return _action(bench, PHASES)


def large(bench: Bench) -> Figure:
    """Measure one recorded action in a large sprint."""
    return _action(bench, bench.sizes.phases)


def _action(bench: Bench, phases: int) -> Figure:
    folder = bench.new_folder(f"action-{phases}")
    make_started(folder, phases)
    actions = _actions(phases)
    shell = Shell(bench, folder)
    shell.sprintlog(*next(actions))
    shell.run(sys.executable, "-c", IMPORTS)
    before = (folder / "PROGRESS.yaml").read_bytes()
    sides = side_by_side(
        lambda: shell.sprintlog(*next(actions)),
        lambda: shell.run(sys.executable, "-c", IMPORTS),
        rounds=bench.sizes.processes,
        by=PROCESSES,
    )
    assert (folder / "PROGRESS.yaml").read_bytes() != before
    return duration(sides, f'python -c "{IMPORTS}"')


def _actions(phases: int) -> Iterator[tuple[str, ...]]:
    """Yield commands that each change the state file, one leaf after the other."""
    for index in range(phases):
        yield "phase", "start", address(index)
        yield "phase", "complete", address(index), "--summary", "the form is there"


def coprocess(bench: Bench) -> Figure:
    """Measure an event sent to a resident process against one command per event."""
    for name in ("coprocess", "commands"):
        make_started(bench.new_folder(name), PHASES)
    events = [_round_of_events() for _ in range(2)]
    shell = Shell(bench, bench.folder / "commands")

    def commands() -> None:
        for _ in range(COMMANDS):
            event = next(events[1])
            shell.sprintlog("append", event["type"], "--data", json.dumps(event["data"]))

    commands()
    with Coprocess(Shell(bench, bench.folder / "coprocess")) as process:
        process.append(next(events[0]))

        def lines() -> None:
            for _ in range(LINES):
                process.append(next(events[0]))

        sides = side_by_side(
            lines,
            commands,
            rounds=bench.sizes.processes,
            by=WALL_OF_PROCESSES,
            units=(LINES, COMMANDS),
        )
    return speed_up(sides, f"{OURS}one command per event")


def _round_of_events() -> Iterator[dict[str, Any]]:
    """Yield an endless sequence of consecutive events of up to 300 bytes."""
    done = event_of_300_bytes()
    return cycle(
        [
            {"type": "phase-started", "data": {"phase": done.phase}},
            {
                "type": "phase-completed",
                "data": {"phase": done.phase, "summary": done.summary},
            },
            {"type": "phase-reopened", "data": {"phase": done.phase}},
        ]
    )


class Shell:
    """A folder in which commands run."""

    def __init__(self, bench: Bench, folder: Path) -> None:
        self.folder = folder
        self.environment = _environment(bench)
        self._printed: list[subprocess.Popen[bytes]] = []

    def until_it_prints(self, *arguments: str) -> None:
        """Start Python and wait until it has printed something."""
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
        )
        self._printed.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"

    def wait(self) -> None:
        """Wait for the processes that have printed."""
        while self._printed:
            self._printed.pop().communicate()

    def sprintlog(self, *arguments: str) -> None:
        """Run one sprintlog command."""
        self.run(*command(), *arguments)

    def run(self, *words: str, given: IO[bytes] | None = None) -> None:
        """Run one program to its end; it must succeed."""
        subprocess.run(
            words,
            cwd=self.folder,
            env=self.environment,
            stdin=given,
            stdout=subprocess.DEVNULL,
            check=True,
        )


class Coprocess:
    """`sprintlog append`, fed line by line by a caller that awaits every answer."""

    def __init__(self, shell: Shell) -> None:
        self._process = subprocess.Popen(
            [*command(), "append"],
            cwd=shell.folder,
            env=shell.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def append(self, event: dict[str, Any]) -> None:
        """Send one event and wait for the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(event).encode() + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "position" in answer, answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()


def _installed() -> list[str]:
    """Return the installed command that a user would type."""
    script = Path(sys.executable).with_name("sprintlog")
    return [str(script)] if script.exists() else [sys.executable, "-m", "sprintlog.cli"]


command: Callable[[], list[str]] = _installed
"""The way to start a sprintlog command: like users, or under a profile."""


def _environment(bench: Bench) -> dict[str, str]:
    """Return the environment of both sides: no settings, but compiled modules.

    An installed package is compiled, but a checkout is not if bytecode is not written. If
    bytecode is stored elsewhere, one folder already serves many runs.
    """
    dropped = ("SPRINTLOG_", "PYTHONDONTWRITEBYTECODE")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    return {"PYTHONPYCACHEPREFIX": str(bench.folder / "bytecode"), **kept}
