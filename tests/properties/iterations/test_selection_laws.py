"""Laws of the selection over mostly healthy loops: their work is selected."""

from hypothesis import given

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.judging.select import refusal, regression

from ..loop_histories import LoopHistory, loop_histories
from ..sprint.test_sprint_laws import laws
from .test_judging_laws import naive_best


@laws
@given(loop_histories())
def test_the_baseline_is_no_result_of_a_healthy_loop(history: LoopHistory) -> None:
    """It is selected only if all other candidates are regressions from it."""
    judged = history.judged
    base = judged.baseline()
    fit = [one for one in judged.all() if refusal(one, judged.rules) is None]
    if base is None or not fit:
        return
    try:
        selection = judged.selection()
    except SprintlogError:
        return
    lost = [regression(one, base, judged.rules) is not None for one in fit]
    assert selection.is_baseline == (all(lost) and base.score.value is not None)
    assert selection.is_baseline or selection.selected in fit


@laws
@given(loop_histories())
def test_the_best_one_is_compared_on_what_both_have(history: LoopHistory) -> None:
    """An iteration with more measurements can replace the best one."""
    best, kept = naive_best(history.judged.all()), history.judged.tracker.best
    assert (kept and kept.number) == (best and best.number)
