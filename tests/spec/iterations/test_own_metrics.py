"""Custom metrics: declared by rules, part of the score, and consequences."""

import math
from fractions import Fraction
from typing import Any

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.judging.events import Metrics, OwnMetric, RulesSet, Weights
from sprintlog.engine.judging.exact import plain
from sprintlog.engine.judging.metrics import check_metrics, figures, points
from sprintlog.engine.judging.rules import change_rules
from sprintlog.engine.judging.score import score

from .measured import GREEN_ROW, Measured, metrics, named

LOWER = OwnMetric("p95_ms", "lower", 0.2)
HIGHER = OwnMetric("rps", "higher", 0.2)
LOWER_RULES, NO_RULES = RulesSet(metrics=(LOWER,)), RulesSet()


def green(**own: float) -> Metrics:
    """Return good metrics, with some custom ones."""
    return Metrics(**named(GREEN_ROW), own=own)


def declared(**changes: Any) -> tuple[OwnMetric, ...]:
    """Return metrics as rules declare them."""
    return change_rules(RulesSet(), weights={}, thresholds={}, metrics=changes).metrics


@pytest.mark.parametrize(
    ("better", "value", "base", "expected"),
    [
        ("higher", 50, 200, 25),
        ("higher", 200, 200, 100),
        ("higher", 201, 200, 100),
        ("higher", 1, 3, Fraction(100, 3)),
        ("higher", 0, 200, 0),
        ("higher", -1, 200, 0),
        ("higher", 0, 0, 100),
        ("higher", 5, 0, 100),
        ("higher", -5, 0, 0),
        ("higher", -5, -10, 100),
        ("higher", -10, -5, 0),
        ("lower", 200, 50, 25),
        ("lower", 50, 50, 100),
        ("lower", 49, 50, 100),
        ("lower", 3, 1, Fraction(100, 3)),
        ("lower", 0, 50, 100),
        ("lower", 0, 0, 100),
        ("lower", 5, 0, 0),
        ("lower", -5, 0, 100),
        ("lower", -5, -10, 0),
        ("lower", 5, -10, 0),
        ("lower", 5, None, None),
    ],
)
def test_gives_the_part_that_is_left(
    better: str, value: int, base: int | None, expected: Fraction | None
) -> None:
    """As good as the baseline scores full points, worse a part, or none."""
    assert points(OwnMetric("m", better, 0.5), value, base) == expected


def test_target_stands_for_the_baseline() -> None:
    """With a target the baseline's value is not asked for."""
    aimed = OwnMetric("m", "lower", 0.5, target=50.0)
    assert points(aimed, 100, 400) == points(aimed, 100, None) == 50


def test_weighs_a_part_of_the_whole() -> None:
    """The weight is a part of the whole score; the five dimensions share the rest."""
    now, base = figures(green(p95_ms=200)), figures(green(p95_ms=100))
    without = score(now, base, Weights()).value
    found = score(now, base, Weights(), own=(LOWER, OwnMetric("shown")))
    assert without is not None
    assert found.value == without * Fraction(4, 5) + Fraction(50, 100) / 5
    assert sum(one.weight for one in found.dimensions) == found.share == 1
    assert found.dimensions[-1].name == "p95_ms"


def test_missing_one_is_left_out() -> None:
    """A metric that was not measured, or has no reference, is omitted."""
    now, base = figures(green()), figures(green(p95_ms=100))
    without = score(now, base, Weights()).value
    found = score(now, base, Weights(), own=(LOWER,))
    assert (found.value, found.share) == (without, Fraction(4, 5))
    alone = score(base, now, Weights(), own=(LOWER,))
    assert (alone.value, alone.share) == (without, Fraction(4, 5))


@pytest.mark.parametrize(
    ("name", "said", "why"),
    [
        ("P95", {}, "invalid metric name"),
        ("p95-ms", {}, "invalid metric name"),
        ("9p", {}, "invalid metric name"),
        ("p" * 65, {}, "invalid metric name"),
        ("", {}, "invalid metric name"),
        ("coverage", {}, "is already used"),
        ("pass_rate", {}, "is already used"),
        ("validation", {}, "is already used"),
        ("own", {}, "is already used"),
        ("no_code_bloat", {}, "is already used"),
        ("p95_ms", {"better": "faster"}, "must be one of higher, lower"),
        ("p95_ms", {"weight": 0.2}, "it is not known whether higher or lower is better"),
        ("p95_ms", {"better": "lower", "weight": 1.1}, "out of range for a weight"),
        ("p95_ms", {"better": "lower", "weight": -0.1}, "out of range for a weight"),
        ("p95_ms", {"better": "lower", "weight": math.nan}, "out of range for a weight"),
        ("p95_ms", {"weight": None}, "out of range for a weight"),
        ("p95_ms", {"target": math.inf}, "is not a finite number"),
        ("p95_ms", {"target": "fast"}, "is not a number"),
        ("p95_ms", {"pointer": "latency"}, "is not a JSON pointer"),
        ("p95_ms", {"pointer": "/a~2"}, "is not a JSON pointer"),
        ("p95_ms", {"unit": "ms"}, "a metric has no field 'unit'"),
        ("p95_ms", None, "unknown custom metric 'p95_ms'"),
    ],
)
def test_refuses_what_cannot_be_declared(name: str, said: Any, why: str) -> None:
    """A used or empty name, and a missing direction, number or pointer, are refused."""
    with pytest.raises(RefusedError, match=why):
        declared(**{name: said})


def test_weighs_no_more_than_the_whole() -> None:
    """Custom metrics may be the whole score together, and no more."""
    half = {"better": "lower", "weight": 0.5}
    assert len(declared(a=half, b=half)) == 2
    with pytest.raises(RefusedError, match=r"weights add up to 1\.1"):
        declared(a=half, b={**half, "weight": 0.6})


def test_changes_what_is_named() -> None:
    """Unnamed parts of a metric stay; None removes the metric."""
    rules = RulesSet(metrics=(LOWER, HIGHER))

    def changed(**changes: Any) -> tuple[OwnMetric, ...]:
        return change_rules(rules, weights={}, thresholds={}, metrics=changes).metrics

    assert changed(p95_ms={"target": 5}) == (
        OwnMetric("p95_ms", "lower", 0.2, target=5.0),
        HIGHER,
    )
    assert changed(p95_ms=None) == (HIGHER,)


def test_measures_what_is_declared() -> None:
    """A declared name is a metric, directly or under `own`."""
    assert check_metrics({"p95_ms": 1.5}, ["p95_ms"]) == Metrics(own={"p95_ms": 1.5})
    assert check_metrics({"own": {"p95_ms": -2}}, ["p95_ms"]).own == {"p95_ms": -2}
    assert check_metrics({"p95_ms": None}, ["p95_ms"]) == Metrics()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"p95": 1}, "there is no metric 'p95'"),
        ({"p95_ms": math.nan}, "is not a finite number"),
        ({"p95_ms": math.inf}, "is not a finite number"),
        ({"p95_ms": "fast"}, "is not a number"),
        ({"p95_ms": True}, "is not a number"),
        ({"p95_ms": 2 * 10**12}, "is out of range"),
        ({"own": {"p95_ms": 1}, "p95_ms": 2}, "occurs more than once"),
    ],
)
def test_refuses_what_is_no_value(given: Any, why: str) -> None:
    """Only a finite number is accepted for a declared metric."""
    with pytest.raises(RefusedError, match=why):
        check_metrics(given, ["p95_ms"])


def test_progress_is_a_better_value() -> None:
    """Only improving a metric with a weight makes an iteration forward."""
    found = Measured(green(p95_ms=100, rps=5))
    found.take(RulesSet(metrics=(LOWER, OwnMetric("rps", "higher"))))
    judged = found.measure(green(p95_ms=99.5, rps=5))
    assert (judged.classification, judged.reasons) == ("forward", ("p95_ms fell by 0.5",))
    assert found.measure(green(p95_ms=99.5, rps=6)).classification == "plateau"
    assert found.measure(green(p95_ms=120, rps=9)).classification == "plateau"


def test_loops_are_seen_in_all_that_counts() -> None:
    """Iterations with different custom metrics are different."""
    found = Measured(green(p95_ms=100))
    found.take(LOWER_RULES)
    for value in (99, 98, 97, 96, 95):
        assert found.measure(green(p95_ms=value)).loop is None
    for _ in range(4):
        last = found.measure(green(p95_ms=95))
    assert last.loop is not None


def test_lacks_what_the_best_has() -> None:
    """An iteration without the best one's metric is incomplete and cannot replace it."""
    found = Measured(green(p95_ms=100))
    found.take(LOWER_RULES)
    found.measure(green(p95_ms=200))
    assert found.measure(green()).is_incomplete
    assert found.tracker.best is not None
    assert found.tracker.best.number == 1


def test_what_rules_ask_for_no_more_is_not_missed() -> None:
    """Once a metric is removed, new scores are compared on the common parts."""
    found = Measured(green(p95_ms=100))
    found.take(LOWER_RULES)
    found.measure(green(p95_ms=100))
    found.take(NO_RULES)
    worse = found.measure(metrics((*GREEN_ROW[:2], 80, *GREEN_ROW[3:])))
    assert not worse.is_incomplete
    assert found.tracker.best is not None
    assert found.tracker.best.number == 1
    found.measure(metrics((*GREEN_ROW[:2], 86, *GREEN_ROW[3:])))
    assert found.tracker.best.number == 3


def test_metric_that_comes_later_adds_to_the_best() -> None:
    """One with more parts, equally good on the common ones, replaces the best."""
    found = Measured(green(p95_ms=100))
    found.measure(green())
    found.take(LOWER_RULES)
    found.measure(green(p95_ms=400))
    best = found.best()
    assert best is not None
    assert (best.number, best.score.value) < (3, found.judge(1).score.value)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (Fraction(1, 1000), "0.001"),
        (Fraction(3001, 20), "150.05"),
        (Fraction(10**12), "1000000000000"),
        (Fraction(0), "0"),
        (Fraction("1e-9"), "1e-09"),
        (-Fraction(1, 3), "-0.333333"),
    ],
)
def test_prints_numbers_of_any_size(number: Fraction, said: str) -> None:
    """Integers are printed in full, others with six significant digits."""
    assert plain(number) == said
    assert plain(number, signed=True).lstrip("+") == said
