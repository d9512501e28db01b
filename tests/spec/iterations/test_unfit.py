"""Iterations that are neither best nor selected nor the target of a rollback."""

from typing import Any

import pytest

from sprintlog.engine.judging.evaluation import Judge, retraction
from sprintlog.engine.judging.events import (
    BY_AGENT,
    IterationMeasured,
    MeasurementChanged,
    Metrics,
    RulesSet,
    Thresholds,
)
from sprintlog.engine.judging.select import select

from .measured import Measured

UNFIT = {
    "reported by an agent": ({"origins": (BY_AGENT,)}, None),
    "its tests changed while they ran": ({"altered_measure": True}, None),
    "its tests differ from the accepted ones": ({}, MeasurementChanged(2, 0, "d")),
}


@pytest.mark.parametrize(("more", "mark"), UNFIT.values(), ids=UNFIT)
def test_an_unfit_iteration_is_never_the_result(
    more: dict[str, Any], mark: MeasurementChanged | None
) -> None:
    """It is neither best nor selected, also after another measurement was retracted."""
    measured = Measured()
    for number, count in {1: 5, 2: 10, 3: 6, 4: 7}.items():
        if mark is not None and number == 2:
            measured.take(mark)
        own = more if number == 2 else {}
        measured.take(
            IterationMeasured(number, Metrics(10, count), number - 1 or None, **own)
        )
    assert measured.judge(2).unfit is not None
    best = measured.best()
    assert best is not None
    assert best.number == 4
    rules = RulesSet(verification_required=False, thresholds=Thresholds(acceptance=0.1))
    found = select(
        measured.all(),
        final=4,
        best=measured.tracker.best,
        baseline=measured.baseline(),
        rules=rules,
    )
    assert found is not None
    assert found.selected.number == 4
    judge = Judge(measured.tracker, lambda version: ("", measured.events[version]))
    others = retraction(measured.tracker, 4, "wrong", judge.score_of).best
    assert others is not None
    assert others.number == 3
