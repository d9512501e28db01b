"""The state of every sprint as OpenMetrics text, for monitoring systems.

An unknown figure has no sample, because 0 would be a value.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.state.times import parse
from sprintlog.engine.sprint.state.words import SPRINT_STATUSES

from ..views.quality import StandingAnswer
from ..views.runs import RUNNING
from ..views.work import Status

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"

Labels = dict[str, str]
Sample = tuple[Labels, float | int]


class Metric(NamedTuple):
    """A metric of a sprint: its name, type, meaning and samples."""

    name: str
    kind: str
    help: str
    samples: Callable[[Status], Iterable[Sample]]
    unit: str = ""
    of_now: bool = False
    """Whether the figure changes over time without new events."""


def openmetrics(position: int, sprints: Sequence[Status], *, is_now: bool = True) -> str:
    """Return a log and its sprints as OpenMetrics text.

    If `is_now` is false, only metrics that depend on the log alone are included, so that
    the output is reproducible.
    """
    log = Metric("log_events", "counter", "Events in the log.", lambda one: ())
    lines = [*_head(log), _line(log, {}, position)]
    for metric in METRICS:
        if metric.of_now and not is_now:
            continue
        lines += _head(metric)
        lines += [
            _line(metric, {"sprint": one.sprint, **labels}, value)
            for one in sprints
            for labels, value in metric.samples(one)
        ]
    return "\n".join([*lines, "# EOF", ""])


def _status(one: Status) -> Iterator[Sample]:
    if one.status in SPRINT_STATUSES:
        for word in SPRINT_STATUSES:
            yield {"sprintlog_sprint_status": word}, int(word == one.status)


def _last_activity(one: Status) -> Iterator[Sample]:
    if isinstance(one.last_activity, str):
        # Imported documents may contain any text.
        try:
            yield {}, round(parse(one.last_activity).timestamp(), 3)
        except InvalidInputError:
            return


def _by(label: str, counts: Mapping[str, int]) -> list[Sample]:
    return [({label: word}, number) for word, number in sorted(counts.items())]


def _phases(one: Status) -> list[Sample]:
    return _by("status", Counter(phase.status for phase in one.phases))


def _iteration(one: Status) -> Iterator[Sample]:
    stats: Any = one.stats if isinstance(one.stats, dict) else {}
    if isinstance(number := stats.get("current-iteration"), int):
        yield {}, number


def _scores(one: Status) -> Iterator[Sample]:
    if isinstance(one.iterations, StandingAnswer):
        for which in ("best", "last"):
            quality = getattr(one.iterations, which)
            if quality is not None and quality.score is not None:
                yield {"which": which}, quality.score


def _alerts(one: Status) -> list[Sample]:
    is_known = isinstance(one.iterations, StandingAnswer)
    return _by("severity", one.iterations.alerts) if is_known else []


def _tokens(one: Status) -> Iterator[Sample]:
    for kind in ("input", "output", "cache_read", "cache_creation"):
        known = getattr(one.spent, f"{kind}_tokens", None) if one.spent else None
        if isinstance(known, int):
            yield {"kind": kind}, known


def _bounds(one: Status) -> Iterator[Sample]:
    for name in one.spent.at_least if one.spent else ():
        yield {"figure": name}, 1


def _cost(one: Status) -> Iterator[Sample]:
    known = one.spent.cost_usd if one.spent else None
    if isinstance(known, float | int):
        yield {}, known


def _budgets(one: Status) -> Iterator[Sample]:
    for budget in one.budgets or ():
        if budget.limit:
            yield {"of": budget.of, "budget": budget.budget}, budget.spent / budget.limit


def _one(value: object) -> list[Sample]:
    """Return a figure without labels; empty if it is unknown."""
    return [({}, value)] if isinstance(value, float | int) else []


METRICS = (
    Metric(
        "sprint_events", "counter", "Events of the sprint.", lambda one: _one(one.version)
    ),
    Metric("sprint_status", "stateset", "Where the sprint stands.", _status),
    Metric(
        "sprint_stale",
        "gauge",
        "1 if nothing was recorded for 15 minutes.",
        lambda one: _one(int(one.stale)),
        of_now=True,
    ),
    Metric(
        "sprint_running",
        "gauge",
        "1 while a run of the loop goes on.",
        lambda one: _one(one.run and int(one.run.state == RUNNING)),
        of_now=True,
    ),
    Metric(
        "last_activity_timestamp_seconds",
        "gauge",
        "When the sprint was last worked on.",
        _last_activity,
        "seconds",
    ),
    Metric("phases", "gauge", "Phases, steps and sub-phases by their status.", _phases),
    Metric(
        "queue_requests",
        "gauge",
        "Requests of the queue by their status.",
        lambda one: _by("status", one.queue),
    ),
    Metric(
        "human_needed",
        "gauge",
        "In how many places a person is needed.",
        lambda one: _one(len(one.human_needed)),
    ),
    Metric("iteration", "gauge", "The number of the iteration.", _iteration),
    Metric("iteration_score", "gauge", "Quality of the best and the last one.", _scores),
    Metric("iteration_alerts", "gauge", "Alerts of the last one by severity.", _alerts),
    Metric(
        "agent_runs",
        "counter",
        "Runs of agents.",
        lambda one: _one(one.spent.runs) if one.spent else (),
    ),
    Metric(
        "agent_seconds",
        "counter",
        "How long agents ran.",
        lambda one: _one(one.spent.duration_ms / 1000) if one.spent else (),
        "seconds",
    ),
    Metric("agent_tokens", "counter", "Tokens that agents said they took.", _tokens),
    Metric("agent_cost_dollars", "counter", "What agents said it cost.", _cost, "dollars"),
    Metric(
        "agent_figure_at_least",
        "gauge",
        "1 for each figure of agents that is a lower bound.",
        _bounds,
    ),
    Metric("budget_spent_ratio", "gauge", "How much of it is spent.", _budgets, "ratio"),
)
"""The metrics of every sprint, in order; each name has the prefix `sprintlog_`."""


def _head(metric: Metric) -> Iterator[str]:
    name = f"sprintlog_{metric.name}"
    yield f"# TYPE {name} {metric.kind}"
    if metric.unit:
        yield f"# UNIT {name} {metric.unit}"
    yield f"# HELP {name} {metric.help}"


def _line(metric: Metric, labels: Labels, value: float | int) -> str:
    said = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
    suffix = "_total" if metric.kind == "counter" else ""
    return f"sprintlog_{metric.name}{suffix}{f'{{{said}}}' if said else ''} {value!r}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
