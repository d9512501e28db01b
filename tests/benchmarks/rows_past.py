"""Rows about the past: what it costs in a large plan, and in a long log."""

from functools import partial
from itertools import islice
from pathlib import Path

from sprintlog.projections.history.timeline import replay
from sprintlog.projections.workspace import Workspace

from .logs import Bench, append_all, make_sprint
from .measure import OURS, Figure, duration, side_by_side
from .samples import SPRINT, loop, new_events

PLAN_SMALL, PLAN_LARGE = 10, 1_000
_EVENTS_A_REPLAY = 4_000


def replay_of_a_large_plan(bench: Bench) -> Figure:
    """Measure the replay of the same events in a large plan against a small one."""
    small, large = (_plan_of(bench, phases) for phases in (PLAN_SMALL, PLAN_LARGE))
    with Workspace.open(large) as ours, Workspace.open(small) as theirs:
        sides = side_by_side(
            partial(_replay, ours), partial(_replay, theirs), rounds=bench.sizes.rounds
        )
    return duration(sides, f"{OURS}the same events, {PLAN_SMALL} phases")


def _plan_of(bench: Bench, phases: int) -> Path:
    """Return the folder of a log in which only some phases of a plan are worked on."""
    folder = bench.new_folder(f"plan-{phases}")
    with make_sprint(folder, phases) as workspace:
        events = islice(loop(PLAN_SMALL), _EVENTS_A_REPLAY)
        append_all(workspace.log, new_events(events), version=1)
        workspace.repository.renew(workspace.repository.from_nothing(SPRINT))
    return folder


def _replay(workspace: Workspace) -> None:
    count = 0
    for step in replay(workspace, SPRINT):
        count += bool(step.changes()) + bool(step.json_patch())
    assert count > _EVENTS_A_REPLAY, count
