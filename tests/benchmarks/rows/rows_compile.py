"""Rows about compiling: the cost of a phase in a small and in a large sprint."""

import json
from pathlib import Path
from typing import Any

from sprintlog.cli.intake.definition import compile_files
from sprintlog.engine.sprint.plan.recompile import TakePlan
from sprintlog.projections.workspace import Workspace

from ..logs import Bench
from ..measure import OURS, PROCESSOR, Figure, duration, side_by_side
from ..samples import PHASES, SPRINT, START, address

_MAIN = {"phases": [{"id": "build", "for-each": "step", "workflow": "one"}]}
_SUB_PHASES = ("write", "check", "review", "tidy")


def per_phase(bench: Bench) -> Figure:
    """Measure a sub-phase, compiled from files and recorded, in a large sprint."""
    return _against_small(bench, _compile_and_record)


def without_recording(bench: Bench) -> Figure:
    """Measure a sub-phase, compiled from files, in a large sprint."""
    return _against_small(bench, lambda bench, folder: compile_files(folder))


def _against_small(bench: Bench, work: Any) -> Figure:
    phases = bench.sizes.phases
    large, small = (_definition(bench, size) for size in (phases, PHASES))
    sides = side_by_side(
        lambda: work(bench, large),
        lambda: work(bench, small),
        rounds=bench.sizes.rounds,
        by=PROCESSOR,
        units=(phases, PHASES),
    )
    against = f"{OURS}the same at {PHASES} phases"
    return duration(sides, against, unit="µs", per_second=1e6)


def _compile_and_record(bench: Bench, folder: Path) -> None:
    log = bench.new_folder(f"compiled-{len(list(bench.folder.iterdir()))}")
    compiled = compile_files(folder)
    with Workspace.init(log, here=True) as workspace:
        decided = workspace.handle_with(
            SPRINT,
            lambda sprint, at: TakePlan(plan=compiled.plan).decide(sprint, at),
            at=START,
        )
        assert len(decided.events) == 1


def _definition(bench: Bench, phases: int) -> Path:
    """Write a definition with sub-phases as JSON, which is also YAML; return its folder."""
    folder = bench.folder / f"definition-{phases}"
    if folder.exists():
        return folder
    home = folder / ".claude" / "workflows"
    home.mkdir(parents=True)
    one = [
        {"id": name, "prompt": f"{name} {{{{item.id}}}}: {{{{item.prompt}}}}"}
        for name in _SUB_PHASES
    ]
    (home / "main.yaml").write_text(json.dumps(_MAIN, indent=1))
    (home / "one.yaml").write_text(json.dumps({"phases": one}, indent=1))
    steps = "".join(
        f"  - id: {address(index)}\n    prompt: |\n      {'Make the form work. ' * 5}\n"
        f"      {'Then try it out. ' * 5}\n"
        for index in range(phases // len(_SUB_PHASES))
    )
    (folder / "SPRINT.yaml").write_text(
        f"workflow: main\nsprint-id: {SPRINT}\nsteps:\n{steps}"
    )
    return folder
