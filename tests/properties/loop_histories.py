"""Random histories of a measured loop: iterations, setbacks, rollbacks, missing data."""

from typing import Any

from hypothesis import strategies as st
from msgspec.structs import asdict

from sprintlog.engine.judging.events import Metrics
from sprintlog.engine.log.event import Event
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.memory import MemoryLog
from sprintlog.engine.service.streams.catalogue import new_event, sprint_stream
from sprintlog.engine.service.streams.evaluation import Judged, evaluate
from sprintlog.engine.sprint.events import RolledBack, SprintStarted
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.iterations.loop import EndIteration, StartIteration
from sprintlog.engine.sprint.iterations.measurement import (
    CaptureBaseline,
    EndMeasuredIteration,
    FailMeasurement,
    measured_on_path,
)
from sprintlog.engine.sprint.iterations.rollback import RollBack, iteration_end
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.state.effective_history import effective_ranges
from sprintlog.engine.sprint.state.sprint import Sprint

AT = "2026-03-01T10:00:00Z"
PLAN = {"phases": [{"id": "a", "prompt": "Do a"}]}


@st.composite
def metrics(draw: st.DrawFn) -> Metrics:
    """Return metrics of a loop that is mostly green; any of them may be missing."""
    count = draw(st.sampled_from([10, 10, 10, 11, 12, 9]))
    passed = count - draw(st.sampled_from([0, 0, 0, 0, 1, 6]))
    return Metrics(
        test_count=draw(st.sampled_from([count, count, None])),
        tests_passed=passed,
        tests_failed=draw(st.sampled_from([count - passed, None])),
        coverage_percentage=draw(st.sampled_from([None, 80.0, 80.0, 81.0, 70.0])),
        lint_errors=draw(st.sampled_from([None, None, 0, 1, 9])),
        build_status=draw(st.sampled_from([None, "success", "success", "failed"])),
    )


STEPS = st.one_of(
    metrics(),
    metrics(),
    metrics(),
    st.sampled_from(["to the best", "to the best", "unmeasured", "failed"]),
    st.integers(1, 6),
)
"""Metrics end an iteration; a number goes back to the end of so many iterations ago."""


class LoopHistory:
    """A sprint whose events were decided by the rules, in a log that can be judged."""

    def __init__(self) -> None:
        self.log = MemoryLog(clock=lambda: 0, entropy=lambda count: bytes(count))
        self.events: list[Event] = []
        self.sprint = Sprint("s")
        self._record(CreateSprint(plan=PLAN).decide(self.sprint, AT))
        self._record([SprintStarted()])

    @property
    def judged(self) -> Judged:
        """Return its iterations as currently judged."""
        return evaluate(self.log, self.sprint)

    def take(self, step: Any) -> None:
        """Take one step."""
        if isinstance(step, Metrics):
            self._record(StartIteration().decide(self.sprint, AT))
            self._record(EndMeasuredIteration(metrics=asdict(step)).decide(self.sprint, AT))
        elif step == "unmeasured":
            self._record(StartIteration().decide(self.sprint, AT))
            self._record(EndIteration().decide(self.sprint, AT))
        elif step == "failed":
            self._record(StartIteration().decide(self.sprint, AT))
            self._record(FailMeasurement(error="no report").decide(self.sprint, AT))
        elif step == "to the best":
            if (target := self.judged.target()) is not None:
                self.go_back(target)
        elif started := self.sprint.knowledge.iterations:
            self.go_back(started[-min(step, len(started))][0])

    def measure_baseline(self, measured: Metrics) -> None:
        """Measure the state before any change."""
        self._record(CaptureBaseline(metrics=asdict(measured)).decide(self.sprint, AT))

    def go_back(self, number: int) -> None:
        """Roll back to the end of an iteration."""
        to = iteration_end(self.sprint.knowledge, number, version=self.sprint.version)
        self._record(RollBack(to=to, is_inside_append=False).decide(self.sprint, AT))

    def on_path(self) -> list[int]:
        """Return the measured iterations that the state is built on."""
        return measured_on_path(self.sprint)

    def _record(self, events: list[Event]) -> None:
        new_events = [new_event(event, at=AT, actor="runtime") for event in events]
        if new_events:
            self.log.append(sprint_stream("s"), new_events, expect=Expect.ANY)
        self.events += events
        recorded_events = [(at, AT, event) for at, event in enumerate(self.events, start=1)]
        back = [
            (at, event.to)
            for at, _, event in recorded_events
            if isinstance(event, RolledBack)
        ]
        self.sprint = fold(
            Sprint("s"), recorded_events, effective_ranges(back, len(recorded_events))
        )


@st.composite
def loop_histories(draw: st.DrawFn) -> LoopHistory:
    """Return a loop at some point of its history."""
    history = LoopHistory()
    if draw(st.booleans()):
        history.measure_baseline(draw(metrics()))
    for step in draw(st.lists(STEPS, min_size=1, max_size=14)):
        history.take(step)
    return history
