"""Answers about the quality of iterations, and the rules for judging it."""

from collections import Counter
from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType, convert
from msgspec.structs import asdict, replace

from sprintlog.engine.judging.changes import deltas
from sprintlog.engine.judging.evaluation import Judgement
from sprintlog.engine.judging.events import OwnMetric, RulesSet
from sprintlog.engine.service.streams.evaluation import Judged
from sprintlog.engine.sprint.events import Budgets

from . import iterations as views
from .events import filled
from .files import FileChange
from .iteration_quality import standing
from .iterations import Advice, Figures, JudgedIteration, side
from .runs import spending


class Policies(Struct, frozen=True):
    """The policies for verification and for edits of state files."""

    verification_required: bool
    progress_edits: str


class MeasureAnswer(Struct, frozen=True):
    """How each iteration is measured; paths are relative to the work tree's root."""

    runs: tuple[str, ...]
    builds: tuple[str, ...]
    reports: tuple[str, ...]
    sources: tuple[str, ...]
    timeout_seconds: float


class LoopAnswer(Struct, frozen=True):
    """The automatic actions of a loop before and after its iterations."""

    measure: MeasureAnswer | None
    """Null if nothing is measured."""
    keeps_files: bool
    on_regression: str
    rollbacks_max: int
    selects: bool
    on_tamper: str
    until: str | None
    """The condition that a completed goal must meet; null if it is not set."""
    review: str | None
    """The command that gives a second opinion on claims; null if it is not set."""


class RulesAnswer(Struct, frozen=True):
    """The effective weights, limits and policies."""

    weights: dict[str, float]
    thresholds: dict[str, float | None]
    policies: Policies
    metrics: tuple[OwnMetric, ...]
    """User-defined metrics, as declared."""
    loop: LoopAnswer
    budgets: Budgets
    """The budgets for the whole sprint; those without a limit are absent."""


def rules(found: RulesSet, budgets: Budgets) -> RulesAnswer:
    """Return the effective rules."""
    policies = Policies(found.verification_required, found.progress_edits)
    limits = asdict(found.thresholds)
    loop = convert(found.loop, LoopAnswer, from_attributes=True)
    weights = asdict(found.weights)
    return RulesAnswer(weights, limits, policies, found.metrics, loop, budgets)


class Written(Struct, frozen=True):
    """A file written for a loop."""

    path: str
    state: str
    kept: str | None


class Quality(Struct, frozen=True):
    """The score and class of one iteration."""

    iteration: int
    classification: str | None
    score: float | None
    measured_share: float


class StandingAnswer(Struct, frozen=True):
    """The quality of a sprint's iterations; empty if no iteration was measured."""

    best: Quality | None
    last: Quality | None
    alerts: dict[str, int]
    """The number of alerts that the last iteration raised, by severity."""
    advice: Advice | UnsetType = UNSET
    """The pending advice, unless the advice is to continue."""


def iterations_of(judged: Judged, number: int | None, *, of_all: bool) -> list[Judgement]:
    """Return the iterations whose alerts are requested, by default the last one measured.

    Raise `NotFoundError` if the iteration was not measured.
    """
    if of_all:
        return judged.all()
    number = judged.last if number is None else number
    return [] if number is None else [judged.one(number)]


def iterations_standing(judged: Judged) -> StandingAnswer:
    """Return the quality of a sprint's iterations, and the pending advice."""
    found = standing(judged)
    alerts = () if found.last is None else found.last.alerts
    best, last = (one and filled(Quality, side(one)) for one in (found.best, found.last))
    counts = dict(Counter(alert.severity for alert in alerts))
    given = UNSET if found.advice is None else views.advice(found.advice)
    return StandingAnswer(best, last, counts, given)


class IterationComparison(Struct, frozen=True):
    """Iterations side by side, in the requested order."""

    iterations: list[JudgedIteration]
    deltas: Figures | UnsetType = UNSET
    """For two iterations: the changes from the first to the second."""
    files: list[FileChange] | UnsetType = UNSET
    """For two iterations of one sprint with snapshots: the files that differ."""
    best: str | UnsetType | None = UNSET
    """For iterations of several sprints: the best one; null if none qualifies."""
    reason: str | UnsetType = UNSET
    """The criterion that decided, with the figures of the best two."""


def comparison(
    sides: Sequence[tuple[Judged, Judgement]], files: list[FileChange] | None
) -> IterationComparison:
    """Return iterations side by side, each with its sprint."""
    changed: Figures | UnsetType = UNSET
    if len(sides) == 2:
        (_, one), (_, other) = sides
        changed = views.known_figures(deltas(other.figures, one.figures).known())
    rows = [_row(judged, one) for judged, one in sides]
    return IterationComparison(rows, changed, UNSET if files is None else files)


def _row(judged: Judged, one: Judgement) -> JudgedIteration:
    spent = judged.spent().get(one.number)
    found = views.with_description(side(one), judged.described().get(one.number))
    took = UNSET if spent is None else spending(spent)
    return replace(found, sprint=judged.sprint.id, spent=took)
