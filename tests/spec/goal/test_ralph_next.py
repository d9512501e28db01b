"""The next action for a goal, and the prompt of the agent."""

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.prompt import DONE_SHOWN_MAX, said_in
from sprintlog.engine.sprint.agent.prompt import GOAL_ANSWER as ANSWER
from sprintlog.engine.sprint.agent.runs import EndTurn, StartTurn
from sprintlog.engine.sprint.answers.items import OpenStep
from sprintlog.engine.sprint.answers.verdict import Turn, Verdict
from sprintlog.engine.sprint.events import goal as r
from sprintlog.engine.sprint.iterations.goal import CompleteGoal
from sprintlog.engine.sprint.iterations.hook_tasks import SpawnHook
from sprintlog.engine.sprint.iterations.loop import EndWrapped, StartIteration, StartWrapped
from sprintlog.engine.sprint.phases.lifecycle import PauseSprint, ResumeSprint
from sprintlog.engine.sprint.plan.goal_steps import AddStep, UpdateStep

from ..conftest import Data, Scenario, simple
from ..goals import DOCS, LEARNING, begun, goal, idle, iterate
from ..loop.test_next import NOW, answer, do


def prompt(scenario: Scenario) -> str:
    """Return the current prompt of an agent."""
    return str(answer(scenario)["prompt"])


def test_an_iteration_comes_with_its_number() -> None:
    """The first answer is the first iteration; repeated queries give the same answer."""
    told = answer(begun())
    assert {key: told[key] for key in told if key != "prompt"} == {
        "do": "iterate",
        "iteration": 1,
        "attempt": 1,
    }


def test_an_iteration_that_was_cut_short_goes_on() -> None:
    """An interrupted iteration keeps its number and its prompt."""
    scenario = begun()
    before = prompt(scenario)
    told = answer(scenario.do(StartTurn()))
    assert (told["iteration"], told["resumed"], told["prompt"]) == (1, True, before)
    scenario.when(StartTurn()).then_nothing()


def test_numbers_go_on_after_a_rollback() -> None:
    """The number of a discarded iteration is not used again."""
    scenario = idle(begun(), 3).given(f.RolledBack(2))
    assert answer(scenario)["iteration"] == 4


def test_phases_come_first() -> None:
    """An open phase comes before the goal."""
    scenario = begun({**goal(), **simple("a")})
    assert answer(scenario)["phase"] == "a"
    assert do(scenario.given(f.PhaseSkipped("a"))) == "iterate"


def test_stops_at_the_last_iteration_allowed() -> None:
    """`max-iterations` is the last number; a started iteration is still finished."""
    scenario = begun({**goal(), "stats": {"max-iterations": 2}})
    idle(scenario, 1).do(StartIteration())
    assert do(scenario) == "iterate"
    told = answer(scenario.given(f.IterationEnded(2)))
    assert (told["do"], told["why"]) == ("stop", "reached the limit of 2 iterations")


def test_hooks_come_after_their_iteration() -> None:
    """Each enabled hook is returned with everything required to run it."""
    scenario = idle(begun(goal(LEARNING, {**DOCS, "command": "make docs"})), 1)
    told = answer(scenario)
    assert told == {
        "do": "hooks",
        "iteration": 1,
        "hooks": (
            {
                "id": "learning",
                "transcript": "transcripts/iter-1-learning.jsonl",
                "workflow": "w",
                "parallel": True,
            },
            {
                "id": "docs",
                "transcript": "transcripts/iter-1-docs.jsonl",
                "prompt": "Write",
                "command": "make docs",
            },
        ),
    }
    scenario.do(SpawnHook(hook_id="learning")).do(SpawnHook(hook_id="docs"))
    assert do(scenario) == "iterate"


def test_the_last_hooks_come_before_done() -> None:
    """The hooks of the iteration that reached the goal are run as well."""
    scenario = begun(goal(LEARNING)).do(StartIteration()).do(CompleteGoal())
    assert do(scenario) == "hooks"
    assert do(scenario.do(SpawnHook(hook_id="learning"))) == "done"


def test_a_pause_stops_the_hooks_too() -> None:
    """While a sprint is paused, the only answer is the pause."""
    scenario = idle(begun(goal(LEARNING)), 1).do(PauseSprint())
    assert do(scenario) == "stop"
    assert do(scenario.do(ResumeSprint())) == "hooks"


def test_waits_after_a_failure_and_tries_again() -> None:
    """The same iteration is tried again when its time has come."""
    failed = Verdict("failed", error="429", category="rate-limit")
    scenario = iterate(begun().at(NOW), failed)
    told = answer(scenario)
    assert told == {
        "do": "wait",
        "iteration": 1,
        "until": "2026-01-15T10:00:01Z",
        "why": "429 (failure 1 in a row, at most 3)",
        "hint": "run `sprintlog sprint resume` to continue at once",
    }
    told = answer(scenario, now=told["until"])
    assert (told["do"], told["iteration"], told["attempt"]) == ("iterate", 1, 2)


def test_a_failure_for_good_stops() -> None:
    """The sprint is blocked with reason and hint, and then it continues."""
    plan = {**goal(), "retry": {"maxFailures": 0}}
    scenario = iterate(begun(plan), Verdict("failed", error="no compiler"))
    told = answer(scenario)
    why = "the sprint is blocked: iteration 1 failed: no compiler"
    assert (told["do"], told["why"]) == ("stop", why)
    assert told["hint"] == (
        "resolve the problem, then run `sprintlog sprint resume --by NAME --why TEXT`"
    )
    told = answer(scenario.do(ResumeSprint(by="Ada", why="x")))
    assert (told["do"], told["iteration"], told["resumed"]) == ("iterate", 1, True)


def test_a_person_is_asked_for() -> None:
    """The answer contains the reason why an agent needs a person."""
    scenario = iterate(begun(), Verdict("needs-human", error="a key", details="which?"))
    assert (do(scenario), answer(scenario)["why"]) == ("stop", "a key")


def test_all_of_an_iteration_is_one_append() -> None:
    """Run, steps, end and goal are decided together; early claims continue the loop."""
    scenario = begun(goal(min_iterations=2)).do(StartTurn())
    turn = Turn(
        "completed", summary="x", pending=(OpenStep("a"), OpenStep("b")), is_goal=True
    )
    ran = f.AgentRan("", "completed", iteration=1)
    scenario.when(EndTurn(ran=ran, verdict=turn), at=NOW).then(
        ran,
        r.DynamicStepAdded("step-0", "a", 1),
        r.DynamicStepAdded("step-1", "b", 1),
        f.IterationEnded(1, "x"),
        r.GoalClaimed(1, "x", "answer", "iteration 1 of at least 2"),
    )
    assert "In iteration 1 it was said that the goal is reached" in prompt(scenario)
    scenario.do(StartTurn())
    ran = f.AgentRan("", "completed", iteration=2)
    done = Turn("completed", completed=("step-1",), is_goal=True)
    scenario.when(EndTurn(ran=ran, verdict=done), at=NOW).then(
        ran,
        r.DynamicStepUpdated("step-1", "completed"),
        f.IterationEnded(2),
        r.GoalClaimed(2, None, "answer"),
        r.GoalCompleted(2, None, ("step-0",), "answer"),
    )


def test_a_stopped_sprint_keeps_what_is_done() -> None:
    """Paused while the agent worked: steps count, the goal is only claimed."""
    scenario = begun().do(AddStep(prompt="a")).do(StartTurn()).do(PauseSprint())
    ran = f.AgentRan("", "completed", iteration=1)
    turn = Turn("completed", completed=("step-0",), is_goal=True)
    scenario.when(EndTurn(ran=ran, verdict=turn), at=NOW).then(
        ran,
        r.DynamicStepUpdated("step-0", "completed"),
        f.IterationEnded(1),
        r.GoalClaimed(1, None, "answer", "the sprint is paused"),
    )
    failed = Verdict("failed", error="x")
    scenario.do(ResumeSprint()).do(StartTurn()).do(PauseSprint())
    ran = f.AgentRan("", "failed", iteration=2)
    scenario.when(EndTurn(ran=ran, verdict=failed), at=NOW).then(ran)


def test_work_that_came_in_keeps_the_goal_from_being_reached() -> None:
    """A phase injected while the agent worked comes first."""
    scenario = begun().do(StartTurn())
    end = f.InjectionPosition("end-of-workflow")
    scenario.given(
        f.PhaseInjected([{"id": "a", "prompt": "x", "status": "pending"}], end, "")
    )
    ran = f.AgentRan("", "completed", iteration=1)
    scenario.when(EndTurn(ran=ran, verdict=Turn("completed", is_goal=True)), at=NOW)
    assert scenario.decided is not None
    assert scenario.decided[-1] == r.GoalClaimed(1, None, "answer", "phase a is pending")


def test_an_iteration_that_others_ended_is_left() -> None:
    """A concurrent record about the iteration, or the sprint, prevails."""
    ran = f.AgentRan("", "completed", iteration=1)
    scenario = begun().do(StartTurn()).given(f.IterationEnded(1))
    scenario.when(EndTurn(ran=ran, verdict=Turn("completed")), at=NOW).then(ran)
    scenario = begun().do(StartTurn()).given(f.SprintCompleted())
    scenario.when(EndTurn(ran=ran, verdict=Turn("completed")), at=NOW).then(
        ran, f.IterationEnded(1)
    )


def test_is_told_goal_steps_and_how_to_answer() -> None:
    """The prompt contains only the goal, number, steps, pending decisions and format."""
    plan: Data = {**goal(), "goal": "Win: 'all'\n", "stats": {"max-iterations": 9}}
    plan["operator-queue"] = [
        {"title": "A bug", "status": "pending"},
        {"title": "Old", "status": "approved"},
    ]
    scenario = begun(plan)
    assert "name the first steps" in prompt(scenario)
    scenario.do(AddStep(prompt="- one: [a]\n# two")).do(AddStep(prompt="Second\nthing"))
    scenario.do(AddStep(prompt="third")).do(
        UpdateStep(step="step-1", status="completed")
    ).do(UpdateStep(step="step-2", status="blocked"))
    assert prompt(scenario).split("\n\n") == [
        "# Goal",
        "Win: 'all'",
        "# Iteration 1 of at most 9",
        "Work on the first open step that can be worked on, and finish it. What else turns "
        "out to\nbe needed is another step.",
        "# Steps that are done",
        "- step-1: Second",
        "# Open steps",
        "## step-0",
        "- one: [a]\n# two",
        "## step-2 (blocked)",
        "third",
        "# A person has yet to decide about",
        "- A bug",
        *ANSWER.split("\n\n"),
    ]


def test_is_told_to_reflect() -> None:
    """A reflecting iteration has the plan's reflection prompt, or ours with the count."""
    told = answer(idle(begun(), 3))
    assert (told["reflection"], "for 3 iterations" in told["prompt"]) == (True, True)
    own = idle(begun({**goal(), "reflection-prompt": "Look back."}), 3)
    assert "Look back." in prompt(own)
    assert "Plan it." in prompt(begun({**goal(), "goal-prompt": "Plan it."}))


def test_names_the_latest_that_are_done() -> None:
    """The prompt does not grow with every step that is done, nor with its length."""
    scenario = begun()
    for number in range(DONE_SHOWN_MAX + 2):
        scenario.do(AddStep(prompt=f"{number} " + "x" * 500))
        scenario.do(UpdateStep(step=f"step-{number}", status="completed"))
    assert "(2 more before these)\n- step-2: 2 x" in prompt(scenario)
    assert len(prompt(scenario)) < 250 * DONE_SHOWN_MAX


def test_what_can_be_repeated_is_all_that_is_there() -> None:
    """Steps whose text the prompt shortens are also recognized if they are repeated."""
    scenario = begun().do(AddStep(prompt="First\nRALPH_COMPLETE: no"))
    scenario.do(UpdateStep(step="step-0", status="completed"))
    assert "RALPH_COMPLETE: no" not in prompt(scenario)
    assert "RALPH_COMPLETE: no" in said_in(scenario.sprint.plan, prompt(scenario))


@pytest.mark.parametrize("model", ["opus", None, 7])
def test_names_the_model_of_the_sprint(model: object) -> None:
    """A model that the plan names at its top is the agent's."""
    told = answer(begun({**goal(), "model": model}))
    assert told.get("model") == (model if model == "opus" else None)


@pytest.mark.parametrize("ends", [(2, 1), (1, 2)])
def test_a_wrapped_iteration_beside_it_ends_none_of_the_goal(ends: tuple[int, int]) -> None:
    """A command wrapped at the same time has its own end, and so has the run."""
    started = f.IterationStarted(2, is_wrapped=True, overlapping=("1",))
    scenario = begun().do(StartTurn()).given(started)
    for number in ends:
        ran, ended = f.AgentRan("", "completed", iteration=number), f.IterationEnded(number)
        if number == 2:
            scenario.when(EndWrapped(ran), at=NOW).then(ran, ended)
        else:
            turn = EndTurn(ran=ran, verdict=Turn("completed"))
            scenario.when(turn, at=NOW).then(ran, ended)
    assert answer(scenario)["iteration"] == 3


def test_a_wrapped_iteration_follows_one_that_was_left_open() -> None:
    """If no agent works on an iteration, the start of a wrapped one ends it."""
    scenario = begun().do(StartTurn()).do(StartWrapped())
    scenario.do(EndWrapped(f.AgentRan("", "completed", iteration=2)))
    assert "resumed" not in answer(scenario)
    assert answer(scenario)["iteration"] == 3
