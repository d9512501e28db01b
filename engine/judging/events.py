"""The events about the quality of iterations: measurements, judgements and selections."""

import msgspec

from ..log.event import AsDecision, Event, Kind, KnowledgeEvent, Reach, Subject, events_of
from ..usage import Usage as Usage
from .loop_rules import LoopRules
from .loop_rules import OwnMetric as OwnMetric
from .loop_rules import Thresholds as Thresholds
from .loop_rules import Weights as Weights

OBSERVE, ADOPT, REFUSE = "observe", "adopt", "refuse"
EDIT_POLICIES = (OBSERVE, ADOPT, REFUSE)
"""Edits are kept and replaced; made events where they can be; or nothing is recorded."""


class Metrics(msgspec.Struct, frozen=True, omit_defaults=True):
    """Reported measurements; a missing one is `None`, never zero."""

    test_count: int | None = None
    """How many tests there are, skipped ones too."""
    tests_passed: int | None = None
    """How many of them passed."""
    tests_failed: int | None = None
    """How many of them failed."""
    tests_skipped: int | None = None
    """How many of them were left out."""
    pass_rate: float | None = None
    """Passed of all tests in percent; it is computed where the counts are known."""
    coverage_percentage: float | None = None
    """Covered lines in percent."""
    coverage_lines_covered: int | None = None
    """How many lines are covered."""
    coverage_lines_total: int | None = None
    """How many lines could be covered."""
    lint_errors: int | None = None
    """Errors that the linter found."""
    lint_warnings: int | None = None
    """Warnings of the linter."""
    type_errors: int | None = None
    """Errors that the type checker found."""
    error_count: int | None = None
    """All errors; without it lint errors, warnings and type errors are added up."""
    build_status: str | None = None
    """`success` or `failed`."""
    file_count: int | None = None
    """How many files there are."""
    loc_total: int | None = None
    """How many lines of code there are."""
    complexity_score: float | None = None
    """How complex the code is."""
    own: dict[str, int | float] = {}
    """Custom metrics by name, as the current rules declare them."""


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """The source of measured metrics."""

    name: str
    """The report, the pattern of reports, what was counted, or the command."""
    format: str
    """The format of the report; `build`, `last-line` and `source` are not reports."""
    tool: str | None = None
    """The tool that wrote it, if it states one."""
    metrics: tuple[str, ...] = ()
    """The names of those that it had."""
    files: int = 1
    """How many reports the pattern named."""


class MeasuringRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """A command that was run as part of a measurement."""

    command: str
    """The shell command as given."""
    exit_code: int
    """128 and the signal's number when a signal ended it."""
    timed_out: bool = False
    """Whether it was ended at its time limit."""
    duration_ms: int | None = None
    output: str = ""
    """Its output; of long output only the head and the tail."""
    output_bytes: int | None = None
    """How long all of the output was."""
    output_sha256: str | None = None
    """sha256 of all that it printed, in hexadecimal."""


class KeptReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """A report on which a measurement is based."""

    file: str
    """Its name as given."""
    bytes: int
    """How long it was."""
    sha256: str
    """The sha256 of its bytes, in hexadecimal."""
    kept: str | None = None
    """The name of its masked copy in the log's `reports` folder; null if it was too long.
    """


class BaselineCaptured(KnowledgeEvent, frozen=True):
    """Iteration 0, the baseline, was measured before any change."""

    stays = ("metrics", "loop_id", "origins", "reports.file", "reports.kept")
    subject = Subject("baseline")
    metrics: Metrics
    loop_id: str | None = None
    """Names the loop; without it the sprint's id does."""
    origins: tuple[Origin, ...] = ()
    """The metrics that sprintlog read or measured itself; the others were reported to it.
    """
    runs: tuple[MeasuringRun, ...] = ()
    """The commands that were run for it."""
    reports: tuple[KeptReport, ...] = ()
    """The reports that were read for it."""


class AboutIteration(KnowledgeEvent, frozen=True):
    """An event about the quality of an iteration."""

    subject = Subject("iteration", ("number",))
    number: int


class IterationMeasured(AboutIteration, frozen=True):
    """The result of a loop iteration was measured."""

    stays = ("metrics", "origins", "tree", "reports.file", "reports.kept")
    ends = ("iteration-failed",)
    metrics: Metrics
    previous: int | None = None
    """The iteration that it was built on; 0 for the baseline."""
    score: float | None = None
    """A judgement from elsewhere, which stands for the formula's."""
    origins: tuple[Origin, ...] = ()
    """The metrics that sprintlog read or measured itself; the others were reported to it.
    """
    usage: Usage | None = None
    """What the agent's work cost, as its reports say."""
    tree: str | None = None
    """The digest of the work tree then, where its files were kept in the same append."""
    runs: tuple[MeasuringRun, ...] = ()
    """The commands that were run for it."""
    reports: tuple[KeptReport, ...] = ()
    """The reports that were read for it."""


class BestAnew(msgspec.Struct, frozen=True, omit_defaults=True):
    """The best iteration after a new evaluation, with exact values."""

    number: int
    """The iteration's."""
    version: int
    """The version that measured it."""
    score: str
    """As a fraction."""
    components: tuple[str, ...]
    """What its score was made from."""
    is_given: bool = False
    """True for a judgement from elsewhere."""
    parts: tuple[tuple[str, str, str, str], ...] = ()
    """With custom metrics: dimension, weight, component and points of each."""


class MeasurementRetracted(AboutIteration, frozen=True):
    """A measurement was found to be wrong and is no longer used in judgements."""

    stays = ("best",)
    is_structural = True
    only_caused = "`sprintlog iteration retract N --reason TEXT` records it"
    as_decision = AsDecision("measurement", ("number", "reason"), judges="number")
    reason: str
    """Why it was wrong."""
    best: BestAnew | None = None
    """The best of all others; None without one."""
    complete: tuple[int, ...] = ()
    """Iterations that lack nothing of the best before them any more."""
    incomplete: tuple[int, ...] = ()
    """Iterations that do now."""


class BaselineReplaced(AboutIteration, frozen=True):
    """The baseline for later measurements was replaced by another iteration."""

    stays = ("metrics",)
    only_caused = "`sprintlog iteration baseline --from N` records it"
    as_decision = AsDecision("measurement", ("number", "reason"), judges="number")
    metrics: Metrics
    """Those of the iteration."""
    reason: str | None = None
    """Why another one."""


class MeasurementFailed(AboutIteration, frozen=True):
    """The result of an iteration could not be measured."""

    stays = ("reports.file", "reports.kept")
    as_evidence = ("error",)
    error: str
    """Why not."""
    command: str | None = None
    """The last command that failed, else the last one."""
    exit_code: int | None = None
    """How that ended; 128 and the signal's number when a signal ended it."""
    timed_out: bool = False
    """Whether it was ended at its time limit."""
    output: str = ""
    """The end of its output."""
    output_sha256: str | None = None
    """sha256 of all that it printed, in hexadecimal."""
    runs: tuple[MeasuringRun, ...] = ()
    """The commands that were run for it."""
    reports: tuple[KeptReport, ...] = ()
    """The reports that were read for it."""


class IterationDescribed(AboutIteration, frozen=True):
    """An iteration was described beyond its measurement; the latest description applies."""

    params: dict[str, str] = msgspec.field(default_factory=dict)
    """The settings of the iteration by name: a model, an option, a seed."""
    note: str | None = None
    """A remark about it."""
    tags: tuple[str, ...] = ()
    """Words to find it by, from here on."""
    tags_removed: tuple[str, ...] = ()
    """Words that no longer stand for it."""


class RecommendationGiven(AboutIteration, frozen=True):
    """A recommendation was requested and given after an iteration."""

    stays = ("action", "cause", "alerts")
    only_caused = "`sprintlog iteration decide` records what it answers"
    as_decision = AsDecision(
        "recommendation",
        ("number", "action", "reason", "target"),
        ("confidence", "because"),
        judges="number",
    )
    as_evidence = ("action", "reason")
    action: str
    """`continue`, `stop`, `rollback` or `escalate`."""
    reason: str
    confidence: float
    """From 0 to 1."""
    target: int | None = None
    """The iteration to go back to."""
    because: tuple[str, ...] = ()
    """Every reason of the action."""
    cause: str = ""
    """What kind of reason decided: regression, unmeasured, uncertain, cycling,
    infinite-loop, stalled, target or maximum, person where a person did; empty without."""
    alerts: tuple[str, ...] = ()
    """The severity and type of each alert that it was decided on."""
    evidence: tuple[int, ...] = ()
    """The versions of the measurements behind the decision: those of the iteration, of the
    one it was built on, and of the best one."""


class BestSelected(AboutIteration, frozen=True):
    """The output of an iteration was selected as the loop's result."""

    only_caused = "`sprintlog iteration select` records what it selects"
    as_decision = AsDecision(
        "selection",
        ("number", "final", "is_verified", "is_chosen", "reason"),
        ("score", "final_score"),
        judges="number",
    )
    final: int
    """The last iteration on the path."""
    is_verified: bool
    """Whether its tests pass and its score is high enough."""
    score: float | None = None
    """Its score."""
    final_score: float | None = None
    """The score of the last iteration."""
    is_chosen: bool = False
    """True when a person chose it, whatever its score."""
    reason: str | None = None
    """Why that person did."""


class RulesSet(Event, frozen=True):
    """The weights, limits and policies were set for subsequent iterations."""

    stays = ("weights", "thresholds", "progress_edits", "metrics", "loop.on_regression")
    kind = Kind.CONTROL
    subject = Subject("rules")
    reach = Reach.NOTHING
    as_decision = AsDecision(
        "rules", ("weights", "thresholds", "verification_required", "metrics", "loop")
    )
    weights: Weights = Weights()
    """What each dimension counts."""
    thresholds: Thresholds = Thresholds()
    """The limits."""
    verification_required: bool = True
    """Whether only iterations whose tests pass may be selected."""
    progress_edits: str = OBSERVE
    """What becomes of an edit of PROGRESS.yaml: observe, adopt or refuse."""
    metrics: tuple[OwnMetric, ...] = ()
    """The custom metrics."""
    loop: LoopRules = LoopRules()
    """The automatic actions of a loop."""


class ArtifactsApplied(KnowledgeEvent, frozen=True):
    """The files of the selected iteration were copied to their destination."""

    stays = ("source", "destination")
    subject = Subject("artifacts")
    as_decision = AsDecision("selection", ("source", "destination"), ("files_copied",))
    source: str
    """The folder that they came from."""
    destination: str
    """The folder that they went to."""
    files_copied: tuple[str, ...] = ()
    """Their paths below it."""


ITERATION_EVENTS = events_of(__name__)
