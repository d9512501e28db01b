"""Rows about the past: its cost in a large plan, and in a long log."""

from functools import partial
from itertools import islice
from pathlib import Path

from sprintlog.engine.sprint.events import NoteAdded
from sprintlog.projections.history.replay import replay
from sprintlog.projections.sql.proof import proven
from sprintlog.projections.sql.read_model import NAME, refreshed
from sprintlog.projections.workspace import Workspace
from tests.kept_states import keep_only

from ..logs import Bench, append_all, make_loop, make_sprint
from ..measure import OURS, Figure, duration, side_by_side
from ..samples import SPRINT, STREAM, loop, new_events

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
        keep_only(workspace.repository, workspace.repository.from_nothing(SPRINT))
    return folder


def _replay(workspace: Workspace) -> None:
    count = 0
    for step in replay(workspace, SPRINT):
        count += bool(step.changes()) + bool(step.json_patch())
    assert count > _EVENTS_A_REPLAY, count


def question_after_one_event(bench: Bench) -> Figure:
    """Measure updating the query tables after one more event, in a long and a short log.

    First, the digests of all its blocks prove that the file is unchanged.
    """
    lengths = bench.sizes.blame // 10, bench.sizes.blame
    folders = [_asked(bench, events) for events in lengths]
    with Workspace.open(folders[1]) as ours, Workspace.open(folders[0]) as theirs:
        digests = [
            side_by_side(partial(proven, one.location.folder / NAME), int, rounds=3)
            for one in (ours, theirs)
        ]
        sides = side_by_side(
            partial(_ask_again, ours),
            partial(_ask_again, theirs),
            rounds=bench.sizes.rounds,
        )
    ms = 1000 * digests[0].ours
    found = duration(sides, f"{OURS}{lengths[0]:,} events")
    return found._replace(note=f"of {lengths[1]:,} events, {ms:.0f} ms for the digests")


def _asked(bench: Bench, events: int) -> Path:
    """Return the folder of a log of a loop about which something was asked."""
    folder = bench.new_folder(f"asked-{events}")
    make_loop(folder, events)
    with Workspace.open(folder) as workspace:
        refreshed(workspace)
    return folder


def _ask_again(workspace: Workspace) -> None:
    version = workspace.log.version(STREAM)
    append_all(workspace.log, new_events(iter([NoteAdded("x")])), version=version)
    workspace.repository.save(workspace.repository.at_head(SPRINT))
    refreshed(workspace)
