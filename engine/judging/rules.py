"""Changes to the rules (weights, limits, policies, metrics), and their allowed values."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from msgspec import structs

from ..errors import InvalidOptionError, RefusedError
from .conditions import EXIT_STATUS, Condition, check_names, parse
from .events import EDIT_POLICIES, RulesSet, Thresholds, Weights
from .exact import exact
from .loop_rules import ON_REGRESSION, ON_TAMPER, ROLLBACK, LoopChange, LoopRules
from .metrics import NAMES, Figures, change_metrics, check_own_metrics, check_word
from .score import NAMES_OF_PARTS

TAKEN = NAMES_OF_PARTS | {*NAMES, *Figures._fields, "score", "class", EXIT_STATUS}
"""The reserved names, which no custom metric may have."""
COUNTS = ("error_increase", "loop_after")
RANGES: dict[str, tuple[float, float]] = {
    "acceptance": (0, 1),
    "coverage_drop": (0, 100),
    "error_increase": (0, 10**9),
    "complexity_growth": (0, 10**6),
    "below_best": (0, 1),
    "stall_variance": (0, 1),
    "loop_after": (0, 10**9),
    "measured_share": (0, 1),
    "target": (0, 1),
}
"""The permitted range of each limit."""


ROLLBACKS_MOST = 1_000_000
"""The maximum value of `rollbacks_max`, as a sanity check."""


def change_rules(
    rules: RulesSet,
    *,
    weights: Mapping[str, float],
    thresholds: Mapping[str, float | None],
    verification_required: bool | None = None,
    progress_edits: str | None = None,
    metrics: Mapping[str, Mapping[str, Any] | None] | None = None,
    loop: LoopChange | None = None,
) -> RulesSet:
    """Return the rules with values replaced; raise `RefusedError` for an invalid value."""
    _check_names(weights, Weights, "weight")
    _check_names(thresholds, Thresholds, "threshold")
    said = {
        "weights": structs.replace(
            rules.weights, **{name: float(weight) for name, weight in weights.items()}
        ),
        "thresholds": structs.replace(
            rules.thresholds, **{name: _limit(name, x) for name, x in thresholds.items()}
        ),
        "metrics": change_metrics(rules.metrics, metrics or {}),
        "verification_required": verification_required,
        "progress_edits": progress_edits,
        "loop": None if loop is None else loop.of(rules.loop),
    }
    changed = structs.replace(rules, **{n: x for n, x in said.items() if x is not None})
    check_rules(changed)
    return changed


def check_rules(rules: RulesSet, *, has_goal: bool = True) -> None:
    """Raise `RefusedError` if the weights do not add up to 1 or a value is invalid.

    A condition requires a sprint with a goal.
    """
    weights: dict[str, float] = structs.asdict(rules.weights)
    for name, weight in weights.items():
        if not 0 <= weight <= 1:
            raise RefusedError(
                f"weight {name}={weight} is out of range (0 to 1)", field=name
            )
    check_word(
        "policy progress_edits", rules.progress_edits, EDIT_POLICIES, field="progress_edits"
    )
    _check_loop(rules.loop)
    if rules.loop.until is not None:
        _check_until(parse(rules.loop.until), rules, has_goal=has_goal)
    if (total := sum(map(exact, weights.values()), Fraction(0))) != 1:
        said = ", ".join(f"{name} {weight}" for name, weight in weights.items())
        raise RefusedError(
            f"the weights add up to {float(total):g}, not 1: {said}", field="weights"
        )
    for name, (lowest, highest) in RANGES.items():
        if (value := getattr(rules.thresholds, name)) is None and name == "target":
            continue
        if value is None or not lowest <= value <= highest:
            raise RefusedError(
                f"threshold {name}={value} is out of range ({lowest} to {highest})",
                field=name,
            )
    check_own_metrics(rules.metrics, TAKEN)


def _check_until(condition: Condition, rules: RulesSet, *, has_goal: bool) -> None:
    if not has_goal:
        raise InvalidOptionError(
            "the gates of the phases complete a sprint without a goal",
            hint="use `sprintlog goal set TEXT` to set a goal",
            field="until",
        )
    # Before it is measured, a measurement may print other names.
    other = condition.names - TAKEN if rules.loop.measure is not None else ()
    check_names(condition, [*(one.name for one in rules.metrics), *other])


def _check_loop(loop: LoopRules) -> None:
    check_word(
        "policy on_regression", loop.on_regression, ON_REGRESSION, field="on_regression"
    )
    check_word("policy on_tamper", loop.on_tamper, ON_TAMPER, field="on_tamper")
    for name in ("on_regression", "on_tamper"):
        if getattr(loop, name) == ROLLBACK and not loop.keeps_files:
            raise RefusedError(
                "an automatic rollback requires the iterations' files",
                hint=f"add --snapshot, or choose another --{name.replace('_', '-')}",
                field=name,
            )
    if not 0 <= loop.rollbacks_max <= ROLLBACKS_MOST:
        raise RefusedError(
            f"rollbacks-max {loop.rollbacks_max} is out of range (0 to {ROLLBACKS_MOST})",
            field="rollbacks_max",
        )
    if (measure := loop.measure) is None:
        return
    if not (measure.runs or measure.builds or measure.reports or measure.sources):
        raise RefusedError(
            "nothing to measure: specify the command's report with --report",
            field="measure",
        )
    if not 0 < measure.timeout_seconds < math.inf:
        raise RefusedError(
            f"invalid timeout {measure.timeout_seconds} s: must be greater than 0",
            field="timeout",
        )


def _limit(name: str, value: float | None) -> float | None:
    """Return a limit in its stored format: an integer for counts, otherwise a decimal."""
    if value is None or not math.isfinite(value):
        return value
    if name not in COUNTS:
        return float(value)
    if value != int(value):
        raise RefusedError(f"threshold {name}={value} must be a whole number", field=name)
    return int(value)


def _check_names(given: Mapping[str, object], kind: type, word: str) -> None:
    allowed = kind.__struct_fields__  # type: ignore[attr-defined]
    for name in given:
        if name not in allowed:
            raise RefusedError(
                f"there is no {word} {name[:40]!r}; known: {', '.join(allowed)}",
                field=name[:40],
                allowed=list(allowed),
            )
