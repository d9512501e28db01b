"""Pages of logs that are odd: long ones, many rollbacks, clocks that went backwards."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.iterations.events import IterationMeasured, Metrics, Usage
from sprintlog.engine.log.event import Event
from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.state.times import from_milliseconds
from sprintlog.projections.page.document import page
from sprintlog.projections.page.sections.events import ROWS_MAX
from sprintlog.projections.page.versions import VERSIONS_MAX
from sprintlog.projections.workspace import Workspace

from .logs import data_of

BEGIN_MS = 1_768_510_800_000
MINUTE_MS = 60_000
PLAN = {"sprint-id": "odd", "goal": "Win", "phases": []}
SIZE_MAX = 300_000


def workspace_with(
    folder: Path, events: Iterator[Event], *, step_ms: int = MINUTE_MS
) -> Workspace:
    """Return a workspace whose log has these events, one a minute."""
    workspace = Workspace.in_memory(folder, clock=lambda: 0, entropy=bytes)
    new = [
        new_event(event, at=from_milliseconds(BEGIN_MS + n * step_ms), actor="runtime")
        for n, event in enumerate(events)
    ]
    workspace.log.append("sprint/odd", new, expect=Expect.NONE)
    return workspace


def loop(iterations: int) -> Iterator[Event]:
    """Yield a loop that measures each of its iterations."""
    yield f.SprintCompiled(PLAN, f.Place("PROGRESS.yaml"))
    yield f.SprintStarted()
    for number in range(1, iterations + 1):
        tests = 40 + number
        yield f.IterationStarted(number)
        usage = Usage(40_000 + number, 3_000, cost_usd=0.4 + number % 7 / 10, turns=9)
        summary = f"iteration {number}: what was done, and what is left to do"
        yield f.AgentRan("", "completed", 0, duration_ms=240_000, usage=usage,
                         iteration=number, output=summary)  # fmt: skip
        yield f.IterationEnded(number, summary)
        metrics = Metrics(
            test_count=tests, tests_passed=tests - number % 3, error_count=number % 5,
            coverage_percentage=60 + number % 30, build_status="success",
        )  # fmt: skip
        yield IterationMeasured(number, metrics, previous=number - 1 or None)
        yield f.ActivitySeen()


def test_two_hundred_iterations_are_small(tmp_path: Path) -> None:
    """The page of 200 iterations is at most 300 KB, and has a row for each of them."""
    with workspace_with(tmp_path, loop(200)) as workspace:
        said = page(workspace, "odd")
    assert len(said.encode()) <= SIZE_MAX
    assert all(f'data-n="{number}"' in said for number in range(1, 201))


def test_no_log_has_no_page(tmp_path: Path) -> None:
    """Of a sprint without events one line says that there is none."""
    with (
        Workspace.in_memory(tmp_path, clock=lambda: 0, entropy=bytes) as workspace,
        pytest.raises(NotFoundError),
    ):
        page(workspace, "odd")


def test_a_long_log_is_bounded(tmp_path: Path) -> None:
    """Of many events the newest are there, and the page says how many are not."""

    def events() -> Iterator[Event]:
        yield from loop(2)
        yield from (f.ActivitySeen() for _ in range(9_000))

    with workspace_with(tmp_path, events(), step_ms=1_000) as workspace:
        said = page(workspace, "odd")
        count = workspace.sprint("odd").version
    data = data_of(said, "versions")
    first = data["first"]
    assert isinstance(first, int)
    assert count - VERSIONS_MAX <= first < count
    assert f"{count - ROWS_MAX:,} earlier ones" in said
    assert len(said.encode()) <= SIZE_MAX


def test_clocks_that_went_backwards(tmp_path: Path) -> None:
    """Whatever the clocks said, there is a page and nothing in it is negative."""
    with workspace_with(tmp_path, loop(5), step_ms=-MINUTE_MS) as workspace:
        said = page(workspace, "odd")
    assert 'width="-' not in said
    assert 'x="-' not in said


def test_two_hundred_rollbacks(tmp_path: Path) -> None:
    """Each is an arrow, and what they left behind is off the path."""

    def events() -> Iterator[Event]:
        yield f.SprintCompiled(PLAN, f.Place("PROGRESS.yaml"))
        yield f.SprintStarted()
        for number in range(1, 201):
            yield f.IterationStarted(number)
            yield f.RolledBack(2, f"try {number} was no good")

    with workspace_with(tmp_path, events()) as workspace:
        said = page(workspace, "odd")
    assert said.count('class="arrow"') == 200
    assert len(said.encode()) <= SIZE_MAX


def test_unknown_is_never_zero(tmp_path: Path) -> None:
    """An iteration that nobody measured has dashes, and no cost of $0.00."""

    def events() -> Iterator[Event]:
        yield f.SprintCompiled(PLAN, f.Place("PROGRESS.yaml"))
        yield f.SprintStarted()
        yield f.IterationStarted(1)
        yield f.AgentRan("", "completed", 0, iteration=1)
        yield f.IterationEnded(1)

    with workspace_with(tmp_path, events()) as workspace:
        said = page(workspace, "odd")
    assert "$0.00" not in said
    assert "<dt>cost</dt><dd>\N{EN DASH}" in said
