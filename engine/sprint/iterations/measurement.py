"""Measurements of the baseline before any change, and of each iteration's result.

Custom metrics are the metrics that the current rules declare.
"""

import re
from collections.abc import Container, Sequence
from typing import Any

from msgspec import field
from msgspec.structs import asdict, replace

from ...command import Command, Events
from ...errors import NotFoundError, RefusedError
from ...judging import events as f
from ...judging.loop_rules import UNCHANGED_MAX
from ...judging.tracker import BASELINE_NUMBER, without_evidence, without_output
from ...log.event import Event, made_from
from ..answers.items import SaidItems
from ..events import AgentRan
from ..state import document_fields, transitions, words
from ..state.effective_history import effective_ranges, is_effective
from ..state.knowledge import newest_first
from ..state.sprint import Knowledge, Sprint, open_iteration
from . import loop, rollback

Origins = tuple[f.Origin, ...]
Runs = tuple[f.MeasuringRun, ...]
Reports = tuple[f.KeptReport, ...]

LOOP_ID = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}"
"""The pattern of a loop's id, which is also the name of its folder."""


def own_names(sprint: Sprint) -> tuple[str, ...]:
    """Return the custom metrics that the current rules declare or name in a condition."""
    # Imported here: most recording commands do not require exact numbers.
    from ...judging.conditions import undeclared

    rules = sprint.knowledge.tracker.rules_at(sprint.version)
    return (*(one.name for one in rules.metrics), *undeclared(rules))


def check_until(sprint: Sprint) -> None:
    """Raise `InvalidOptionError` for names in the condition that no measurement printed."""
    from ...judging.conditions import check_names, parse

    tracker = sprint.knowledge.tracker
    rules = tracker.rules_at(sprint.version)
    names = {one.name for one in rules.metrics}
    for measured in (tracker.baseline, tracker.last):
        names.update(measured.metrics.own if measured is not None else ())
    if rules.loop.until is not None:
        check_names(parse(rules.loop.until), names)


def pointers(sprint: Sprint) -> dict[str, str]:
    """Return the JSON Pointer of each custom metric that has one, by metric name."""
    rules = sprint.knowledge.tracker.rules_at(sprint.version)
    return {one.name: one.pointer for one in rules.metrics if one.pointer is not None}


class CaptureBaseline(Command, frozen=True):
    """Measure the baseline, iteration 0, before any other iteration (ITR-001)."""

    needs_context = True

    metrics: dict[str, Any]
    """The metrics by name."""
    loop_id: str | None = None
    origins: Origins = ()
    runs: Runs = ()
    reports: Reports = ()

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        # Imported here: most recording commands do not require exact numbers.
        from ...judging.metrics import check_metrics

        transitions.check_exists(sprint)
        tracker = sprint.knowledge.tracker
        if self.loop_id is not None and not re.fullmatch(LOOP_ID, self.loop_id):
            raise RefusedError(
                f"loop id {self.loop_id[:40]!r} must contain only letters, digits, `.`, "
                "`_` and `-`",
                field="loop_id",
            )
        metrics = check_metrics(self.metrics, own_names(sprint))
        event = made_from(f.BaselineCaptured, self, metrics=metrics)
        _check_any(event.metrics)
        if tracker.baseline == without_evidence(event):
            return []
        if not tracker.lacks_baseline:
            done = "the baseline" if tracker.baseline else f"iteration {tracker.highest}"
            raise RefusedError(
                f"the baseline cannot be captured: {done} is already measured",
                hint="use `sprintlog iteration baseline --from N` to make an iteration "
                "the baseline",
                command="baseline",
            )
        return [event]


class MeasureIteration(Command, frozen=True):
    """Measure an iteration, by default the latest; each can be measured only once."""

    metrics: dict[str, Any]
    """The metrics by name."""
    number: int | None = None
    score: float | None = None
    origins: Origins = ()
    usage: f.Usage | None = None
    tree: str | None = None
    runs: Runs = ()
    reports: Reports = ()
    altered: tuple[str, ...] = ()
    altered_measure: bool = False

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        from ...judging.metrics import check_metrics

        given, began = _begun(sprint, self.number)
        knowledge = sprint.knowledge
        if self.score is not None and not 0 <= self.score <= 1:
            raise RefusedError(
                f"score {self.score} is out of range (0 to 1)", field="score"
            )
        checked = check_metrics(self.metrics, own_names(sprint))
        previous = previous_of(knowledge, began)
        now = {"number": given, "metrics": checked, "previous": previous}
        event = made_from(f.IterationMeasured, self, **now)
        if self.score is None:
            _check_any(checked)
        last = knowledge.tracker.last
        if last is not None and replace(last, tree=None) == replace(
            without_evidence(event), tree=None
        ):
            return []
        _check_unmeasured(knowledge, given)
        return [event]


def with_tree(events: Sequence[Event], tree: str) -> list[Event]:
    """Return the events, with the work tree's digest added to a measurement."""
    return [
        replace(event, tree=tree) if isinstance(event, f.IterationMeasured) else event
        for event in events
    ]


class FailMeasurement(Command, frozen=True):
    """Record that an iteration, by default the latest, could not be measured.

    If nothing has been measured yet, `number` 0 refers to the baseline.
    """

    error: str
    number: int | None = None
    command: str | None = None
    exit_code: int | None = None
    timed_out: bool = False
    output: str = ""
    output_sha256: str | None = None
    runs: Runs = ()
    reports: Reports = ()

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        given = self.number
        if given != BASELINE_NUMBER or not sprint.knowledge.tracker.is_empty:
            given, _ = _begun(sprint, given)
        event = made_from(f.MeasurementFailed, self, number=given)
        # A repeated failure of the baseline is recorded: each rule measures it once.
        is_again = sprint.knowledge.tracker.failed == without_output(event)
        if is_again and given != BASELINE_NUMBER:
            return []
        _check_unmeasured(sprint.knowledge, given)
        return [event]


def unmeasured_iteration(sprint: Sprint) -> int | None:
    """Return the latest effective iteration if it lacks a measurement, or None.

    An iteration that is still running is not due yet, unless its measurement failed. If
    nothing was ever measured, no measurement is missing.
    """
    tracker, number = sprint.knowledge.tracker, current_iteration(sprint)
    if number is None or tracker.has_measured(number):
        return None
    # Without a rule, advice on an agent's own figures is all that a loop can have.
    by_rule = tracker.rules_at(sprint.version).loop.measure is not None
    if tracker.entry(number) is not None and not by_rule:
        return None
    is_judged = bool(tracker.highest or tracker.baseline)
    is_due = is_judged and open_iteration(sprint.plan) != number
    return number if is_due or tracker.has_failed(number) else None


def is_unchanged(sprint: Sprint) -> bool:
    """Return whether a loop for a goal must stop because its iterations change nothing."""
    plan, tracker = sprint.plan, sprint.knowledge.tracker
    if tracker.unchanged < UNCHANGED_MAX or tracker.unchanged_at != plan.iteration:
        return False
    is_open = plan.is_at_goal and plan.status != words.COMPLETED
    return is_open and plan.iteration >= document_fields.min_iterations(plan.document)


def measured_on_path(sprint: Sprint) -> list[int]:
    """Return the measured iterations that led to the current state, in order.

    Each iteration started on the effective path and was measured or ended on it: a late
    measurement applies to the state at the end of its iteration.
    """
    knowledge = sprint.knowledge
    if not knowledge.rollbacks:
        return sorted(knowledge.tracker.numbers())
    stretches = effective_ranges(knowledge.rollbacks, sprint.version)
    began = dict(knowledge.iterations)
    found: list[int] = []
    late: list[int] = []
    for number, version in knowledge.tracker.versions():
        if is_effective(stretches, began.get(number, version)):
            (found if is_effective(stretches, version) else late).append(number)
    if late:
        ends = rollback.iteration_ends(knowledge, version=sprint.version)
        found += [n for n in late if n in ends and is_effective(stretches, ends[n])]
    return sorted(found)


def observed_measurement(sprint: Sprint, event: f.IterationMeasured) -> f.IterationMeasured:
    """Return another tool's measurement, linked to the previous iteration.

    The start of the iteration may be unknown, so the last measured iteration is assumed to
    precede it.
    """
    number = event.number or current_iteration(sprint) or 0
    last = previous_of(sprint.knowledge, sprint.version)
    return replace(event, number=number, previous=None if last == number else last)


class EndMeasuredIteration(Command, frozen=True):
    """End the current iteration and record its measurement in a single append."""

    metrics: dict[str, Any]
    """The metrics by name."""
    summary: str | None = None
    score: float | None = None
    origins: Origins = ()
    usage: f.Usage | None = None
    tree: str | None = None
    ran: AgentRan | None = None
    said: SaidItems | None = None
    runs: Runs = ()
    reports: Reports = ()
    altered: tuple[str, ...] = ()
    altered_measure: bool = False
    params: dict[str, str] = field(default_factory=dict)
    """The parameters of the iteration."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        ending = loop.EndIteration(None, self.summary, self.ran, self.said, self.params)
        ended = ending.decide(sprint, at)
        return [*ended, *made_from(MeasureIteration, self).decide(sprint, at)]


def current_iteration(sprint: Sprint) -> int | None:
    """Return the number of the newest effective iteration, or None."""
    stretches = effective_ranges(sprint.knowledge.rollbacks, sprint.version)
    started = newest_first(sprint.knowledge.starts)
    return next((number for number, at in started if is_effective(stretches, at)), None)


def previous_of(knowledge: Knowledge, began: int) -> int | None:
    """Return the last iteration measured before another iteration started.

    Iterations that changed their measure are skipped. Without an earlier iteration on the
    path, return the baseline, or None without a baseline.
    """
    last = last_measured(knowledge, began, without=knowledge.tracker.changed)
    if last is None and knowledge.tracker.baseline is not None:
        return BASELINE_NUMBER
    return last


def last_measured(
    knowledge: Knowledge, version: int, *, without: Container[int] = ()
) -> int | None:
    """Return the last measured iteration on the path to a version, or None."""
    stretches = effective_ranges(knowledge.rollbacks, version)
    entries = (e for e in knowledge.tracker.newest_first() if e.number not in without)
    return next((e.number for e in entries if is_effective(stretches, e.version)), None)


def _captures(event: f.BaselineCaptured) -> CaptureBaseline:
    return made_from(CaptureBaseline, event, metrics=asdict(event.metrics))


def _measures(event: f.IterationMeasured) -> MeasureIteration:
    number, metrics = event.number or None, asdict(event.metrics)
    return made_from(MeasureIteration, event, number=number, metrics=metrics)


def _begun(sprint: Sprint, number: int | None) -> tuple[int, int]:
    """Return the number of a started iteration and the version of its start."""
    transitions.check_exists(sprint)
    given = current_iteration(sprint) if number is None else number
    if given is None:
        raise NotFoundError(
            "there is no iteration to measure: none was started",
            hint="use `sprintlog iteration start` to start one; `iteration baseline` "
            "does not need one",
        )
    starts = newest_first(sprint.knowledge.starts)
    began = next((at for n, at in starts if n == given), None)
    if began is None:
        raise NotFoundError(f"iteration {given} was never started", iteration=given)
    return given, began


def _check_unmeasured(knowledge: Knowledge, number: int) -> None:
    if knowledge.tracker.has_measured(number):
        raise RefusedError(
            f"iteration {number} is already measured, and a measurement never changes",
            hint="use `sprintlog iteration start` to start the next one, or `sprintlog "
            f"iteration retract {number} --reason TEXT` to remove the measurement",
            iteration=number,
            command="measure",
        )


def _check_any(metrics: object) -> None:
    if metrics == type(metrics)():
        raise RefusedError(
            "nothing was measured: specify at least one metric",
            hint="use --metric NAME=VALUE, --metrics FILE or --score",
            command="measure",
        )


Measuring = CaptureBaseline | MeasureIteration | EndMeasuredIteration
"""The commands that record measurements."""


CAUSED: Events = {
    f.BaselineCaptured: _captures,
    f.IterationMeasured: _measures,
    f.MeasurementFailed: FailMeasurement,
}
