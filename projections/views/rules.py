"""The rules in force, as they are answered."""

from msgspec import Struct
from msgspec.structs import asdict

from sprintlog.engine.judging.events import OwnMetric, RulesSet
from sprintlog.engine.judging.loop_rules import LoopRules
from sprintlog.engine.sprint.events import Budgets


class Policies(Struct, frozen=True):
    """What is done by itself."""

    verification_required: bool
    progress_edits: str


class MeasureAnswer(Struct, frozen=True):
    """What is run and read after each iteration, names seen from the work tree's root."""

    runs: tuple[str, ...]
    builds: tuple[str, ...]
    reports: tuple[str, ...]
    sources: tuple[str, ...]
    timeout_seconds: float


class LoopAnswer(Struct, frozen=True):
    """What a loop does by itself around its iterations."""

    measure: MeasureAnswer | None
    """Null where nothing is measured."""
    keeps_files: bool
    on_regression: str
    rollbacks_max: int
    selects: bool


class RulesAnswer(Struct, frozen=True):
    """The weights, limits and policies in force."""

    weights: dict[str, float]
    thresholds: dict[str, float | None]
    policies: Policies
    metrics: tuple[OwnMetric, ...]
    """Metrics of one's own, as they are declared."""
    loop: LoopAnswer
    budgets: Budgets
    """What the sprint may spend in all; without a limit it is not there."""


def rules(found: RulesSet, budgets: Budgets) -> RulesAnswer:
    """Return the rules in force."""
    policies = Policies(found.verification_required, found.progress_edits)
    limits = asdict(found.thresholds)
    loop = loop_answer(found.loop)
    weights = asdict(found.weights)
    return RulesAnswer(weights, limits, policies, found.metrics, loop, budgets)


def loop_answer(loop: LoopRules) -> LoopAnswer:
    """Return what a loop does by itself."""
    said = asdict(loop)
    measure = None if loop.measure is None else MeasureAnswer(**asdict(loop.measure))
    return LoopAnswer(**{**said, "measure": measure})
