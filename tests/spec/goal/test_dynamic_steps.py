"""Steps towards a goal: their ids, their statuses, and an agent's answers about them."""

from typing import Any

import pytest

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.answers.items import OpenStep
from sprintlog.engine.sprint.events import goal as r
from sprintlog.engine.sprint.iterations.loop import StartIteration
from sprintlog.engine.sprint.iterations.rollback import RollBack
from sprintlog.engine.sprint.plan.create import ImportDocument
from sprintlog.engine.sprint.plan.goal_steps import (
    AddStep,
    UpdateStep,
    open_steps,
    take_steps,
)
from sprintlog.engine.sprint.state.words import DYNAMIC_STEP_STATUSES

from ..conftest import Decision, Scenario, simple
from ..goals import begun, goal, statuses


def test_has_all_fields_of_the_document() -> None:
    """A step has id, prompt, status, and the time and iteration in which it was added."""
    scenario = begun().do(StartIteration()).at("2026-01-18T10:00:00Z")
    scenario.when(AddStep(prompt="Do it")).then(r.DynamicStepAdded("step-0", "Do it", 1))
    assert scenario.document["dynamic-steps"] == [
        {
            "id": "step-0",
            "prompt": "Do it",
            "status": "pending",
            "added-at": "2026-01-18T10:00:00Z",
            "added-in-iteration": 1,
        }
    ]


def test_before_the_first_iteration_is_iteration_zero() -> None:
    """Steps that a person adds before the loop starts belong to no iteration."""
    scenario = Scenario().given(goal()).do(AddStep(prompt="x"))
    assert scenario.document["dynamic-steps"][0]["added-in-iteration"] == 0


@pytest.mark.parametrize(
    "identity", ["auth", "step-x", "a: b", "#1", "step-٣", "é/..", "-"]
)
def test_ids_need_not_be_numbers(identity: str) -> None:
    """Any id of printable characters is valid, and numbers continue independently."""
    scenario = begun().do(AddStep(prompt="x", step=identity))
    scenario.do(AddStep(prompt="y"))
    assert list(statuses(scenario)) == [identity, "step-0"]


def test_allots_above_what_was_given() -> None:
    """A number given explicitly is not allotted again, nor any below it."""
    scenario = begun().do(AddStep(prompt="x", step="step-7")).do(AddStep(prompt="y"))
    assert list(statuses(scenario)) == ["step-7", "step-8"]


def test_gives_no_number_again_after_rollback() -> None:
    """Ids that a rollback discarded are not allotted to other steps."""
    scenario = begun().do(AddStep(prompt="x")).do(AddStep(prompt="y"))
    scenario.do(RollBack(to=2, is_inside_append=False)).do(AddStep(prompt="z"))
    assert list(statuses(scenario)) == ["step-2"]


def test_allots_above_what_was_imported(given: Any) -> None:
    """Another tool's steps keep their ids, whatever their other fields are."""
    odd = [{"id": "step-4", "prompt": "x", "status": "pending"}, "no step", {"id": 7}]
    document = {**goal(), "status": "in-progress", "dynamic-steps": odd}
    scenario = given().do(ImportDocument(document=document, source="x"))
    scenario.do(AddStep(prompt="y"))
    assert [s["id"] for s in scenario.document["dynamic-steps"][3:]] == ["step-5"]


def test_the_same_step_again_is_nothing() -> None:
    """Adding an id again is accepted with the same prompt and refused with another."""
    scenario = begun().do(AddStep(prompt="x", step="a"))
    scenario.when(AddStep(prompt="x", step="a")).then_nothing()
    scenario.when(AddStep(prompt="y", step="a")).then_refused(
        containing="a different prompt"
    )


@pytest.mark.parametrize("status", DYNAMIC_STEP_STATUSES)
def test_takes_every_word_once(status: str) -> None:
    """Each of the four statuses can be set; setting it again changes nothing."""
    scenario = (
        begun().do(AddStep(prompt="x")).do(UpdateStep(step="step-0", status="blocked"))
    )
    scenario.do(UpdateStep(step="step-0", status=status))
    assert statuses(scenario) == {"step-0": status}
    scenario.when(UpdateStep(step="step-0", status=status)).then_nothing()


def test_changes_a_prompt() -> None:
    """A prompt may be changed, with a status or without."""
    scenario = begun().do(AddStep(prompt="x"))
    scenario.when(UpdateStep(step="step-0", prompt="y")).then(
        r.DynamicStepUpdated("step-0", None, "y")
    )
    assert scenario.document["dynamic-steps"][0]["prompt"] == "y"


def test_refuses_what_means_nothing() -> None:
    """An empty prompt, an unknown status or step, and an empty command are refused."""
    scenario = begun().do(AddStep(prompt="x"))
    scenario.when(AddStep(prompt=" \n")).then_refused(field="prompt")
    scenario.when(AddStep(prompt="x", step="a\nb")).then_refused(field="id")
    scenario.when(UpdateStep(step="step-0", status="skipped")).then_refused()
    scenario.when(UpdateStep(step="step-0")).then_refused(containing="neither")
    with pytest.raises(NotFoundError, match="no step nowhere"):
        UpdateStep(step="nowhere", status="completed").decide(
            scenario.sprint, "2026-01-15T09:00:00Z"
        )


def test_needs_a_goal(running: Any) -> None:
    """Standard mode has no such steps; the hint names the right command."""
    running(simple("a")).when(AddStep(prompt="x")).then_refused(containing="has no goal")


def test_a_completed_sprint_takes_no_steps() -> None:
    """A completed goal accepts no steps until it is reopened."""
    scenario = begun(None, r.GoalCompleted(1))
    scenario.when(AddStep(prompt="x")).then_refused(state="completed", allowed=["reopen"])


def test_takes_what_an_agent_says() -> None:
    """Finished steps are completed in any order; new ones get ids, known ones keep them."""
    scenario = begun()
    for prompt in ("one", "two", "three"):
        scenario.do(AddStep(prompt=prompt))
    pending = [
        OpenStep("one"),
        OpenStep("two, anew", "step-1"),
        OpenStep("four"),
        OpenStep("five", "auth"),
        OpenStep("six", "step-9"),
        OpenStep("seven"),
    ]
    scenario.when(taking(["step-2", "step-2"], pending)).then(
        r.DynamicStepUpdated("step-2", "completed"),
        r.DynamicStepUpdated("step-1", None, "two, anew"),
        r.DynamicStepAdded("step-3", "four"),
        r.DynamicStepAdded("auth", "five"),
        r.DynamicStepAdded("step-9", "six"),
        r.DynamicStepAdded("step-10", "seven"),
    )
    left = ("step-0", "step-1", "step-3", "auth", "step-9", "step-10")
    assert open_steps(scenario.sprint) == left
    scenario.when(taking(["step-2"], pending)).then_nothing()


def taking(done: list[str], pending: list[OpenStep]) -> Decision:
    """Return a decision on steps that an agent reports as done and as open."""
    return lambda sprint, at: take_steps(sprint, completed=done, pending=pending)


def test_opens_a_step_again() -> None:
    """A completed step that is named as pending is open again."""
    scenario = begun().do(AddStep(prompt="one")).do(AddStep(prompt="two"))
    scenario.do(taking(["step-0", "step-1"], []))
    scenario.when(taking(["step-0"], [OpenStep(None, "step-1")])).then(
        r.DynamicStepUpdated("step-1", "pending")
    )
    # A step in both lists is completed.
    scenario.when(taking(["step-0"], [OpenStep("one", "step-0")])).then_nothing()


def test_notes_what_it_cannot_take() -> None:
    """An unknown id completes and adds nothing; it is stored as a note."""
    scenario = begun()
    scenario.when(taking(["no"], [OpenStep(None, "nor")]))
    assert [type(event) for event in scenario.decided or []] == [f.NoteAdded, f.NoteAdded]
    assert "'no' as completed" in str(scenario.decided)
    assert statuses(scenario.go()) == {}


def test_what_others_observed_changes_what_is_there(given: Any) -> None:
    """An observed event about a missing step changes nothing."""
    scenario: Scenario = begun(None, r.DynamicStepUpdated("no", "completed", "x"))
    assert scenario.document["dynamic-steps"] == []
