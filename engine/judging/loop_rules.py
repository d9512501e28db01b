"""The parts of the rules: weights, limits, metrics, and a loop's automatic actions."""

import msgspec
from msgspec import structs

CONTINUE, STOP, ROLLBACK, ESCALATE = "continue", "stop", "rollback", "escalate"
REGRESSION, UNMEASURED, UNCERTAIN = "regression", "unmeasured", "uncertain"
CYCLING, INFINITE_LOOP, STALL = "cycling", "infinite-loop", "stalled"
UNCHANGED, TARGET, MAXIMUM, PERSON = "unchanged", "target", "maximum", "person"
TAMPERED = "tampered"
"""The causes of recommendations."""
UNCHANGED_MAX = 5
"""The number of consecutive unchanged iterations after which a loop for a goal stops."""

ON_REGRESSION = (STOP, ROLLBACK, CONTINUE)
"""The actions after a regression: stop, roll back and try again, or continue."""
WARN = "warn"
ON_TAMPER = (WARN, STOP, ROLLBACK)
"""The actions after a change to the measure: report it, stop, or roll back."""
ROLLBACKS_MAX = 3
"""The default number of automatic rollbacks of a loop."""


class MeasureRules(msgspec.Struct, frozen=True, omit_defaults=True):
    """The commands and reports for a measurement; paths are relative to the work tree."""

    runs: tuple[str, ...] = ()
    """Commands that write the reports, or print the figures if there is no report."""
    builds: tuple[str, ...] = ()
    """Commands that succeed if the work can be built."""
    reports: tuple[str, ...] = ()
    """The reports of other tools, each optionally preceded by its format."""
    sources: tuple[str, ...] = ()
    """The source files and folders whose size and complexity are measured."""
    timeout_seconds: float = 600.0
    """The time limit for each command."""


class LoopRules(msgspec.Struct, frozen=True, omit_defaults=True):
    """The actions that a loop performs automatically after its iterations."""

    measure: MeasureRules | None = None
    """The measurement after each iteration; None if there is none."""
    keeps_files: bool = False
    """Whether a snapshot of the work tree is taken at the end of each iteration."""
    on_regression: str = STOP
    """The action after a regression: stop, rollback or continue."""
    rollbacks_max: int = ROLLBACKS_MAX
    """The maximum number of automatic rollbacks."""
    selects: bool = False
    """Whether the best iteration's files are finally restored to the output folder."""
    until: str | None = None
    """The condition on a measurement that a completed goal must meet."""
    review: str | None = None
    """The shell command that gives a second opinion on a claim; null if it is not set."""
    on_tamper: str = WARN
    """The action after a change to the tests or the measure: warn, stop or rollback."""


class LoopChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change to a loop's automatic actions; None leaves a setting unchanged."""

    measure: MeasureRules | None = None
    """The measurement after each iteration."""
    measures: bool | None = None
    """False to stop measuring."""
    keeps_files: bool | None = None
    on_regression: str | None = None
    rollbacks_max: int | None = None
    selects: bool | None = None
    until: str | None = None
    """The condition; an empty text removes it."""
    review: str | None = None
    """The reviewing command; an empty string for no review."""
    on_tamper: str | None = None

    def of(self, loop: LoopRules) -> LoopRules:
        """Return a loop's rules with the change applied.

        Automatic rollbacks require the files of iterations, which are therefore saved.
        """
        said = {n: x for n, x in structs.asdict(self).items() if x is not None}
        said |= {n: said[n] or None for n in ("until", "review") if n in said}
        if ROLLBACK in (self.on_regression, self.on_tamper):
            said.setdefault("keeps_files", True)
        if not said.pop("measures", True):
            said["measure"] = None
        return structs.replace(loop, **said)


class Weights(msgspec.Struct, frozen=True, omit_defaults=True):
    """The weights of the dimensions in the quality score; they add up to exactly 1."""

    validation: float = 0.30
    """The weight of passing tests, a successful build and a clean linter run."""
    completeness: float = 0.25
    """The weight of the coverage, and of the number of tests relative to the baseline."""
    correctness: float = 0.25
    """The weight of the pass rate and the number of errors."""
    readability: float = 0.10
    """The weight of the warnings and the complexity."""
    efficiency: float = 0.10
    """The weight of the number of lines of code relative to the baseline."""


class Thresholds(msgspec.Struct, frozen=True, omit_defaults=True):
    """The limits in the rules; a value equal to its limit causes no alert."""

    acceptance: float = 0.70
    """The minimum score of a selected iteration."""
    coverage_drop: float = 2.0
    """The loss of coverage, in percentage points, above which there is an alert."""
    error_increase: int = 5
    """The increase in the number of errors above which there is an alert."""
    complexity_growth: float = 0.5
    """The relative growth in complexity above which there is an alert."""
    below_best: float = 0.1
    """The gap to the best score above which a rollback is recommended."""
    stall_variance: float = 0.02
    """The variance of the scores below which three consecutive plateaus are a stall."""
    loop_after: int = 10
    """The iteration after which a repeated signature stops the loop."""
    measured_share: float = 0.5
    """The measured share of the formula's weight below which a person is asked."""
    target: float | None = None
    """The score at which the loop may stop; None if there is no such score."""


class OwnMetric(msgspec.Struct, frozen=True, omit_defaults=True):
    """A custom metric, which is a component of the score if it has a weight."""

    name: str
    """The name under which the metric is measured."""
    better: str | None = None
    """`higher` or `lower`; None for a metric that is only displayed."""
    weight: float = 0.0
    """The metric's share of the score; the dimensions share the rest."""
    target: float | None = None
    """The value with which the metric is compared, instead of the baseline's value."""
    pointer: str | None = None
    """The JSON Pointer of the metric in a JSON report."""
