"""The target of a rollback: the last work that was as good as the best (ITR-105)."""

from collections.abc import Iterator
from typing import Any

import pytest

from sprintlog.engine.judging.evaluation import Judgement
from sprintlog.engine.judging.events import Metrics, RulesSet
from sprintlog.engine.judging.recommend import WaysBack, recommend, rollback_target

from .measured import BASELINE_OF_REGRESSION, REGRESSION, Measured, loop


def green(count: int, **more: Any) -> Metrics:
    """Return metrics of a number of tests, all of them passing."""
    return Metrics(count, count, **more)


def target(found: Measured, *numbers: int) -> int | None:
    """Return the target of a rollback from the end of a path, by default the full one."""
    path = [found.judge(n) for n in numbers] or found.all()
    return rollback_target(reversed(path), found.best(), RulesSet())


def test_keeps_all_work_that_is_as_good() -> None:
    """Of verified iterations with the best printed score, the latest is the target."""
    found = loop(None, [green(10), green(11), green(12)])
    found.measure(Metrics(12, 3))
    assert found.tracker.best is not None
    assert found.tracker.best.number == 1
    assert target(found) == 3


def test_advice_goes_there_too() -> None:
    """`decide` returns the same target, and also names the best iteration."""
    found = loop(None, [green(10), green(11), Metrics(11, 3)])
    given = recommend(
        found.judge(3),
        found.best(),
        RulesSet(),
        max_iterations=None,
        find_target=lambda: target(found),
    )
    assert (given.action, given.target, given.best) == ("rollback", 2, 1)
    assert given.reason == "Rollback to iteration 2 due to regression"


def test_nothing_is_lost_without_a_regression() -> None:
    """If the path ends with work as good as the best, that is the target."""
    assert target(loop(None, [green(10), green(11)])) == 2


def test_lies_before_all_setbacks_in_a_row() -> None:
    """Consecutive setbacks are one regression, even if the first has as high a score."""
    found = loop(green(5), [green(10), green(9), green(8)])
    assert target(found, 1, 2) == 1
    assert target(found) == 1


def test_a_setback_that_was_gone_on_from_is_work_like_other_work() -> None:
    """An iteration after it without a further loss may be the target."""
    found = loop(green(5), [green(10), green(9), green(9), Metrics(9, 2)])
    assert target(found) == 3


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (Metrics(12, 11), 1),
        (Metrics(tests_passed=12), 1),
        (Metrics(12, 12, build_status="failed"), 1),
        (Metrics(12, 12, coverage_percentage=1.0), 2),
    ],
)
def test_must_be_verified_and_as_good(second: Metrics, expected: int) -> None:
    """Failed or unknown tests, or a failed build, exclude it, unless the best has them."""
    found = loop(None, [green(10), second])
    assert target(found, 1, 2) == expected


def test_is_compared_on_what_both_have() -> None:
    """An iteration without one of the best one's components is compared on the others."""
    found = loop(None, [green(10, coverage_percentage=50.0), green(11), Metrics(11, 1)])
    assert found.judge(2).is_incomplete
    assert target(found) == 2


def test_is_the_best_where_none_is_verified() -> None:
    """The worked loop rolls back to its best iteration, although two of its tests fail."""
    assert target(loop(BASELINE_OF_REGRESSION, REGRESSION)) == 2


def test_is_the_best_where_the_path_has_none_as_good() -> None:
    """An earlier rollback discarded the best iteration, which is still a valid target."""
    found = loop(None, [Metrics(10, 8), green(10)])
    found.measure(Metrics(10, 6), number=3, previous=1)
    assert target(found, 1, 3) == 2


def test_goes_to_what_the_setbacks_were_built_on() -> None:
    """A best iteration that is itself a setback is not a target."""
    found = Measured(Metrics(10, 9, coverage_percentage=50.0))
    found.measure(green(9, coverage_percentage=90.0))
    assert target(found) == 0
    found.measure(Metrics(9, 1, coverage_percentage=90.0))
    assert target(found) == 0


def test_what_was_found_for_others_changes_no_target() -> None:
    """An iteration between two setbacks may be the best, but is not a target."""
    found = Measured(Metrics(10, 10, coverage_percentage=50.0))
    found.measure(Metrics(10, 3, coverage_percentage=50.0))
    found.measure(green(9, coverage_percentage=90.0))
    known = WaysBack({}, {})
    one, two = found.all()
    for newest_first, expected in (([one], 2), ([two, one], 0), ([two, one], 0)):
        best, rules = found.best(), RulesSet()
        assert rollback_target(newest_first, best, rules, known=known) == expected


def test_no_way_is_gone_twice() -> None:
    """With alternating setbacks and lesser work, each only considers new iterations."""
    less, lost = green(10, lint_errors=2), Metrics(10, 3, lint_errors=2)
    found = loop(green(10), [green(10, lint_errors=0), *[less, lost] * 20])
    judged, known, looked = found.all(), WaysBack({}, {}), list[int]()

    def verified(highest: int) -> Iterator[Judgement]:
        for one in reversed(judged[:highest]):
            looked.append(one.number)
            yield one

    for last in range(1, len(judged) + 1):
        given = found.best(), RulesSet()
        path = judged[:last][::-1]
        assert rollback_target(path, *given, verified=verified, known=known) == 1
    assert len(looked) <= 2 * len(judged)


def test_there_may_be_none() -> None:
    """Without a best iteration, and without a setback, there is no target."""
    assert target(Measured()) is None
    assert target(loop(None, [Metrics(file_count=1)])) is None
