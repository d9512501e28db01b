"""Laws of rollbacks to the best: equally good work is never discarded."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.judging.evaluation import Judgement, Scored
from sprintlog.engine.judging.exact import rounded
from sprintlog.engine.judging.recommend import KnownTargets, is_setback, rollback_target
from sprintlog.engine.service.streams.evaluation import evaluate
from sprintlog.engine.sprint.iterations.measurement import unmeasured_iteration

from ..loop_histories import STEPS, LoopHistory, loop_histories
from ..sprint.test_sprint_laws import laws


def is_verified(one: Judgement) -> bool:
    """Return whether no test failed, one passed, and no build failed."""
    now = one.figures
    return now.tests_failed == 0 and bool(now.tests_passed) and now.build_status != "failed"


def prints_as_high(one: Judgement, best: Scored) -> bool:
    """Return whether a score prints as high as the best, on common components."""
    common = one.score.components & best.score.components
    mine, its = one.score.on(common), best.score.on(common)
    return mine is not None and its is not None and rounded(mine, 2) >= rounded(its, 2)


def setbacks(history: LoopHistory) -> set[int]:
    """Return the setbacks that the path ends with."""
    judged, found = history.judged, set()
    for number in reversed(history.on_path()):
        if not is_setback(judged.one(number), judged.best_in_force(), judged.rules):
            break
        found.add(number)
    return found


@laws
@given(loop_histories())
def test_takes_nothing_away_that_is_as_good(history: LoopHistory) -> None:
    """A rollback to the best leaves all verified iterations that are as good."""
    judged, best = history.judged, history.judged.best_in_force()
    target = judged.target()
    if best is None or target is None:
        return
    lost = setbacks(history)
    good = {
        number
        for number in history.on_path()
        if number not in lost
        and is_verified(judged.one(number))
        and prints_as_high(judged.one(number), best)
    }
    before = history.on_path()
    history.go_back(target)
    assert good <= set(history.on_path())
    if good:
        assert target == max(good)
        assert history.on_path() == [number for number in before if number <= target]


@laws
@given(loop_histories())
def test_ends_with_the_best_where_none_is_as_good(history: LoopHistory) -> None:
    """After it the path ends with the target, and going there again changes nothing."""
    target = history.judged.target()
    if not target:
        return
    lost, was_there = setbacks(history), target in history.on_path()
    history.go_back(target)
    assert history.on_path()[-1:] == [target]
    assert target not in lost
    assert unmeasured_iteration(history.sprint) is None
    version = history.sprint.version
    # If the iteration was on another path, that path may offer more candidates.
    if was_there and not setbacks(history):
        assert history.judged.target() == target
        history.go_back(target)
        assert history.sprint.version == version


@laws
@given(loop_histories())
def test_short_ways_lead_to_the_same_place(history: LoopHistory) -> None:
    """Iterations skipped without being read would not be the target."""
    judged, path = history.judged, history.on_path()
    best = judged.best_in_force()
    read = [judged.one(number) for number in reversed(path)]
    if best is not None:
        assert judged.target() == rollback_target(read, best, judged.rules)


@laws
@given(st.lists(STEPS, min_size=1, max_size=14))
def test_what_was_found_before_changes_no_advice(steps: list[Any]) -> None:
    """Reports that share findings equal separate ones."""
    history, shared = LoopHistory(), KnownTargets()
    for step in steps:
        history.take(step)
        for number in history.on_path():
            together = evaluate(history.log, history.sprint, shared)
            assert together.advice(number) == history.judged.advice(number)
            assert together.target() == history.judged.target()


@laws
@given(loop_histories())
def test_advice_and_target_agree(history: LoopHistory) -> None:
    """Advice to roll back has the same target as `--to best`."""
    judged = history.judged
    if judged.last is None and unmeasured_iteration(history.sprint) is None:
        return
    given = judged.recommendation()
    if given.action == "rollback":
        assert given.target == judged.target()
