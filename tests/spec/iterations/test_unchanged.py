"""The stop of a loop for a goal after five iterations that changed nothing."""

from typing import Any

import pytest

from sprintlog.engine.judging.events import IterationMeasured, MeasurementFailed, Metrics
from sprintlog.engine.judging.recommend import recommend_unchanged
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.events import (
    AgentRan,
    DynamicStepAdded,
    IterationEnded,
    IterationStarted,
    Limit,
    RolledBack,
)
from sprintlog.engine.sprint.iterations.decisions import GiveRecommendation, GoOn
from sprintlog.engine.sprint.iterations.follow_up import Do, due

from ..conftest import Scenario
from ..goals import begun, goal

NOW = "2026-01-15T09:00:00Z"
STOP = recommend_unchanged(5, 5, None).event


def ran(number: int, status: str = "completed", **fields: Any) -> AgentRan:
    """Return a run that changed no file, unless the fields state otherwise."""
    return AgentRan("", status, **{"iteration": number, "changed_files": False, **fields})


def turn(number: int, *others: Event, **fields: Any) -> list[Event]:
    """Return an iteration with other events before its last run."""
    is_wrapped = "command" in fields and not fields.get("is_fallback")
    started = IterationStarted(number, is_wrapped=is_wrapped)
    return [started, *others, ran(number, **fields), IterationEnded(number)]


def still(first: int, last: int) -> list[Event]:
    """Return consecutive iterations that changed no file."""
    return [event for number in range(first, last + 1) for event in turn(number)]


def found(loop: Scenario) -> tuple[Do, int] | None:
    """Return the due action, and its iteration."""
    one = due(loop.sprint)
    return None if one is None else (one.do, one.number)


def test_five_unchanged_iterations_stop_the_loop() -> None:
    """The decision is due after the fifth, is recorded once, and stops the loop."""
    loop = begun(None, *still(1, 4))
    assert found(loop) is None
    loop.given(*still(5, 5))
    assert found(loop) == (Do.DECIDE, 5)
    loop.when(GiveRecommendation(STOP)).then(STOP)
    loop.when(GiveRecommendation(STOP)).then_nothing()
    action = next_action(loop.sprint, now=NOW)
    assert (action.do, action.because, action.iteration) == ("stop", "judge", 5)
    assert action.why == (
        "iteration 5: no file changed in 5 consecutive iterations; the best iteration is "
        "unknown: none was measured"
    )


def test_a_person_allows_five_more() -> None:
    """After `decide --go-on`, the loop stops again after five more iterations."""
    loop = begun(None, *still(1, 5), STOP).do(GoOn())
    assert found(loop) is None
    assert found(loop.given(*still(6, 9))) is None
    assert found(loop.given(*still(10, 10))) == (Do.DECIDE, 10)


@pytest.mark.parametrize(
    "broken",
    [
        turn(3, changed_files=True),
        turn(3, changed_files=None),
        turn(3, ran(3, "failed", changed_files=True)),
        turn(3, command="claude"),
        [*turn(3), IterationMeasured(3, Metrics(test_count=4))],
        [*turn(3), MeasurementFailed(3, "no tests")],
        [IterationStarted(3), IterationEnded(3)],
    ],
    ids=["changed", "unknown", "tried", "wrapped", "measured", "unmeasured", "by-hand"],
)
def test_any_other_iteration_starts_the_count_again(broken: list[Event]) -> None:
    """Only iterations of `run` that certainly changed nothing are consecutive."""
    measured = IterationMeasured(2, Metrics(test_count=3))
    loop = begun(None, *still(1, 2), measured, *broken, *still(4, 7))
    assert found(loop) is None
    assert found(loop.given(*still(8, 8))) == (Do.DECIDE, 8)


@pytest.mark.parametrize(
    "also",
    [
        [DynamicStepAdded("step-1", "Do it")],
        [ran(5, "failed")],
        [ran(5, "failed", limit=Limit("usage-limit"))],
        [IterationMeasured(4, Metrics(test_count=3))],
    ],
    ids=["steps", "failure", "limit", "equal measurement"],
)
def test_reports_and_attempts_are_no_changes(also: list[Event]) -> None:
    """Steps, failed attempts, waits and an equal measurement do not restart the count."""
    measured = IterationMeasured(3, Metrics(test_count=3))
    loop = begun(None, *still(1, 3), measured, *still(4, 4), *turn(5, *also))
    assert found(loop) == (Do.DECIDE, 5)


@pytest.mark.parametrize(
    "last",
    [
        [IterationStarted(5), ran(5, "failed")],
        [IterationStarted(5), ran(5, "failed", limit=Limit("usage-limit"))],
        [*still(5, 5), RolledBack(2)],
        turn(5, command="claude"),
    ],
    ids=["failure", "limit", "rollback", "wrapped"],
)
def test_what_does_not_count(last: list[Event]) -> None:
    """Failures, waits, discarded iterations and wrapped commands are not counted."""
    assert found(begun(None, *still(1, 4), *last)) is None


def test_the_fallback_counts() -> None:
    """An iteration done by the fallback is an iteration of `run`."""
    last = turn(5, command="other", is_fallback=True)
    assert found(begun(None, *still(1, 4), *last)) == (Do.DECIDE, 5)


def test_the_least_number_of_iterations_comes_first() -> None:
    """A loop does not stop before the minimum number of iterations was run."""
    plan = goal()
    plan["ralph"]["min-iterations"] = 7
    loop = begun(plan, *still(1, 6))
    assert found(loop) is None
    assert found(loop.given(*still(7, 7))) == (Do.DECIDE, 7)


def test_only_the_latest_iteration_is_answered() -> None:
    """Advice about earlier iterations does not stop a loop that has changed files since."""
    loop = begun(None, *still(1, 5), STOP, *turn(6, changed_files=True))
    assert found(loop) is None
    assert loop.sprint.knowledge.tracker.recommended == STOP
