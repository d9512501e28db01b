"""After many iterations the tracker reads no more events than after few."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from sprintlog.engine.judging import tracker as tracker_module
from sprintlog.engine.judging.evaluation import Judge, Judgement
from sprintlog.engine.judging.events import IterationMeasured
from sprintlog.engine.judging.exact import rounded
from sprintlog.engine.judging.metrics import check_metrics
from sprintlog.engine.judging.tracker import UNKEPT, TrackedIteration, Tracker
from sprintlog.engine.service.streams.evaluation import evaluate
from sprintlog.engine.sprint.events import IterationStarted, Place, SprintCompiled
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.state_files.loop_files import write_loop_files
from sprintlog.projections.state_files.tracker import tracker_data
from sprintlog.projections.views.iterations import best, summary
from sprintlog.projections.workspace import Workspace

from .test_workspace import make

DOCUMENT = {"sprint-id": "s", "phases": [{"id": "a", "prompt": "x"}]}


ScoreOf = Callable[[int], float | None]
"""Answers which score an iteration is given."""


def varied(number: int) -> float | None:
    """Return a score for every other iteration."""
    return number % 9 / 8 if number % 2 else None


def lost_at_once(number: int) -> float:
    """Return a score that only the first has."""
    return 0.9 if number == 1 else 0.1


@pytest.fixture
def read() -> list[int]:
    """Provide the versions that were read of any stream, individually or for a fold."""
    return []


@contextmanager
def measured(
    folder: Path, iterations: int, read: list[int], score_of: ScoreOf = varied
) -> Iterator[Workspace]:
    """Provide a workspace with a loop of many iterations, counting its reads."""
    with make("sqlite", folder) as workspace:
        place = Place("PROGRESS.yaml")
        workspace.handle_with("s", lambda sprint, at: [SprintCompiled(DOCUMENT, place)])
        for number in range(1, iterations + 1):
            metrics = check_metrics({"test_count": 900, "tests_passed": 800 + number % 7})
            events = [
                IterationStarted(number),
                IterationMeasured(number, metrics, number - 1 or None, score_of(number)),
            ]
            workspace.handle_with("s", lambda sprint, at, made=events: [*made])  # type: ignore[misc]
        scan = workspace.log.scan

        def counting(*given: Any, **bounds: Any) -> Iterator[Any]:
            for page in scan(*given, **bounds):
                read.extend(page.versions)
                yield page

        workspace.log.scan = counting  # type: ignore[method-assign]
        yield workspace


def test_the_tracker_reads_as_much_after_many(tmp_path: Path, read: list[int]) -> None:
    """Its trajectory is in the state; only the last ones and the best are judged."""
    counts = []
    for iterations in (20, 200):
        with measured(tmp_path / str(iterations), iterations, read) as workspace:
            sprint = workspace.sprint("s")
            read.clear()
            data = tracker_data(evaluate(workspace.log, sprint))
            counts.append(len(read))
            trajectory = data["best_iteration_tracker"]["quality_trajectory"]
            assert len(trajectory) == iterations
    assert counts[1] <= counts[0] + 2


def test_a_list_reads_each_iteration_once(tmp_path: Path, read: list[int]) -> None:
    """A list judges each iteration once; finding the best costs the same in long loops."""
    alone = []
    # The same measurements repeat after 63 iterations.
    for iterations in (80, 80 + 126):
        with measured(tmp_path / str(iterations), iterations, read) as workspace:
            sprint = workspace.sprint("s")
            read.clear()
            best(evaluate(workspace.log, sprint))
            alone.append(len(read))
            read.clear()
            found = summary(workspace, evaluate(workspace.log, sprint))
            assert len(found.iterations) == iterations
            assert len(read) <= 2 * iterations + alone[0]
    assert alone[1] <= alone[0] + 2


def test_the_trajectory_is_what_the_judgements_say(tmp_path: Path, read: list[int]) -> None:
    """Values are rounded as shown, including those too large to be stored."""
    huge = {3: 3e300}
    with measured(tmp_path, 30, read, lambda n: huge.get(n, varied(n))) as workspace:
        judged = evaluate(workspace.log, workspace.sprint("s"))
        expected = {
            one.number: one.score.value and int(rounded(one.score.value, 2) * 100)
            for one in judged.all()
        }
        assert judged.hundredths() == expected
        assert UNKEPT in [entry.hundredths for entry in judged.tracker.measured]
        until = judged.all()[9].version
        assert [*judged.hundredths(until)] == [*range(1, 11)]


def test_all_reports_are_written_in_one_fold(tmp_path: Path, read: list[int]) -> None:
    """All iterations are folded in order, although no states were saved."""
    with measured(tmp_path, 100, read) as workspace:
        sprint = workspace.sprint("s")
        workspace.log.checkpoints.forget("sprint/s")
        folded: list[int] = []
        fold_rows = workspace.repository.kind.fold_rows

        def counting(state: Sprint, pages: Any, live: Any) -> Sprint:
            after = state.version
            found = fold_rows(state, pages, live)
            folded.append(found.version - after)
            return found

        kind = structs.replace(workspace.repository.kind, fold_rows=counting)
        workspace.repository.kind = kind
        write_loop_files(workspace, sprint)
        assert sum(folded) <= sprint.version


@pytest.mark.long
def test_reports_of_setbacks_look_back_over_what_is_new(
    tmp_path: Path, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If each iteration loses the previous one's gain, no report judges all of them."""
    judged: list[int] = []
    judge = Judge.judge

    def counting(self: Judge, number: int) -> Judgement:
        judged.append(number)
        return judge(self, number)

    monkeypatch.setattr(Judge, "judge", counting)
    for iterations in (20, 60):
        folder = tmp_path / str(iterations)
        with measured(folder, iterations, read, lost_at_once) as workspace:
            sprint = workspace.sprint("s")
            judged.clear()
            read.clear()
            write_loop_files(workspace, sprint)
            assert len(judged) <= 10 * iterations
            assert len(read) <= 20 * iterations


def test_an_entry_is_found_among_bytes_that_look_like_it() -> None:
    """By its number, the newest of several, as a search through all of them finds it."""
    tracker = Tracker()
    numbers = [1, 256, 65536, 2, 512, 1 << 24, 258, 256, 0, 131072]
    for version, number in enumerate(numbers, start=1):
        entry = TrackedIteration(number, version * 256, number, False, True, version)
        tracker.keep(entry)
        tracker.highest = max(tracker.highest, number)
    for number in [*numbers, 3, 257, 1 << 16, -1]:
        expected = next((e for e in tracker.newest_first() if e.number == number), None)
        assert tracker.entry(number) == expected


def test_of_many_entries_few_are_looked_at_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only iterations whose numbers start with the same digits are examined."""
    looks: list[int] = []

    class Counting:
        """A list that records which numbers are read."""

        def unpack_from(self, ledger: bytearray, place: int) -> tuple[int]:
            looks.append(place)
            return (int.from_bytes(ledger[place : place + 4], "little"),)

    monkeypatch.setattr(tracker_module, "_NUMBER", Counting())
    tracker = Tracker(highest=1024)
    for number in range(1, 1025):
        tracker.keep(TrackedIteration(number, 3 * number, number - 1, False))
    for number in (1, 500, 1024):
        looks.clear()
        found = tracker.entry(number)
        assert found is not None
        assert found.number == number
        assert len(looks) <= 4
