"""Every event about the worth of iterations: what was measured, judged and chosen."""

from typing import ClassVar

import msgspec

from ..log.event import AsDecision, Event, Kind, Reach, Subject, events_in

OBSERVE, ADOPT, REFUSE = "observe", "adopt", "refuse"
EDIT_POLICIES = (OBSERVE, ADOPT, REFUSE)
"""Edits are kept and replaced; made events where they can be; or nothing is recorded."""


class Metrics(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was measured, as it was reported; what is missing is missing, never zero."""

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


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an agent's run cost, as far as it says; what is missing is missing."""

    input_tokens: int | None = None
    """Tokens that the model was given anew."""
    output_tokens: int | None = None
    """Tokens that the model wrote."""
    cache_read_tokens: int | None = None
    """Tokens that came from a cache."""
    cache_creation_tokens: int | None = None
    """Tokens that were put into a cache."""
    cost_usd: float | None = None
    """Cost in US dollars."""
    turns: int | None = None
    """How often the model answered."""
    duration_ms: int | None = None


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where metrics came from."""

    name: str
    """The report, the pattern of reports, what was counted, or the command."""
    format: str
    """That of the report; `build` and `source` are none."""
    tool: str | None = None
    """What wrote it, as far as it says so."""
    metrics: tuple[str, ...] = ()
    """The names of those that it had."""
    files: int = 1
    """How many reports the pattern named."""


class Weights(msgspec.Struct, frozen=True, omit_defaults=True):
    """How much each dimension counts in the quality score; together exactly 1."""

    validation: float = 0.30
    """Tests pass, the build succeeds, the linter is silent."""
    completeness: float = 0.25
    """Coverage, and tests against the baseline."""
    correctness: float = 0.25
    """Pass rate and errors."""
    readability: float = 0.10
    """Warnings and complexity."""
    efficiency: float = 0.10
    """Lines of code against the baseline."""


class Thresholds(msgspec.Struct, frozen=True, omit_defaults=True):
    """The limits of the rules; a value at its limit raises nothing."""

    acceptance: float = 0.70
    """The score that an iteration needs to be selected."""
    coverage_drop: float = 2.0
    """A loss of more points of coverage is an alert."""
    error_increase: int = 5
    """A rise by more errors is an alert."""
    complexity_growth: float = 0.5
    """A growth of complexity by more than this part is an alert."""
    below_best: float = 0.1
    """A score lower than the best one by more than this advises a rollback."""
    stall_variance: float = 0.02
    """Three plateaus in a row with scores that vary less are a stall."""
    loop_after: int = 10
    """From the iteration after this one on a repeated signature stops the loop."""
    measured_share: float = 0.5
    """With less of the formula's weight measured a person is asked."""
    target: float | None = None
    """The score at which the loop may stop; without it none does."""


class BaselineCaptured(Event, frozen=True):
    """Iteration 0 was measured, before any change."""

    type: ClassVar[str] = "baseline-captured"
    kind: ClassVar[Kind] = Kind.KNOWLEDGE
    subject: ClassVar[Subject] = Subject("baseline")
    reach: ClassVar[Reach] = Reach.NOTHING
    metrics: Metrics
    loop_id: str | None = None
    """Names the loop; without it the sprint's id does."""
    origins: tuple[Origin, ...] = ()
    """What we read or ran ourselves; the other metrics were told."""


class AboutIteration(Event, frozen=True):
    """An event about the worth of one iteration."""

    kind: ClassVar[Kind] = Kind.KNOWLEDGE
    subject: ClassVar[Subject] = Subject("iteration", ("number",))
    reach: ClassVar[Reach] = Reach.NOTHING
    number: int


class IterationMeasured(AboutIteration, frozen=True):
    """What a loop iteration led to was measured."""

    type: ClassVar[str] = "iteration-measured"
    ends: ClassVar[tuple[str, ...]] = ("iteration-failed",)
    metrics: Metrics
    previous: int | None = None
    """The iteration that it was built on; 0 for the baseline."""
    score: float | None = None
    """A judgement from elsewhere, which stands for the formula's."""
    origins: tuple[Origin, ...] = ()
    """What we read or ran ourselves; the other metrics were told."""
    usage: Usage | None = None
    """What the agent's work cost, as its reports say."""
    tree: str | None = None
    """The digest of the work tree then, where its files were kept in the same append."""


class MeasurementFailed(AboutIteration, frozen=True):
    """What an iteration led to could not be measured."""

    type: ClassVar[str] = "measurement-failed"
    as_evidence: ClassVar[tuple[str, ...] | None] = ("error",)
    error: str
    """Why not."""
    command: str | None = None
    """What was run for it: the last one that failed, else the last one."""
    exit_code: int | None = None
    """How that ended; 128 and the signal's number when a signal ended it."""
    timed_out: bool = False
    """Whether it was ended at its time limit."""
    output: str = ""
    """The end of what it printed."""
    output_sha256: str | None = None
    """sha256 of all that it printed, in hexadecimal."""


class RecommendationGiven(AboutIteration, frozen=True):
    """Somebody asked what to do after an iteration, and this was the answer."""

    type: ClassVar[str] = "recommendation-given"
    only_caused: ClassVar[str] = "`sprintlog decide` records what it answers"
    as_decision: ClassVar[AsDecision | None] = AsDecision(
        "recommendation",
        ("number", "action", "reason", "target"),
        ("confidence", "because"),
        judges="number",
    )
    as_evidence: ClassVar[tuple[str, ...] | None] = ("action", "reason")
    action: str
    """`continue`, `stop`, `rollback` or `escalate`."""
    reason: str
    confidence: float
    """From 0 to 1."""
    target: int | None = None
    """The iteration to go back to."""
    because: tuple[str, ...] = ()
    """Every reason of the action."""


class BestSelected(AboutIteration, frozen=True):
    """The output of one iteration was selected as the loop's result."""

    type: ClassVar[str] = "best-selected"
    only_caused: ClassVar[str] = "`sprintlog iteration select` records what it selects"
    as_decision: ClassVar[AsDecision | None] = AsDecision(
        "selection",
        ("number", "final", "is_verified"),
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


class RulesSet(Event, frozen=True):
    """These weights, limits and policies are in force from here on."""

    type: ClassVar[str] = "rules-set"
    kind: ClassVar[Kind] = Kind.CONTROL
    subject: ClassVar[Subject] = Subject("rules")
    reach: ClassVar[Reach] = Reach.NOTHING
    as_decision: ClassVar[AsDecision | None] = AsDecision(
        "rules", ("weights", "thresholds", "verification_required")
    )
    weights: Weights = Weights()
    """What each dimension counts."""
    thresholds: Thresholds = Thresholds()
    """The limits."""
    verification_required: bool = True
    """Whether only iterations whose tests pass may be selected."""
    progress_edits: str = OBSERVE
    """What becomes of an edit of PROGRESS.yaml: observe, adopt or refuse."""


class ArtifactsApplied(Event, frozen=True):
    """The files of the selected iteration were put in place."""

    type: ClassVar[str] = "artifacts-applied"
    kind: ClassVar[Kind] = Kind.KNOWLEDGE
    subject: ClassVar[Subject] = Subject("artifacts")
    reach: ClassVar[Reach] = Reach.NOTHING
    as_decision: ClassVar[AsDecision | None] = AsDecision(
        "selection", ("source", "destination"), ("files_copied",)
    )
    source: str
    """The folder that they came from."""
    destination: str
    """The folder that they went to."""
    files_copied: tuple[str, ...] = ()
    """Their paths below it."""


ITERATION_EVENTS = events_in(globals())
