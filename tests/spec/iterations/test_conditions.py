"""Conditions: their grammar, exact comparisons, unknown values and error positions."""

import operator
from contextlib import suppress
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.judging.conditions import (
    CHARS_MAX,
    DEPTH_MAX,
    check_names,
    parse,
    values_of,
)
from sprintlog.engine.judging.events import MeasuringRun, Metrics

VALUES = {"tests_failed": 3, "test_count": 25, "coverage_percentage": 79.99, "p95_ms": 0.1}

HOLDING = (
    "tests_failed=3",
    "tests_failed = 3",
    "  tests_failed\t=\n3 ",
    "tests_failed=3.0",
    "tests_failed=+3",
    "tests_failed!=0",
    "tests_failed<4",
    "tests_failed<=3",
    "tests_failed>2",
    "tests_failed>=3",
    "p95_ms=0.1",
    "p95_ms>-1",
    "coverage<80",
    "coverage=79.99",
    "coverage_percentage=79.990",
    "tests_failed=3 and coverage>79",
    "tests_failed=0 or coverage>79",
    "lint_errors=0 or coverage>79",
    "coverage>79 or tests_failed=0 and lint_errors=0",
    "(tests_failed=3)",
    "((tests_failed=3) and (coverage>79 or lint_errors=0))",
    "(" * DEPTH_MAX + "tests_failed=3" + ")" * DEPTH_MAX,
)
NOT_HOLDING = {
    "tests_failed=0": ["tests_failed is 3, must be = 0"],
    "coverage>=80": ["coverage is 79.99, must be >= 80"],
    "coverage_percentage>=80.5": ["coverage_percentage is 79.99, must be >= 80.5"],
    "lint_errors=0": ["lint_errors is unknown, must be = 0"],
    "lint_errors!=0": ["lint_errors is unknown, must be != 0"],
    "exit_status=0": ["exit_status is unknown, must be = 0"],
    "p95_ms!=0.1": ["p95_ms is 0.1, must be != 0.1"],
    "tests_failed=0 and coverage>=80": [
        "tests_failed is 3, must be = 0",
        "coverage is 79.99, must be >= 80",
    ],
    "tests_failed=3 and coverage>=80": ["coverage is 79.99, must be >= 80"],
    "tests_failed=0 or lint_errors=0 and coverage>=80": [
        "tests_failed is 3, must be = 0, or lint_errors is unknown, must be = 0 and "
        "coverage is 79.99, must be >= 80"
    ],
    "(tests_failed=0 or coverage>79) and lint_errors=0": [
        "lint_errors is unknown, must be = 0"
    ],
}
INVALID = {
    "": "expected a name or `(`, not the end, at position 1",
    "   ": "expected a name or `(`, not the end, at position 4",
    "tests_failed": "expected one of = != < <= > >=, not the end, at position 13",
    "tests_failed=": "expected a number, not the end, at position 14",
    "tests_failed=x": "expected a number, not 'x', at position 14",
    "tests_failed==0": "expected a number, not '=', at position 14",
    "tests_failed=0 &&": "expected `and`, `or` or the end, not '&&', at position 16",
    "coverage>=80%": "expected `and`, `or` or the end, not '%', at position 13",
    "coverage>=1e2": "expected a number, not '1e2', at position 11",
    "coverage>=8.": "expected a number, not '8.', at position 11",
    "coverage>=٣": "expected a number, not '٣', at position 11",
    "Coverage>=80": "invalid name 'Coverage', at position 1",
    "0=tests_failed": "expected a name or `(`, not '0', at position 1",
    "and=1": "expected a name or `(`, not 'and', at position 1",
    "tests_failed=0 and": "expected a name or `(`, not the end, at position 19",
    "tests_failed=0 or or": "expected a name or `(`, not 'or', at position 19",
    "tests_failed=0 coverage>1": "expected `and`, `or` or the end, not 'coverage', at "
    "position 16",
    "(tests_failed=0": "expected `and`, `or` or `)`, not the end, at position 16",
    "tests_failed=0)": "expected `and`, `or` or the end, not ')', at position 15",
    "not a=0": "expected one of = != < <= > >=, not 'a', at position 5",
    "__import__('os')": "invalid name '__import__', at position 1",
    "tests_failed=1000000000001": "out of range (-1000000000000 to 1000000000000), at "
    "position 14",
    "(" * (DEPTH_MAX + 1) + "a=1": "more than 20 nested parentheses, at position 21",
    "a" * (CHARS_MAX + 1): "longer than 1000 characters",
}


@pytest.mark.parametrize("text", HOLDING)
def test_condition_that_holds(text: str) -> None:
    """A condition that holds has no unmet parts."""
    assert parse(text).unmet(VALUES) == []


@pytest.mark.parametrize("text", NOT_HOLDING)
def test_condition_that_does_not_hold(text: str) -> None:
    """Each unmet part is stated with its value, or as unknown."""
    assert parse(text).unmet(VALUES) == NOT_HOLDING[text]


@pytest.mark.parametrize("text", INVALID)
def test_invalid_condition(text: str) -> None:
    """An invalid condition is refused with the position of the problem."""
    with pytest.raises(InvalidInputError) as refusal:
        parse(text)
    assert refusal.value.message == f"until: {INVALID[text]}"


@pytest.mark.parametrize("text", ["tests_failed=0", "tests_failed<=0", "tests_failed!=1"])
def test_no_failed_test_requires_a_test(text: str) -> None:
    """A comparison of the failed tests holds only if at least one test exists."""
    condition = parse(text)
    assert condition.unmet({"tests_failed": 0, "test_count": 1}) == []
    assert condition.unmet({"tests_failed": 0, "test_count": 0}) == [
        "test_count is 0, must be > 0"
    ]
    assert condition.unmet({"tests_failed": 0}) == ["test_count is unknown, must be > 0"]


def test_value_is_not_rounded_to_the_limit() -> None:
    """A stated value that is not the limit is never rounded to it."""
    said = parse("coverage>=80").unmet({"coverage_percentage": 79.9999999})
    assert said == ["coverage is 79.9999999, must be >= 80"]
    said = parse("pass_rate=100").unmet({"pass_rate": Fraction(200, 3)})
    assert said == ["pass_rate is 66.6667, must be = 100"]


def test_values_of_a_measurement() -> None:
    """Derived values are computed, and the highest exit status counts."""
    runs = (MeasuringRun("a", 0), MeasuringRun("b", 3), MeasuringRun("c", 1))
    metrics = Metrics(
        test_count=4,
        tests_passed=3,
        coverage_lines_covered=1,
        coverage_lines_total=3,
        build_status="failed",
        own={"p95_ms": 0.5},
    )
    assert values_of(metrics, runs) == {
        "test_count": 4,
        "tests_passed": 3,
        "tests_failed": 1,
        "pass_rate": Fraction(75),
        "coverage": Fraction(100, 3),
        "coverage_percentage": Fraction(100, 3),
        "coverage_lines_covered": 1,
        "coverage_lines_total": 3,
        "p95_ms": Fraction(1, 2),
        "exit_status": 3,
    }
    assert values_of(Metrics()) == {}


def test_unknown_names_are_refused() -> None:
    """A name that is neither a metric nor declared is refused."""
    check_names(
        parse("tests_failed=0 and coverage>1 and exit_status=0 and p95=1"), ("p95",)
    )
    with pytest.raises(InvalidInputError) as refusal:
        check_names(parse("tests_faild=0"), ("p95",))
    assert "unknown metric 'tests_faild'; known: test_count, " in refusal.value.message
    assert refusal.value.message.endswith("exit_status, p95")
    with pytest.raises(InvalidInputError):
        check_names(parse("build_status=0"), ())


SIGNS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
NUMBERS = st.integers(-3, 3)
COMPARISONS = st.tuples(st.sampled_from("abc"), st.sampled_from([*SIGNS]), NUMBERS)
Tree = tuple[Any, str, Any]
TREES: st.SearchStrategy[Tree] = st.recursive(
    COMPARISONS, lambda tree: st.tuples(tree, st.sampled_from(["and", "or"]), tree)
)


def _text(tree: Tree) -> str:
    left, word, right = tree
    return (
        f"({_text(left)}) {word} ({_text(right)})"
        if word in ("and", "or")
        else (f"{left}{word}{right}")
    )


def _holds(tree: Tree, values: dict[str, int]) -> bool:
    left, word, right = tree
    if word in SIGNS:
        return left in values and SIGNS[word](values[left], right)
    both = _holds(left, values), _holds(right, values)
    return all(both) if word == "and" else any(both)


@given(TREES, st.dictionaries(st.sampled_from("abc"), NUMBERS))
def test_unmet_agrees_with_direct_evaluation(tree: Tree, values: dict[str, int]) -> None:
    """A condition has unmet parts exactly if its direct evaluation is false."""
    assert (parse(_text(tree)).unmet(values) == []) == _holds(tree, values)


@given(TREES, st.dictionaries(st.sampled_from("abc"), NUMBERS), st.sampled_from("abc"))
def test_unknown_value_never_meets_more(
    tree: Tree, values: dict[str, int], name: str
) -> None:
    """Removing a value never makes an unmet condition hold."""
    fewer = {one: x for one, x in values.items() if one != name}
    condition = parse(_text(tree))
    assert condition.unmet(values) == [] or condition.unmet(fewer) != []


WORDS = st.sampled_from(["a", "=", "<=", "1", "and", "or", "(", ")", " ", "%", "1.5", "\n"])


@given(st.one_of(st.text(), st.lists(WORDS).map("".join), st.lists(WORDS).map(" ".join)))
def test_any_text_is_a_condition_or_refused(text: str) -> None:
    """No text raises anything but an error about invalid input."""
    with suppress(InvalidInputError):
        condition = parse(text)
        assert condition.names
        assert condition.unmet({})
