"""Rows about the commands that people type every day, in a loop of 300 iterations."""

import os
import sys
from functools import partial
from pathlib import Path

from sprintlog.commands import CreateSprint, EndRun, StartIteration, StartSprint, Verdict
from sprintlog.engine.judging.events import IterationMeasured, Metrics, Usage
from sprintlog.engine.log.event import Event
from sprintlog.engine.service.work_tree.snapshot import take_and_record
from sprintlog.engine.sprint.events import AgentRan
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.workspace import Workspace

from ..logs import Bench
from ..measure import PROCESSES, WALL_OF_PROCESSES, By, Figure, Skip, duration, side_by_side
from ..samples import SPRINT
from .rows_process import IMPORTS, Shell
from .rows_snapshots import git

ITERATIONS, FILES, SAVED = 300, 5_000, 30
LINES = 40
EDITED = "src/0/0.py"
MEASURED = ("--snapshot", "--measure", "echo 300/300")


ASKED = {
    ("status",): 1.35,
    ("list",): 1.6,
    ("log",): 1.6,
    ("report",): 1.6,
    ("why", f"{EDITED}:3"): 1.6,
    ("-h",): 1.1,
}
"""The commands that only read, each with its limit."""


def asked(bench: Bench, words: tuple[str, ...]) -> Figure:
    """Measure a command that only reads."""
    return _against_imports(bench, words, PROCESSES)


def wrapped(bench: Bench, options: tuple[str, ...] = ()) -> Figure:
    """Measure `wrap -- true`: elapsed time, because a second process records."""
    return _against_imports(bench, ("wrap", *options, "--", "true"), WALL_OF_PROCESSES)


def _against_imports(bench: Bench, words: tuple[str, ...], by: By) -> Figure:
    shell = Shell(bench, _loop(bench))
    python = sys.executable, "-c", IMPORTS
    shell.sprintlog(*words)
    shell.run(*python)
    rounds = bench.sizes.processes
    sides = side_by_side(
        partial(shell.sprintlog, *words), partial(shell.run, *python), rounds=rounds, by=by
    )
    return duration(sides, f'python -c "{IMPORTS}"')


def _loop(bench: Bench) -> Path:
    """Return a work tree with a measured loop; each row gets the same one."""
    folder = bench.folder / "daily"
    if folder.exists():
        return folder
    folder = bench.new_folder("daily")
    if git(folder, os.environ, "init", "-q"):
        raise Skip("git is not installed")
    for number in range(min(FILES, bench.sizes.tree)):
        file = folder / f"src/{number % 50}/{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"value = {number}\n" * 20)
    with Workspace.init(folder) as workspace:
        plan = {"mode": "ralph", "goal": "Win"}
        created = CreateSprint(plan, max_iterations=9 * ITERATIONS)
        workspace.handle(created, sprint_id=SPRINT)
        workspace.handle(StartSprint(), sprint_id=SPRINT)
        take_and_record(workspace, SPRINT, envelope={})
        count = min(ITERATIONS, bench.sizes.iterations)
        for number in range(1, count + 1):
            _iteration(workspace, folder / EDITED, number, saves=number > count - SAVED)
    return folder


def _iteration(workspace: Workspace, file: Path, number: int, *, saves: bool) -> None:
    workspace.handle(StartIteration(), sprint_id=SPRINT)
    edited = number % LINES
    file.write_text("".join(f"v{n} = {number * (n == edited)}\n" for n in range(LINES)))
    usage = Usage(40_000, 3_000, cost_usd=0.5)
    ran = AgentRan(
        "", "completed", 0, output="did it\n" * 20, iteration=number, usage=usage
    )
    workspace.handle(EndRun(ran, Verdict("completed", f"part {number}")), sprint_id=SPRINT)
    if saves:
        take_and_record(workspace, SPRINT, envelope={})

    def decide(sprint: Sprint, at: str) -> list[Event]:
        figures = Metrics(test_count=ITERATIONS, tests_passed=number)
        return [IterationMeasured(number, figures, previous=number - 1 or None)]

    workspace.handle_with(SPRINT, decide)
