"""The events about the quality of iterations: measurements, judgements and selections."""

import msgspec

from ..log.event import AsDecision, Event, Kind, KnowledgeEvent, Reach, Subject, events_of
from ..usage import Usage as Usage
from .loop_rules import LoopRules
from .loop_rules import OwnMetric as OwnMetric
from .loop_rules import Thresholds as Thresholds
from .loop_rules import Weights as Weights
from .parts import BY_AGENT as BY_AGENT
from .parts import ChangedInstrument as ChangedInstrument
from .parts import KeptReport as KeptReport
from .parts import MeasuringRun as MeasuringRun
from .parts import Origin as Origin

OBSERVE, ADOPT, REFUSE = "observe", "adopt", "refuse"
EDIT_POLICIES = (OBSERVE, ADOPT, REFUSE)
"""The policies for edits: save and replace, adopt if possible, or refuse to record."""
FILES_SHOWN = 3
"""The number of changed files that are listed in a line."""


class Metrics(msgspec.Struct, frozen=True, omit_defaults=True):
    """Reported measurements; a missing measurement is `None`, never zero."""

    test_count: int | None = None
    """The number of tests, including skipped tests."""
    tests_passed: int | None = None
    """The number of passed tests."""
    tests_failed: int | None = None
    """The number of failed tests."""
    tests_skipped: int | None = None
    """The number of skipped tests."""
    pass_rate: float | None = None
    """The percentage of tests that passed, computed if the counts are known."""
    coverage_percentage: float | None = None
    """The percentage of lines that are covered."""
    coverage_lines_covered: int | None = None
    """The number of covered lines."""
    coverage_lines_total: int | None = None
    """The number of lines that can be covered."""
    lint_errors: int | None = None
    """The number of linter errors."""
    lint_warnings: int | None = None
    """The number of linter warnings."""
    type_errors: int | None = None
    """The number of type checker errors."""
    error_count: int | None = None
    """The total number of errors; by default, lint errors, warnings and type errors."""
    build_status: str | None = None
    """`success` or `failed`."""
    file_count: int | None = None
    """The number of files."""
    loc_total: int | None = None
    """The number of lines of code."""
    complexity_score: float | None = None
    """The complexity of the code."""
    own: dict[str, int | float] = {}
    """The custom metrics by name, as declared by the current rules."""


class BaselineCaptured(KnowledgeEvent, frozen=True):
    """Iteration 0, the baseline, was measured before any change."""

    stays = ("metrics", "loop_id", "origins", "reports.file", "reports.kept")
    subject = Subject("baseline")
    metrics: Metrics
    loop_id: str | None = None
    """The id of the loop; defaults to the sprint's id."""
    origins: tuple[Origin, ...] = ()
    """The origins of the metrics that sprintlog determined; the others were reported."""
    runs: tuple[MeasuringRun, ...] = ()
    """The commands that were run for the measurement."""
    reports: tuple[KeptReport, ...] = ()
    """The reports that were read for the measurement."""


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
    """The iteration on which this one was built; 0 for the baseline."""
    score: float | None = None
    """A score from another source, which replaces the computed score."""
    origins: tuple[Origin, ...] = ()
    """The origins of the metrics that sprintlog determined; the others were reported."""
    usage: Usage | None = None
    """The agent's usage, according to its reports."""
    tree: str | None = None
    """The digest of the work tree, if its files were saved in the same append."""
    runs: tuple[MeasuringRun, ...] = ()
    """The commands that were run for the measurement."""
    reports: tuple[KeptReport, ...] = ()
    """The reports that were read for the measurement."""
    altered: tuple[str, ...] = ()
    """Existing files that changed while the commands ran."""
    altered_measure: bool = False
    """Whether tests or the measuring script were among these files."""


class BestAnew(msgspec.Struct, frozen=True, omit_defaults=True):
    """The best iteration after a new evaluation, with exact values."""

    number: int
    """The number of the iteration."""
    version: int
    """The version at which the iteration was measured."""
    score: str
    """The score, as a fraction."""
    components: tuple[str, ...]
    """The names of the components of the score."""
    is_given: bool = False
    """Whether the score came from another source."""
    parts: tuple[tuple[str, str, str, str], ...] = ()
    """With custom metrics: the dimension, weight, name and points of each component."""


class MeasurementRetracted(AboutIteration, frozen=True):
    """A measurement was found to be wrong and is no longer used in judgements."""

    stays = ("best",)
    is_structural = True
    only_caused = "`sprintlog iteration retract N --reason TEXT` records it"
    as_decision = AsDecision("measurement", ("number", "reason"), judges="number")
    reason: str
    """Why the measurement was wrong."""
    best: BestAnew | None = None
    """The best of the other iterations; null if no iteration qualifies."""
    complete: tuple[int, ...] = ()
    """The iterations that no longer lack a component of the best iteration before them."""
    incomplete: tuple[int, ...] = ()
    """The iterations that now lack such a component."""


class BaselineReplaced(AboutIteration, frozen=True):
    """The baseline for later measurements was replaced by another iteration."""

    stays = ("metrics",)
    only_caused = "`sprintlog iteration baseline --from N` records it"
    as_decision = AsDecision("measurement", ("number", "reason"), judges="number")
    metrics: Metrics
    """The metrics of the iteration."""
    reason: str | None = None
    """The reason for the replacement."""


class MeasurementFailed(AboutIteration, frozen=True):
    """The result of an iteration could not be measured."""

    stays = ("reports.file", "reports.kept")
    as_evidence = ("error",)
    error: str
    """The reason for the failure."""
    command: str | None = None
    """The last command that failed; if none failed, the last command."""
    exit_code: int | None = None
    """The exit code; 128 plus the signal's number if a signal ended the command."""
    timed_out: bool = False
    """Whether the command was ended at its time limit."""
    output: str = ""
    """The end of the output."""
    output_sha256: str | None = None
    """The SHA-256 of the full output, in hexadecimal."""
    runs: tuple[MeasuringRun, ...] = ()
    """The commands that were run for the measurement."""
    reports: tuple[KeptReport, ...] = ()
    """The reports that were read for the measurement."""


class MeasurementChanged(AboutIteration, frozen=True):
    """An iteration changed its measure: the tests, their configuration or the script."""

    stays = ("against", "instruments")
    only_caused = "sprintlog records it with a measurement"
    against: int
    """The iteration whose files are accepted; 0 for those before the first iteration."""
    instruments: str
    """The digest of the tests, configuration and scripts that were used."""
    files: tuple[ChangedInstrument, ...] = ()
    """The changed files, at most 100."""
    files_count: int = 0
    """The number of changed files."""
    problem: str | None = None
    """Why the files could not be compared; null if they were."""

    @property
    def words(self) -> str:
        """Return the changed files with their counts, in one line."""
        if self.problem is not None:
            return f"its files cannot be compared: {self.problem}"
        files = [one.words for one in self.files[:FILES_SHOWN]]
        more = self.files_count - len(files)
        return ", ".join([*files, *([f"{more} more"] if more > 0 else [])])

    @property
    def advice(self) -> str:
        """Return how the iteration changed its measure, and how to accept this."""
        return (
            f"iteration {self.number} changed its measure: {self.words}; if this is "
            f"correct, run `sprintlog iteration accept {self.number} --reason TEXT`"
        )


class InstrumentsAccepted(AboutIteration, frozen=True):
    """A person accepted an iteration's tests, configuration and measuring script."""

    stays = ("instruments", "best")
    is_structural = True
    only_caused = "`sprintlog iteration accept N --reason TEXT` records it"
    as_decision = AsDecision("measurement", ("number", "reason"), judges="number")
    reason: str
    """Why the changes are correct."""
    instruments: str | None = None
    """The digest of the accepted files; null if they equal the files accepted before."""
    best: BestAnew | None = None
    """The best of all unmarked iterations; null if no iteration qualifies."""
    complete: tuple[int, ...] = ()
    """The iterations that no longer lack a component of the best iteration before them."""
    incomplete: tuple[int, ...] = ()
    """The iterations that now lack such a component."""


class IterationDescribed(AboutIteration, frozen=True):
    """Parameters, a note or tags were added to an iteration; later values prevail."""

    params: dict[str, str] = msgspec.field(default_factory=dict)
    """The parameters of the iteration by name, such as a model, an option or a seed."""
    note: str | None = None
    """A note on the iteration."""
    tags: tuple[str, ...] = ()
    """The added tags, by which the iteration can be found."""
    tags_removed: tuple[str, ...] = ()
    """The removed tags."""


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
    """The confidence, from 0 to 1."""
    target: int | None = None
    """The iteration to roll back to."""
    because: tuple[str, ...] = ()
    """All reasons for the action."""
    cause: str = ""
    """The cause of the action: regression, tampered, unmeasured, uncertain, cycling,
    infinite-loop, stalled, unchanged, target or maximum; person if a person decided; else
    empty."""
    alerts: tuple[str, ...] = ()
    """The severity and type of each alert on which the decision is based."""
    evidence: tuple[int, ...] = ()
    """The versions of the measurements on which the decision is based: those of the
    iteration, of the iteration that it was built on, and of the best iteration. For
    unchanged iterations, the versions of their agent runs."""


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
    """The last effective iteration."""
    is_verified: bool
    """Whether the iteration's tests pass and its score is high enough."""
    score: float | None = None
    """The score of the selected iteration."""
    final_score: float | None = None
    """The score of the last iteration."""
    is_chosen: bool = False
    """Whether a person chose the iteration, regardless of its score."""
    reason: str | None = None
    """Why that person chose it."""


class RulesSet(Event, frozen=True):
    """The weights, limits and policies were set for subsequent iterations."""

    stays = (
        *("weights", "thresholds", "progress_edits", "metrics"),
        *("loop.on_regression", "loop.on_tamper"),
    )
    kind = Kind.CONTROL
    subject = Subject("rules")
    reach = Reach.NOTHING
    as_decision = AsDecision(
        "rules", ("weights", "thresholds", "verification_required", "metrics", "loop")
    )
    weights: Weights = Weights()
    """The weights of the dimensions."""
    thresholds: Thresholds = Thresholds()
    """The limits for alerts and recommendations."""
    verification_required: bool = True
    """Whether only iterations whose tests pass may be selected."""
    progress_edits: str = OBSERVE
    """The handling of edits to PROGRESS.yaml: observe, adopt or refuse."""
    metrics: tuple[OwnMetric, ...] = ()
    """The custom metrics."""
    loop: LoopRules = LoopRules()
    """The actions that a loop performs automatically."""


class ArtifactsApplied(KnowledgeEvent, frozen=True):
    """The files of the selected iteration were copied to their destination."""

    stays = ("source", "destination")
    subject = Subject("artifacts")
    as_decision = AsDecision("selection", ("source", "destination"), ("files_copied",))
    source: str
    """The folder from which the files were copied."""
    destination: str
    """The folder to which the files were copied."""
    files_copied: tuple[str, ...] = ()
    """The paths of the copied files, relative to the destination."""


ITERATION_EVENTS = events_of(__name__)
