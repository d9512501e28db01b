"""Rows about the page of a sprint: its cost in addition to fold and blame of the log."""

from collections.abc import Iterator
from functools import partial

from sprintlog.engine.judging.events import IterationMeasured, Metrics, Usage
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.events import AgentRan, IterationEnded, IterationStarted
from sprintlog.projections.history.blame_lines import blame_lines
from sprintlog.projections.page.document import page
from sprintlog.projections.workspace import Workspace

from ..logs import Bench, append_all, make_sprint
from ..measure import OURS, Figure, duration, side_by_side
from ..samples import PHASES, SPRINT, loop, new_events

ITERATIONS = 200


def page_of_200(bench: Bench) -> Figure:
    """Measure the page of 200 iterations against fold and blame of the same log."""
    folder = bench.new_folder("page")
    with make_sprint(folder, PHASES) as workspace:
        append_all(workspace.log, new_events(_measured()), version=1)
    with Workspace.open(folder) as ours, Workspace.open(folder) as theirs:
        sides = side_by_side(
            partial(page, ours, SPRINT),
            partial(_fold_and_blame, theirs),
            rounds=bench.sizes.rounds,
        )
        size = len(page(ours, SPRINT).encode())
    found = duration(sides, f"{OURS}fold and blame of the same log")
    return found._replace(note=f"{size:,} bytes")


def _measured() -> Iterator[Event]:
    """Yield a loop whose iterations are run by an agent and measured."""
    number = 0
    for event in loop():
        if isinstance(event, IterationStarted):
            if number:
                usage = Usage(40_000 + number, 3_000, cost_usd=0.5)
                yield AgentRan("", "completed", 0, usage=usage, iteration=number)
                yield IterationEnded(number, "the work of it")
                passed = 40 + number - number % 3
                metrics = Metrics(test_count=40 + number, tests_passed=passed)
                yield IterationMeasured(number, metrics, previous=number - 1 or None)
            if number == ITERATIONS:
                return
            number = event.number
        yield event


def _fold_and_blame(workspace: Workspace) -> None:
    sprint = workspace.repository.from_nothing(SPRINT)
    assert sum(1 for _ in blame_lines(workspace, sprint))
