"""The parts of the rules: weights, limits, metrics, and a loop's automatic actions."""

from typing import Any

import msgspec
from msgspec import structs

CONTINUE, STOP, ROLLBACK, ESCALATE = "continue", "stop", "rollback", "escalate"
ADVICE = (CONTINUE, STOP, ROLLBACK, ESCALATE)
"""What can be advised after an iteration."""
REGRESSION, UNMEASURED, UNCERTAIN = "regression", "unmeasured", "uncertain"
CYCLING, INFINITE_LOOP, STALL = "cycling", "infinite-loop", "stalled"
TARGET, MAXIMUM, PERSON = "target", "maximum", "person"
"""What kind of reason an advice can have."""

ON_REGRESSION = (STOP, ROLLBACK, CONTINUE)
"""What a loop does about a regression: end, go back and try again, or go on."""
ROLLBACKS_MAX = 3
"""The default number of automatic rollbacks of a loop."""


class MeasureRules(msgspec.Struct, frozen=True, omit_defaults=True):
    """The commands and reports for a measurement; paths are relative to the work tree."""

    runs: tuple[str, ...] = ()
    """Commands that write the reports, or print the figures if there is no report."""
    builds: tuple[str, ...] = ()
    """Commands that succeed when the work can be built."""
    reports: tuple[str, ...] = ()
    """What tools write, each perhaps with its format before."""
    sources: tuple[str, ...] = ()
    """Sources whose size and complexity are measured."""
    timeout_seconds: float = 600.0
    """How long each command may take."""


class LoopRules(msgspec.Struct, frozen=True, omit_defaults=True):
    """The actions that a loop performs automatically after its iterations."""

    measure: MeasureRules | None = None
    """The measurement after each iteration; None if there is none."""
    keeps_files: bool = False
    """Whether the work tree's files are kept at the end of each iteration."""
    on_regression: str = STOP
    """The action after a regression: stop, rollback or continue."""
    rollbacks_max: int = ROLLBACKS_MAX
    """The maximum number of automatic rollbacks."""
    selects: bool = False
    """Whether the best iteration's files are put in place at its end."""


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

    def of(self, loop: LoopRules) -> LoopRules:
        """Return a loop's rules with the change applied.

        Automatic rollbacks require the files of iterations, which are therefore saved.
        """
        keeps = self.keeps_files
        if keeps is None and self.on_regression == ROLLBACK:
            keeps = True
        named = ("on_regression", "rollbacks_max", "selects")
        said: dict[str, Any] = {name: getattr(self, name) for name in named}
        said |= {"keeps_files": keeps, "measure": self.measure}
        changed = structs.replace(
            loop, **{name: value for name, value in said.items() if value is not None}
        )
        return structs.replace(changed, measure=None) if self.measures is False else changed


class Weights(msgspec.Struct, frozen=True, omit_defaults=True):
    """The weights of the dimensions in the quality score; they add up to exactly 1."""

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
    """The limits in the rules; a value equal to its limit causes no alert."""

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


class OwnMetric(msgspec.Struct, frozen=True, omit_defaults=True):
    """A custom metric, which is a component of the score if it has a weight."""

    name: str
    """By which it is measured."""
    better: str | None = None
    """`higher` or `lower`; None for one that is only shown."""
    weight: float = 0.0
    """Which part of the whole score it is; the dimensions share the rest."""
    target: float | None = None
    """The value it is compared with instead of the baseline's."""
    pointer: str | None = None
    """Where a JSON report has it: a JSON pointer."""
