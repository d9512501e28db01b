"""The rules in effect: which values they may have (ITR-040)."""

from typing import Any

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.judging.events import RulesSet, Thresholds, Weights
from sprintlog.engine.judging.rules import RANGES, change_rules, check_rules

from .measured import GREEN_ROW, Measured

DEFAULTS = RulesSet()


def changed(**command: Any) -> RulesSet:
    """Return the document's rules with some values replaced."""
    given: dict[str, Any] = {"weights": {}, "thresholds": {}, **command}
    return change_rules(DEFAULTS, **given)


def test_begins_with_the_documents_values() -> None:
    """By default, the document's weights and limits apply."""
    check_rules(DEFAULTS)
    assert DEFAULTS.weights == Weights(0.30, 0.25, 0.25, 0.10, 0.10)
    assert DEFAULTS.thresholds == Thresholds(0.70, 2.0, 5, 0.5, 0.1, 0.02, 10, 0.5, None)
    assert Measured().rules == DEFAULTS


def test_replaces_what_is_named() -> None:
    """Other rules are unchanged; counts are integers, all others decimals."""
    found = changed(
        weights={"validation": 0.4, "efficiency": 0},
        thresholds={"target": 1, "error_increase": 7.0},
        verification_required=False,
    )
    assert found.weights == Weights(0.4, 0.25, 0.25, 0.10, 0.0)
    assert found.thresholds == Thresholds(error_increase=7, target=1.0)
    assert type(found.thresholds.target) is float
    assert type(found.thresholds.error_increase) is int
    assert not found.verification_required
    assert changed(thresholds={"target": None}) == DEFAULTS


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ({"weights": {"validation": 0.31}}, "the weights add up to 1.01, not 1"),
        ({"weights": {"validation": 0.2999999999999}}, ", not 1"),
        ({"weights": {"validation": -0.1}}, "weight validation=-0.1 is out of range"),
        ({"weights": {"validation": float("nan")}}, "out of range"),
        ({"weights": {"beauty": 0.1}}, "there is no weight 'beauty'"),
        ({"thresholds": {"beauty": 0.1}}, "there is no threshold 'beauty'"),
        ({"thresholds": {"acceptance": 1.01}}, "acceptance=1.01 is out of range (0 to 1)"),
        ({"thresholds": {"acceptance": -0.01}}, "out of range"),
        ({"thresholds": {"acceptance": None}}, "out of range"),
        ({"thresholds": {"target": float("nan")}}, "out of range"),
        ({"thresholds": {"target": 1.1}}, "out of range"),
        ({"thresholds": {"error_increase": 1.5}}, "must be a whole number"),
        ({"thresholds": {"loop_after": float("inf")}}, "out of range"),
        ({"thresholds": {"coverage_drop": 100.5}}, "out of range"),
    ],
)
def test_refuses_senseless_values(command: dict[str, Any], says: str) -> None:
    """Weights sum to 1, exactly, and every limit is in its range."""
    with pytest.raises(RefusedError) as refused:
        changed(**command)
    assert says in refused.value.message


def test_every_limit_has_a_range() -> None:
    """No limit can be set without being checked."""
    assert tuple(RANGES) == Thresholds.__struct_fields__


def test_weights_are_summed_as_decimals() -> None:
    """0.1 + 0.2 + 0.3 + 0.4 is 1, unlike with binary numbers."""
    names = ("validation", "completeness", "correctness", "readability", "efficiency")
    weights = dict(zip(names, (0.1, 0.2, 0.3, 0.4, 0.0), strict=True))
    assert changed(weights=weights).weights.readability == 0.4


def test_holds_from_where_it_was_set() -> None:
    """Earlier measurements keep their score; later ones use the new rule."""
    found = Measured()
    before = found.measure(GREEN_ROW).score.value
    found.take(RulesSet(weights=Weights(0.0, 1.0, 0.0, 0.0, 0.0)))
    assert found.judge(1).score.value == before
    assert found.measure(GREEN_ROW).score.value != before
