"""Judged iterations, advice, and the selection.

Judgements have the same format in all answers; numbers are not rounded.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import asdict, replace

from sprintlog.engine.judging import changes, evaluation, events, recommend
from sprintlog.engine.judging.metrics import named
from sprintlog.engine.service.streams.evaluation import Failure, Judged, RunEnding
from sprintlog.engine.service.workspace import ServiceWorkspace
from sprintlog.engine.sprint.agent.actions import Action
from sprintlog.engine.sprint.events import GitState, TurnFacts
from sprintlog.engine.sprint.iterations.described import Description

from ..state_files.iteration_report import IterationReport, is_best_preserved
from ..state_files.tracker import selection_data
from . import back, files, runs
from .events import Answered, Recorded, Unchanged, filled
from .iteration_quality import ScorePart, advice_in_force, plain, score_fields
from .work import PathsLeftOut, left_out, work_tree, work_trees

Figures = dict[str, float | str]
"""The measured and derived figures by name, without unknown ones."""


class JudgedIteration(Struct, frozen=True, kw_only=True):
    """A judged iteration; if `metrics` is missing, it was not measured."""

    sprint: str | UnsetType = UNSET
    """The iteration's sprint; only in comparisons."""
    iteration: int
    at: str | UnsetType = UNSET
    version: int | UnsetType = UNSET
    previous: int | UnsetType | None = UNSET
    """The iteration that this one was built on."""
    classification: str | None = field(name="class")
    reasons: tuple[str, ...] | UnsetType = UNSET
    score: float | None
    is_score_given: bool | UnsetType = UNSET
    """Whether a given score replaces the computed one."""
    measured_share: float | UnsetType = UNSET
    dimensions: dict[str, ScorePart] | UnsetType = UNSET
    is_incomplete: bool | UnsetType = UNSET
    unfit: str | UnsetType = UNSET
    is_best: bool | UnsetType = UNSET
    is_on_path: bool | UnsetType = UNSET
    metrics: Figures | UnsetType = UNSET
    figures: Figures | UnsetType = UNSET
    from_previous: Figures | UnsetType | None = UNSET
    from_baseline: Figures | UnsetType | None = UNSET
    alerts: tuple[changes.Alert, ...] | UnsetType = UNSET
    failed: dict[str, Any] | UnsetType = UNSET
    """Why the iteration could not be measured."""
    retracted: str | UnsetType = UNSET
    """Why the measurement was retracted."""
    status: str | UnsetType = UNSET
    """How the last run ended; without `metrics`, the iteration was not measured."""
    outcome: str | UnsetType = UNSET
    """A more exact status: also `limit`, and `hung` for an agent that hung after its
    complete result."""
    until: str | UnsetType | None = UNSET
    """The time at which the limit expires, if it was stated."""
    error: str | UnsetType | None = UNSET
    """Why the last run failed."""
    summary: str | UnsetType | None = UNSET
    """The summary given at the end, otherwise the last line of output."""
    turn: TurnFacts | UnsetType = UNSET
    """The start and the contents of a turn of an agent session."""
    claim: str | UnsetType = UNSET
    """The decision on its claim that the goal is reached; only in lists of iterations."""
    params: dict[str, str] | UnsetType = UNSET
    """The recorded parameters; only in lists of iterations."""
    notes: tuple[str, ...] | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    git: GitState | UnsetType = UNSET
    """The state of the repository at the end of the iteration."""
    spent: runs.Spending | UnsetType = UNSET
    """The usage of agents, if known; only in lists of iterations."""
    work_tree: str | UnsetType = UNSET
    """The work tree in which it started; absent if the log has only one."""


class AdviceReason(Struct, frozen=True):
    """A reason for advice, and the amount it adds to the confidence."""

    text: str
    weight: float


class Advice(Struct, frozen=True):
    """Advice on what to do after an iteration, and the confidence in it."""

    iteration: int
    action: str
    target_iteration: int | None
    best_iteration: int | None
    reason: str
    message: str
    reasons: list[AdviceReason]
    confidence: float
    confidence_derivation: str
    alternatives: tuple[str, ...]


class AdviceRecorded(Recorded, frozen=True, kw_only=True):
    """Recorded advice, or only its event if more events have been recorded since."""

    recommendation: Any


class AdviceInForce(Unchanged, frozen=True, kw_only=True):
    """The effective advice; nothing was recorded."""

    recommendation: Any


class BestAnswer(Struct, frozen=True):
    """The best iteration, and the target of a rollback to it."""

    sprint: str
    best: JudgedIteration | None
    rollback_target: int | None


class IterationAnswer(Struct, frozen=True):
    """An iteration as of its measurement."""

    judgement: JudgedIteration
    best: JudgedIteration | None
    is_best_preserved: bool
    """Whether a snapshot contains the files of the best iteration."""
    recommendation: Advice | None
    """Null for the baseline, because there is nothing to decide yet."""
    changed: files.Differences | None = None
    """The changed files and who changed them; null if files were not stored."""


class IterationsAnswer(Struct, frozen=True):
    """The result of a sprint, with all its iterations."""

    sprint: str
    status: Any
    stopped: Action | None
    """Why the sprint has stopped; null if it has not stopped."""
    stats: Any
    spent: runs.Spending | None
    """The usage of all agent runs; null before the first run."""
    best_iteration: int | None
    iterations: list[JudgedIteration]
    recommendation: Advice | None
    selection: dict[str, Any] | None
    """The selection, as in best-iteration.yaml."""
    left_out: PathsLeftOut | UnsetType = UNSET
    """The paths that the newest snapshot omits; absent if it is complete."""
    work_tree: str | UnsetType = UNSET
    """The location of the sprint's work tree; absent if the log has only one."""


class SelectionRecorded(Recorded, frozen=True, kw_only=True):
    """The recorded selection, as in best-iteration.yaml."""

    selection: dict[str, Any] | None
    applied: back.ChangedFiles | UnsetType = UNSET


class SelectionInForce(Unchanged, frozen=True, kw_only=True):
    """The effective selection; nothing was recorded."""

    selection: dict[str, Any] | None
    applied: back.ChangedFiles | UnsetType = UNSET


def judgement(
    judged: Judged, one: evaluation.Judgement, off_path: set[int]
) -> JudgedIteration:
    """Return all facts about an iteration."""
    best = judged.tracker.best
    same = ("at", "version", "previous", "reasons", "is_incomplete", "alerts")
    return side(
        one,
        **{name: getattr(one, name) for name in same},
        unfit=one.unfit or UNSET,
        is_best=best is not None and best.number == one.number,
        is_on_path=one.number not in off_path,
        metrics=known_figures(named(one.metrics)),
        from_previous=one.from_previous and known_figures(one.from_previous.known()),
        from_baseline=one.from_baseline and known_figures(one.from_baseline.known()),
    )


def failure(failed: Failure) -> JudgedIteration:
    """Return an iteration whose measurement failed."""
    one = blank(failed.event.number, at=failed.at, version=failed.version)
    if isinstance(failed.event, events.MeasurementRetracted):
        return replace(one, retracted=failed.event.reason)
    said = asdict(failed.event)
    del said["number"]
    return replace(one, failed=said)


def unmeasured(one: RunEnding) -> JudgedIteration:
    """Return an iteration that was not measured."""
    return with_ending(blank(one.number, version=one.version), one)


def blank(number: int, **more: Any) -> JudgedIteration:
    """Return an iteration without a judgement."""
    return JudgedIteration(iteration=number, classification=None, score=None, **more)


class ListedIterations(NamedTuple):
    """Listed iterations: measured, failed and unmeasured, each group sorted by number."""

    measured: Sequence[evaluation.Judgement]
    failures: Sequence[Failure] = ()
    others: Sequence[RunEnding] = ()
    """The iterations that were not measured."""
    trees: Mapping[int, str] = {}
    """The work trees in which they started, if the log has several."""


def listed(
    judged: Judged,
    trees: Mapping[int, str] = MappingProxyType({}),
    *,
    last: int | None = None,
    number: int | None = None,
) -> ListedIterations:
    """Return all iterations, only the newest `last`, or only the one with `number`."""
    base = judged.baseline()
    measured = {one.number: one for one in [*([base] if base else []), *judged.all()]}
    failures = judged.failures()
    others = {one.number: one for one in judged.unmeasured()}
    numbers = sorted(measured.keys() | failures.keys() | others.keys())[-(last or 0) :]
    if number is not None:
        numbers = [number]
    return ListedIterations(
        [measured[n] for n in numbers if n in measured],
        [failures[n] for n in numbers if n in failures],
        [others[n] for n in numbers if n in others],
        trees,
    )


def judgements(judged: Judged, found: ListedIterations) -> list[JudgedIteration]:
    """Return the listed iterations in numerical order, including unmeasured ones."""
    off_path, ends = judged.off_path(), judged.endings()
    answers = [judgement(judged, one, off_path) for one in found.measured]
    answers = [with_ending(x, ends.get(x.iteration)) for x in answers]
    answers += [*map(failure, found.failures), *map(unmeasured, found.others)]
    spent = {number: runs.spending(took) for number, took in judged.spent().items()}
    known, behind, claims = judged.described(), judged.left_behind(), judged.claims()
    by_number: dict[str, Mapping[int, Any]]
    by_number = {"spent": spent, "claim": claims, "work_tree": found.trees}
    told = [
        replace(x, **{name: by.get(x.iteration, UNSET) for name, by in by_number.items()})
        for x in (with_description(one, known.get(one.iteration)) for one in answers)
    ]
    told = [replace(x, is_on_path=False) if x.iteration in behind else x for x in told]
    return sorted(told, key=attrgetter("iteration"))


def every(workspace: ServiceWorkspace, judged: Judged) -> list[JudgedIteration]:
    """Return all iterations in numerical order, starting with the baseline."""
    return judgements(judged, listed(judged, work_trees(workspace, judged.sprint)))


def with_ending(one: JudgedIteration, ended: RunEnding | None) -> JudgedIteration:
    """Return an iteration, adding the outcome of its last run."""
    if ended is None:
        return one
    named = ("status", "outcome", "until", "error", "summary")
    known = {name: getattr(ended, name) for name in named}
    return replace(one, turn=ended.turn or UNSET, **known)


def with_description(one: JudgedIteration, said: Description | None) -> JudgedIteration:
    """Return an iteration, adding its description."""
    if said is None:
        return one
    named = ("params", "notes", "tags", "git")
    return replace(one, **{name: getattr(said, name) or UNSET for name in named})


def advice(given: recommend.Recommendation) -> Advice:
    """Convert a recommendation to an answer."""
    return filled(
        Advice,
        given,
        iteration=given.number,
        target_iteration=given.target,
        best_iteration=given.best,
        reasons=[AdviceReason(why.text, float(why.weight)) for why in given.reasons],
        confidence=float(given.confidence),
        confidence_derivation=given.derivation,
    )


def decided(
    answer: Answered, told: Advice | events.RecommendationGiven
) -> AdviceRecorded | AdviceInForce:
    """Return the advice with the event that recorded it."""
    if isinstance(answer, Unchanged):
        return filled(AdviceInForce, answer, recommendation=told)
    return filled(AdviceRecorded, answer, recommendation=told)


def selected(
    answer: Answered, judged: Judged, applied: back.ChangedFiles | None
) -> SelectionRecorded | SelectionInForce:
    """Return the selection with the event that recorded it."""
    more = {"selection": selection_data(judged), "applied": applied or UNSET}
    if isinstance(answer, Unchanged):
        return filled(SelectionInForce, answer, **more)
    return filled(SelectionRecorded, answer, **more)


def best(judged: Judged) -> BestAnswer:
    """Return the best iteration so far."""
    found = judged.tracker.best
    one = None
    if found is not None:
        one = judgement(judged, judged.one(found.number), judged.off_path())
    return BestAnswer(judged.sprint.id, one, judged.target())


def report(judged: Judged, found: IterationReport) -> IterationAnswer:
    """Return the report on an iteration; `judged` is the state at its measurement."""
    given = found.recommendation
    number = found.judgement.number
    told = judgement(judged, found.judgement, judged.off_path())
    told = with_ending(told, judged.endings().get(number))
    return IterationAnswer(
        with_description(told, judged.described().get(number)),
        best(judged).best,
        found.is_best_preserved,
        None if given is None else advice(given),
    )


def unmeasured_report(judged: Judged, number: int) -> IterationAnswer:
    """Return the report on an unmeasured iteration."""
    one = next(iter(judgements(judged, listed(judged, number=number))), blank(number))
    one = replace(one, summary=judged.summaries().get(number, UNSET))
    return IterationAnswer(one, best(judged).best, is_best_preserved(judged), None)


def summary(
    workspace: ServiceWorkspace, judged: Judged, stopped: Action | None = None
) -> IterationsAnswer:
    """Return the result of a sprint; `stopped` is the reason why it stopped, if any."""
    said, rows = judged.summaries(), every(workspace, judged)
    given = advice_in_force(judged)
    sprint, best = judged.sprint, judged.tracker.best
    return IterationsAnswer(
        sprint.id,
        sprint.document.get("status"),
        stopped,
        sprint.document.get("stats"),
        runs.spending(sprint.knowledge.spent) if sprint.knowledge.spent.runs else None,
        None if best is None else best.number,
        [
            replace(x, summary=said.get(x.iteration)) if x.summary is UNSET else x
            for x in rows
        ],
        None if given is None else advice(given),
        selection_data(judged),
        left_out(workspace, sprint),
        work_tree(workspace, sprint),
    )


def side(one: evaluation.Judgement, **more: Any) -> JudgedIteration:
    """Return an iteration with its judgement and figures."""
    return JudgedIteration(
        iteration=one.number,
        classification=one.classification,
        **score_fields(one.score),
        figures=known_figures(one.figures.known()),
        **more,
    )


def known_figures(values: Mapping[str, Any]) -> Figures:
    """Return the known values as JSON numbers."""
    return {name: plain(value) for name, value in values.items() if value is not None}
