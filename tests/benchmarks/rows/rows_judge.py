"""Rows about judging iterations: the cost of one, however many there were before."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from sprintlog.engine.judging.events import IterationMeasured, RulesSet
from sprintlog.engine.judging.loop_rules import LoopRules, MeasureRules
from sprintlog.engine.judging.metrics import check_metrics
from sprintlog.engine.log.event import Event
from sprintlog.engine.service.streams.evaluation import evaluate
from sprintlog.engine.sprint.events import (
    AgentRan,
    IterationEnded,
    IterationStarted,
    RolledBack,
    SnapshotTaken,
    SprintStarted,
)
from sprintlog.engine.sprint.iterations.loop import StartIteration
from sprintlog.engine.sprint.iterations.measurement import EndMeasuredIteration
from sprintlog.projections.state_files.loop_files import tracker_yaml, write_loop_files
from sprintlog.projections.views.iterations import summary
from sprintlog.projections.workspace import Workspace
from tests.kept_states import keep_only

from ..logs import Bench, append_all, make_sprint
from ..measure import OURS, PROCESSES, Figure, duration, side_by_side
from ..samples import PHASES, SPRINT, new_events
from .rows_process import Shell

FEW = 10
ENDED = 20
"""How many iterations are ended in a round."""
REPORTED = 1_000
"""How many iterations of a long loop have reports."""


def resident(bench: Bench) -> Figure:
    """Measure an iteration that is started, ended, judged and shown, in one process."""
    sides = []
    for iterations in (bench.sizes.iterations, FEW):
        folder = bench.new_folder(f"resident-{iterations}")
        make_measured(folder, iterations)
        sides.append(Workspace.open(folder))
    many, few = sides
    found = side_by_side(
        lambda: _end(many, ENDED),
        lambda: _end(few, ENDED),
        rounds=bench.sizes.rounds,
        units=(ENDED, ENDED),
    )
    for workspace in sides:
        workspace.close()
    return duration(found, f"{OURS}the same after {FEW} iterations")


def opened(bench: Bench) -> Figure:
    """Measure the same with the log opened each time, as a command does."""
    folders = []
    for iterations in (bench.sizes.iterations, FEW):
        folders.append(bench.new_folder(f"opened-{iterations}"))
        make_measured(folders[-1], iterations)

    def end_each(folder: Path) -> None:
        for _ in range(ENDED):
            with Workspace.open(folder) as workspace:
                _end(workspace, 1)

    many, few = folders
    found = side_by_side(
        lambda: end_each(many),
        lambda: end_each(few),
        rounds=bench.sizes.rounds,
        units=(ENDED, ENDED),
    )
    return duration(found, f"{OURS}the same after {FEW} iterations")


def tracked(bench: Bench) -> Figure:
    """Measure generating the tracker's file for a long loop with its full trajectory."""
    sides = []
    for iterations in (bench.sizes.iterations, FEW):
        folder = bench.new_folder(f"tracked-{iterations}")
        make_measured(folder, iterations)
        sides.append(Workspace.open(folder))

    def track(workspace: Workspace, times: int) -> None:
        for _ in range(times):
            assert tracker_yaml(evaluate(workspace.log, workspace.sprint(SPRINT)))

    many, few = sides
    found = side_by_side(
        lambda: track(many, 1),
        lambda: track(few, ENDED),
        rounds=bench.sizes.rounds,
        units=(1, ENDED),
    )
    for workspace in sides:
        workspace.close()
    return duration(found, f"{OURS}the same after {FEW} iterations")


def listed(bench: Bench) -> Figure:
    """Measure the list of all iterations, by the iteration, in a long and a short loop."""
    counts = bench.sizes.iterations, FEW
    sides = []
    for iterations in counts:
        folder = bench.new_folder(f"listed-{iterations}")
        make_measured(folder, iterations)
        sides.append(Workspace.open(folder))
    many, few = sides
    found = side_by_side(
        lambda: summary(many, evaluate(many.log, many.sprint(SPRINT))),
        lambda: summary(few, evaluate(few.log, few.sprint(SPRINT))),
        rounds=bench.sizes.rounds,
        units=counts,
    )
    for workspace in sides:
        workspace.close()
    return duration(found, f"{OURS}each of {FEW} iterations")


def shown(bench: Bench) -> Figure:
    """Measure `show best` as a command, in a long and a short loop."""
    return _typed(bench, make_measured, "show", "best")


def stood(bench: Bench) -> Figure:
    """Measure `status` in the morning after a long and a short night.

    The files of each iteration are stored, and the last setback should be rolled back, like
    an earlier one, so that all queries about the past occur.
    """
    return _typed(bench, make_night, "status")


def _typed(bench: Bench, make: Callable[[Path, int], None], *words: str) -> Figure:
    """Measure a command in a long and a short loop."""
    shells = []
    for iterations in (bench.sizes.iterations, FEW):
        folder = bench.new_folder(f"{words[0]}-{iterations}")
        make(folder, iterations)
        shells.append(Shell(bench, folder))
    many, few = shells
    found = side_by_side(
        lambda: many.sprintlog(*words),
        lambda: few.sprintlog(*words),
        rounds=bench.sizes.processes // 2 + 1,
        by=PROCESSES,
    )
    return duration(found, f"{OURS}the same after {FEW} iterations")


def reported(bench: Bench) -> Figure:
    """Measure `report --write`, by the iteration; all but the first are setbacks."""
    counts = min(REPORTED, bench.sizes.iterations), FEW
    sides = []
    for iterations in counts:
        folder = bench.new_folder(f"reported-{iterations}")
        make_measured(folder, iterations, _lost_at_once)
        sides.append(Workspace.open(folder))
    many, few = sides
    found = side_by_side(
        lambda: write_loop_files(many, many.sprint(SPRINT)),
        lambda: write_loop_files(few, few.sprint(SPRINT)),
        rounds=bench.sizes.rounds,
        units=counts,
    )
    for workspace in sides:
        workspace.close()
    return duration(found, f"{OURS}each of {FEW} iterations")


def make_measured(
    folder: Path, iterations: int, score_of: Callable[[int], float | None] = lambda _: None
) -> None:
    """Create a log of a loop with a number of measured iterations."""
    _make(folder, _loop(iterations, score_of))


def make_night(folder: Path, iterations: int) -> None:
    """Create a log as left by a `run` that measures, saves files and rolled back."""
    _make(folder, _night(iterations))


def _make(folder: Path, events: Iterator[Event]) -> None:
    with make_sprint(folder, PHASES) as workspace:
        append_all(workspace.log, new_events(events), version=1)
        keep_only(workspace.repository, workspace.repository.from_nothing(SPRINT))
        workspace.refresh(SPRINT)


def _loop(iterations: int, score_of: Callable[[int], float | None]) -> Iterator[Event]:
    yield SprintStarted()
    for number in range(1, iterations + 1):
        yield IterationStarted(number)
        measured = check_metrics(_metrics(number))
        yield IterationMeasured(number, measured, number - 1 or None, score_of(number))


def _night(iterations: int) -> Iterator[Event]:
    """Yield iterations that improve, and at the end two that lose tests.

    The first of these was rolled back.
    """
    yield RulesSet(loop=LoopRules(measure=MeasureRules(("make test",)), keeps_files=True))
    yield SprintStarted()
    best = iterations - 2
    for number in range(1, iterations + 1):
        lost = number > best
        metrics = {"test_count": 900, "tests_passed": 800 if lost else 890}
        metrics["lint_errors"] = 0 if lost else iterations - number
        yield IterationStarted(number)
        yield AgentRan("", "completed", exit_code=0, duration_ms=8, iteration=number)
        yield IterationEnded(number, summary=f"did {number}")
        built_on = best if lost else number - 1 or None
        yield IterationMeasured(number, check_metrics(metrics), built_on)
        yield SnapshotTaken(f"{number:040x}", number, f"{number:040x}", 5, 3_000)
        if number == best + 1:
            # After the plan, the rules and the start, each iteration has five events.
            yield RolledBack(3 + 5 * best)


def _lost_at_once(number: int) -> float:
    return 0.9 if number == 1 else 0.1


def _metrics(number: int) -> dict[str, int | float]:
    return {
        "test_count": 900 + number % 7,
        "tests_passed": 890 + number % 5,
        "coverage_percentage": 80 + number % 11 / 10,
        "lint_errors": number % 3,
        "lint_warnings": number % 13,
        "loc_total": 40_000 + number,
    }


_numbers = count(10_000)


def _end(workspace: Workspace, times: int) -> None:
    for _ in range(times):
        metrics = _metrics(next(_numbers))
        workspace.handle_with(
            SPRINT, lambda sprint, at: StartIteration().decide(sprint, at)
        )
        outcome = workspace.handle_with(
            SPRINT,
            lambda sprint, at, given=metrics: EndMeasuredIteration(metrics=given).decide(
                sprint, at
            ),  # type: ignore[misc]
        )
        assert evaluate(workspace.log, outcome.sprint).recommendation()
        workspace.refresh(SPRINT)
