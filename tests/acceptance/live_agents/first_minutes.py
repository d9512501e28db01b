"""From an installed sprintlog to the first recorded iteration, with real agents."""

import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from ..criterion import Skip, Verdict
from .model_server import ModelServer
from .places import Place, new_place
from .programs import Program, installed
from .sessions import Session, turn_command
from .turns import MEASURE, THINKS_SECONDS

COMMANDS_MAX, SECONDS_MAX = 2, 60
LOOPS = Path(__file__).resolve().parents[3] / "fixtures" / "loops"
TESTS = {"test.sh": MEASURE["test.sh"]}
PROGRESS = """\
sprint-id: shop
status: in-progress
phases:
  - {id: design, status: completed, prompt: Design it}
  - {id: build, status: in-progress, prompt: Write two lines}
current: {phase: 1, step: null, sub-phase: null}
"""
CHANGED = ("work.txt", "PROGRESS.yaml")
"""The agent's file, and the state file of a recorded sprint."""
PRD = (LOOPS / "ralph" / "prd.json").read_text()


class Start(NamedTuple):
    """A starting point: what a user has, and the agent that works there."""

    name: str
    agent: str
    files: dict[str, str]
    is_loop: bool = False
    """Whether the user runs the agent in a script."""


STARTS = (
    Start("bash loop", "claude", {}, is_loop=True),
    Start("Claude Code session", "claude", {}),
    Start("Codex session", "codex", {}),
    Start("PROGRESS.yaml", "claude", {"PROGRESS.yaml": PROGRESS}),
    Start("prd.json", "claude", {"prd.json": PRD}),
)


def in_time(data: Path, seed: int, *, folder: Path | None = None) -> Verdict:
    """Start from nothing at each point; count the commands and the seconds."""
    programs = {one.name: one for one in installed(folder)}
    starts = [start for start in STARTS if start.agent in programs]
    if not starts:
        raise Skip("not installed: claude, codex")
    problems, counts = [], []
    with ModelServer(thinks=THINKS_SECONDS) as server:
        for start in starts:
            found, seconds = _first(start, programs[start.agent], server, folder)
            problems += [f"{start.name}: {problem}" for problem in found]
            counts.append(f"{start.name} {seconds:.1f} s")
    commands = f"{COMMANDS_MAX} commands each, `setup --yes` and the agent's"
    return Verdict(not problems, f"{commands}: {', '.join(counts)}", problems)


def _first(
    start: Start, program: Program, server: ModelServer, folder: Path | None
) -> tuple[list[str], float]:
    """Return the problems, and the seconds until the first iteration was recorded."""
    with new_place(program, server, folder, TESTS | start.files) as place:
        before = _contents(place.work)
        began = time.monotonic()
        place.run("setup", "--yes")
        if start.is_loop:
            _loop(place)
        else:
            with Session(place) as session:
                session.turn("first")
        iterations = place.iterations(1)
        seconds = time.monotonic() - began
        problems = []
        tests = [one.get("metrics", {}).get("tests_passed") for one in iterations]
        if tests != [1]:
            problems.append(f"tests of the iterations: {tests}, not [1]")
        if seconds > SECONDS_MAX:
            problems.append(f"{seconds:.0f} s, at most {SECONDS_MAX}")
        place.run("setup", "--check")
        place.run("setup", "--remove", "--yes")
        after = _contents(place.work)
        problems += [
            f"{path} is not what it was"
            for path in sorted((before.keys() | after.keys()) - {*CHANGED})
            if before.get(path) != after.get(path)
        ]
        return problems, seconds


def _loop(place: Place) -> None:
    """Run the agent once in the user's script, which does not name sprintlog."""
    words = turn_command(place, f"Do it. play:first at:{place.work}")
    script = 'for n in 1; do "$@" > /dev/null; done'
    subprocess.run(
        ["sh", "-c", script, "loop.sh", *words],
        cwd=place.work,
        env=place.env,
        stdin=subprocess.DEVNULL,
        check=True,
        timeout=SECONDS_MAX,
    )


def _contents(work: Path) -> dict[str, bytes]:
    """Return the files of a work tree by path."""
    return {
        str(path.relative_to(work)): path.read_bytes()
        for path in sorted(work.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(work).parts
    }
