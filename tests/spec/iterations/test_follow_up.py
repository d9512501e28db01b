"""The action due after an iteration, by the current rules and answers."""

from collections.abc import Callable

import pytest

from sprintlog.engine.judging.events import (
    BaselineCaptured,
    IterationMeasured,
    MeasurementFailed,
    Metrics,
    RecommendationGiven,
    RulesSet,
)
from sprintlog.engine.judging.loop_rules import LoopRules, MeasureRules
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.events import (
    IterationEnded,
    IterationStarted,
    PhaseCompleted,
    PhaseStarted,
    RolledBack,
    SnapshotTaken,
    SprintStarted,
)
from sprintlog.engine.sprint.iterations.decisions import GiveRecommendation, GoOn
from sprintlog.engine.sprint.iterations.follow_up import Do, due, note_of
from sprintlog.engine.sprint.iterations.measurement import FailMeasurement

from ..conftest import Scenario, simple

Given = Callable[..., Scenario]
FILES = MeasureRules(reports=("junit.xml",))
BACK = RecommendationGiven(1, "rollback", "worse", 0.9, 0, cause="regression")
BASE = BaselineCaptured(Metrics(test_count=3))


def rules(**loop: object) -> RulesSet:
    """Return rules by which iterations are measured."""
    return RulesSet(loop=LoopRules(measure=FILES, **loop))  # type: ignore[arg-type]


def kept(number: int) -> SnapshotTaken:
    """Return an event that stores an iteration's files."""
    return SnapshotTaken(f"{number}" * 40, number, "t", 1, 1)


def worked(number: int, phase: str) -> list[Event]:
    """Return an iteration in which a phase was done."""
    return [
        IterationStarted(number, phase=phase),
        PhaseStarted(phase),
        PhaseCompleted(phase),
        IterationEnded(number),
    ]


@pytest.fixture
def loop(given: Given) -> Scenario:
    """Return a sprint whose iterations are measured, with a baseline."""
    return given(simple("a", "b", "c"), SprintStarted(), rules(), BASE, kept(0))


def unmeasured(number: int) -> list[Event]:
    """Return the failed measurement of an iteration, and its answer."""
    return [
        MeasurementFailed(number, "no report"),
        RecommendationGiven(number, "escalate", "no", 0.2, 0, cause="unmeasured"),
    ]


def found(loop: Scenario) -> tuple[Do, int] | None:
    """Return the due action, and its iteration."""
    one = due(loop.sprint)
    return None if one is None else (one.do, one.number)


def test_the_baseline_comes_first(given: Given) -> None:
    """It is due once the sprint runs, until it was measured or the measurement failed."""
    sprint = given(simple("a"), rules())
    assert found(sprint) is None
    assert found(sprint.given(SprintStarted())) == (Do.MEASURE, 0)
    assert found(sprint.given(MeasurementFailed(0, "no tests"))) is None
    # Measured again under a different rule, but only once.
    assert found(sprint.given(RulesSet(), rules())) == (Do.MEASURE, 0)
    assert found(sprint.do(FailMeasurement("no tests", 0))) is None


def test_an_iteration_is_measured_then_decided(loop: Scenario) -> None:
    """Each is due once, in this order; then the loop continues."""
    assert found(loop) is None
    assert found(loop.given(*worked(1, "a"))) == (Do.MEASURE, 1)
    assert found(loop.given(IterationMeasured(1, Metrics(test_count=4)))) == (Do.DECIDE, 1)
    assert found(loop.given(RecommendationGiven(1, "continue", "x", 1.0))) is None


def test_what_began_before_the_rules_is_not_due(given: Given) -> None:
    """Only iterations started under a rule are measured by it."""
    sprint = given(simple("a", "b"), SprintStarted(), *worked(1, "a"), rules(), BASE)
    assert found(sprint) is None


def test_nothing_is_due_without_a_rule(given: Given) -> None:
    """With manual measurements nothing is requested."""
    sprint = given(simple("a", "b"), SprintStarted(), BASE, *worked(1, "a"))
    assert found(sprint.given(IterationMeasured(1, Metrics(test_count=1)), BACK)) is None


@pytest.mark.parametrize(
    ("loop_rules", "then"),
    [
        ({}, (Do.STOP, 1)),
        ({"on_regression": "continue"}, None),
        ({"on_regression": "rollback", "keeps_files": True}, (Do.RESTORE, 1)),
        (
            {"on_regression": "rollback", "keeps_files": True, "rollbacks_max": 0},
            (Do.STOP, 1),
        ),
    ],
)
def test_a_regression_is_followed_by_rule(
    given: Given, loop_rules: dict[str, object], then: tuple[Do, int] | None
) -> None:
    """The rules decide whether the loop ends, rolls back, or continues."""
    sprint = given(simple("a", "b"), SprintStarted(), rules(**loop_rules), BASE, kept(0))
    sprint.given(*worked(1, "a"), IterationMeasured(1, Metrics(test_count=1)), BACK)
    assert found(sprint) == then
    assert "# Iteration 1 was no success" in (note_of(sprint.sprint) or "")


def test_it_goes_back_only_to_files_that_were_kept(given: Given) -> None:
    """Without saved files the loop stops, with this reason."""
    by_rule = rules(on_regression="rollback", keeps_files=True)
    sprint = given(simple("a", "b"), SprintStarted(), by_rule, BASE, *worked(1, "a"))
    sprint.given(IterationMeasured(1, Metrics(test_count=1)), BACK)
    action = next_action(sprint.sprint, now=sprint.now)
    assert (action.do, action.because) == ("stop", "judge")
    assert "the files of iteration 0 were not kept" in (action.why or "")


def test_an_advice_is_followed_once(given: Given) -> None:
    """After a rollback nothing is due, nor after its undo."""
    by_rule = rules(on_regression="rollback", keeps_files=True)
    sprint = given(simple("a", "b"), SprintStarted(), by_rule, BASE, kept(0))
    sprint.given(*worked(1, "a"), IterationMeasured(1, Metrics(test_count=1)), BACK)
    back = sprint.sprint.version
    assert found(sprint.given(RolledBack(5))) is None
    said = note_of(sprint.sprint) or ""
    assert "was taken back: plan and files are as they were before the first" in said
    assert sprint.sprint.knowledge.gone_back == [(back + 1, 1)]
    assert found(sprint.given(RolledBack(back, undoes=back + 1))) is None
    assert "still there" in (note_of(sprint.sprint) or "")


def test_the_second_unmeasured_in_a_row_is_a_regression(loop: Scenario) -> None:
    """The first is only reported; a measured iteration in between resets the count."""
    assert found(loop.given(*worked(1, "a"), *unmeasured(1))) is None
    assert found(loop.given(*worked(2, "b"), *unmeasured(2))) == (Do.STOP, 2)


def test_the_last_unmeasured_one_is_a_regression(loop: Scenario) -> None:
    """If no work is left, no later iteration can repair it."""
    for number, phase in enumerate("abc", start=1):
        measured = IterationMeasured(number, Metrics(test_count=3 + number))
        decided = RecommendationGiven(number, "continue", "x", 1.0)
        so = unmeasured(3) if number == 3 else [measured, decided]
        loop.given(*worked(number, phase), *so)
    assert found(loop) == (Do.STOP, 3)


@pytest.mark.parametrize("cause", ["stalled", "cycling", "infinite-loop", "maximum"])
def test_in_a_plan_a_phase_is_progress(loop: Scenario, cause: str) -> None:
    """In a plan, a loop without progress is reported but does not stop."""
    action = "escalate" if cause == "cycling" else "stop"
    advice = RecommendationGiven(1, action, "x", 0.5, cause=cause)
    measured = IterationMeasured(1, Metrics(test_count=3))
    assert found(loop.given(*worked(1, "a"), measured, advice)) is None


@pytest.mark.parametrize(
    ("action", "cause", "then"),
    [("stop", "target", Do.STOP), ("escalate", "uncertain", Do.ASK)],
)
def test_other_advice_stops(loop: Scenario, action: str, cause: str, then: Do) -> None:
    """A reached target ends the loop, and uncertain results require a person."""
    advice = RecommendationGiven(1, action, "x", 0.5, cause=cause)
    measured = IterationMeasured(1, Metrics(test_count=3))
    assert found(loop.given(*worked(1, "a"), measured, advice)) == (then, 1)


def test_a_persons_word_stands(loop: Scenario) -> None:
    """The answer stays the same until there is new information."""
    loop.given(*worked(1, "a"), IterationMeasured(1, Metrics(test_count=1)), BACK)
    by_person = RecommendationGiven(1, "continue", "fine", 1.0, cause="person")
    assert found(loop.when(GoOn("fine")).then(by_person)) is None
    loop.when(GoOn("fine")).then_nothing()
    loop.when(GiveRecommendation(BACK)).then_nothing()
    assert found(loop.given(rules(rollbacks_max=5))) == (Do.DECIDE, 1)
    loop.when(GiveRecommendation(BACK)).then(BACK)


def test_there_is_something_to_go_on_from(loop: Scenario) -> None:
    """A person can override a decision only if there is one."""
    loop.when(GoOn()).then_refused(containing="has no decision yet", command="decide")
