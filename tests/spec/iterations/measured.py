"""Measured iterations: metrics in short form, the worked loops, and their judgement."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sprintlog.engine.judging.evaluation import Judge, Judgement
from sprintlog.engine.judging.events import (
    BaselineCaptured,
    IterationMeasured,
    Metrics,
    RulesSet,
)
from sprintlog.engine.judging.metrics import Figures, figures
from sprintlog.engine.judging.tracker import TAKE, Tracker
from sprintlog.engine.log.event import Event

COLUMNS = (
    "test_count",
    "tests_passed",
    "coverage_percentage",
    "lint_errors",
    "lint_warnings",
    "type_errors",
    "complexity_score",
    "loc_total",
)
Row = tuple[float, ...]

BASELINE_OF_REGRESSION: Row = (8, 5, 65, 8, 4, 0, 12.5, 450)
REGRESSION: tuple[Row, ...] = (
    (8, 6, 70, 10, 4, 0, 12.5, 455),
    (10, 8, 75, 9, 5, 2, 12.5, 470),
    (9, 7, 72, 14, 5, 2, 14, 470),
)
"""A loop whose third iteration deletes a test."""
BASELINE_OF_PEAK: Row = (8, 5, 65, 20, 20, 2, 12.5, 450)
PEAK: tuple[Row, ...] = (
    (8, 6, 68, 19, 20, 0, 12.5, 460),
    (10, 9, 78, 8, 10, 0, 12, 480),
    (10, 10, 85, 0, 15, 2, 14.5, 500),
    (10, 10, 83, 7, 10, 0, 14.5, 510),
    (10, 9, 80, 10, 5, 4, 15, 520),
)
"""A loop that is best at its third iteration and refines too much after it."""

GREEN_ROW: Row = (10, 10, 85, 0, 15, 2, 14.5, 500)


def named(row: Row) -> dict[str, Any]:
    """Return the metrics of a row by their names, with a build and three files."""
    whole = dict(zip(COLUMNS, row, strict=False))
    for name in COLUMNS:
        if name in whole and name not in ("coverage_percentage", "complexity_score"):
            whole[name] = int(whole[name])
    return {**whole, "build_status": "success", "file_count": 3}


def metrics(row: Row) -> Metrics:
    """Return the metrics of a row."""
    return Metrics(**named(row))


def now(**known: Any) -> Figures:
    """Return the values of some metrics."""
    return figures(Metrics(**known))


class Measured:
    """A loop whose events were folded one by one."""

    def __init__(self, baseline: Metrics | Row | None = None) -> None:
        self.tracker = Tracker()
        self.events: dict[int, Event] = {}
        if baseline is not None:
            whole = baseline if isinstance(baseline, Metrics) else metrics(baseline)
            self.take(BaselineCaptured(whole))

    def take(self, event: Event) -> int:
        """Apply an event; return its version."""
        version = len(self.events) + 1
        self.events[version] = event
        TAKE[type(event)](self.tracker, event, version)
        return version

    def measure(
        self,
        measured: Metrics | Row,
        *,
        number: int | None = None,
        previous: int | None = -1,
        score: float | None = None,
    ) -> Judgement:
        """Measure the next iteration, by default based on the previous one."""
        given = self.tracker.highest + 1 if number is None else number
        built_on = previous
        if previous == -1:
            built_on = self.tracker.highest or (0 if self.tracker.baseline else None)
        whole = measured if isinstance(measured, Metrics) else metrics(measured)
        self.take(IterationMeasured(given, whole, built_on, score))
        return self.judge(given)

    def judge(self, number: int) -> Judgement:
        """Return the judgement of an iteration."""
        return self._judge().judge(number)

    def all(self) -> list[Judgement]:
        """Return the judgement of all of them."""
        return self._judge().all()

    def baseline(self) -> Judgement | None:
        """Return the judgement of iteration 0."""
        return self._judge().baseline()

    def best(self) -> Judgement | None:
        """Return the judgement of the tracker's best iteration."""
        best = self.tracker.best
        return None if best is None else self.judge(best.number)

    @property
    def rules(self) -> RulesSet:
        """Return the current rules."""
        return self.tracker.rules_at(len(self.events))

    def _judge(self) -> Judge:
        return Judge(self.tracker, lambda version: (f"v{version}", self.events[version]))


def loop(baseline: Metrics | Row | None, rows: Sequence[Metrics | Row]) -> Measured:
    """Return a loop with all of its iterations measured."""
    measured = Measured(baseline)
    for row in rows:
        measured.measure(row)
    return measured


def percent(text: str) -> Fraction:
    """Return a decimal exactly."""
    return Fraction(text)
