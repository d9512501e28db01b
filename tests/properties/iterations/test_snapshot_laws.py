"""Laws of snapshots: the files that an iteration ended with stay the iteration's."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.sprint.events import SnapshotTaken
from sprintlog.engine.sprint.iterations import loop
from sprintlog.engine.sprint.iterations.snapshots import (
    TakeSnapshot,
    purpose_now,
    snapshot_of,
)
from sprintlog.engine.sprint.phases import lifecycle
from sprintlog.engine.sprint.state.knowledge import WorkTree
from sprintlog.engine.sprint.state.sprint import open_iteration

from ..random_sprints import Life
from ..sprint.test_sprint_laws import laws

STEPS = 30
ONE_PHASE = {"phases": [{"id": "a", "prompt": "x"}]}


def measured_files(chance: Random) -> tuple[Life, dict[int, str]]:
    """Return a loop, and which files each iteration was measured with at its end."""
    life, ended = Life(chance, document=ONE_PHASE), dict[int, str]()
    life.command(lifecycle.StartSprint())
    for step in range(STEPS):
        number = life.sprint.plan.iteration
        is_open = open_iteration(life.sprint.plan) is not None
        match chance.choice(("begin", "end", "end", "look")):
            case "begin":
                life.handle_with(loop.StartIteration())
            case "end" if is_open:
                ended[number] = take(life, step)
                life.command(loop.EndIteration())
            case "look" if not is_open:
                take(life, step)
    return life, ended


def take(life: Life, step: int) -> str:
    """Take a snapshot as a command does now; return its id."""
    name, number = f"files-{step}", life.sprint.plan.iteration
    purpose = purpose_now(life.sprint, tree=WorkTree(None))
    life.command(
        TakeSnapshot(taken=SnapshotTaken(name, number, "t", 1, 1, purpose=purpose))
    )
    return name


@laws
@given(st.randoms(use_true_random=False))
def test_no_later_look_replaces_what_was_measured(chance: Random) -> None:
    """Whatever is saved after an iteration's end, its files are those it ended with."""
    life, ended = measured_files(chance)
    for number, name in ended.items():
        assert snapshot_of(life.sprint, number, tree=WorkTree(None)).snapshot == name
