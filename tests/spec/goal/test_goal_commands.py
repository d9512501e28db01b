"""`append` accepts the events of Ralph mode under the rules of their commands."""

from typing import Any

import pytest

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.events import goal as r
from sprintlog.engine.sprint.iterations import goal as ralph
from sprintlog.engine.sprint.iterations import hook_tasks
from sprintlog.engine.sprint.plan import goal_steps

from ..conftest import Data, Make
from ..goals import LEARNING, begun, goal
from ..log.test_commands_of_events import asked

ONE = f.IterationStarted(1)
ADDED = r.DynamicStepAdded("a", "x", 1)
SPAWNED = r.HookTaskSpawned(1, "learning", "t")
HOOK: Data = {"hook_id": "learning", "iteration": 1}

CASES: list[tuple[list[Event], str, Data, Make, Data]] = [
    (
        [],
        "goal-set",
        {"goal": "More", "idle_threshold": 2},
        ralph.SetGoal,
        {"goal": "More", "idle_threshold": 2},
    ),
    ([ONE], "dynamic-step-added", {"prompt": "x"}, goal_steps.AddStep, {"prompt": "x"}),
    (
        [ONE],
        "dynamic-step-added",
        {"prompt": "x", "id": "b"},
        goal_steps.AddStep,
        {"prompt": "x", "step": "b"},
    ),
    (
        [ADDED],
        "dynamic-step-updated",
        {"id": "a", "status": "completed"},
        goal_steps.UpdateStep,
        {"step": "a", "status": "completed"},
    ),
    (
        [ONE],
        "iteration-failed",
        {"error": "429", "category": "rate-limit"},
        ralph.FailIteration,
        {"error": "429", "category": "rate-limit"},
    ),
    ([ONE], "goal-completed", {"summary": "x"}, ralph.CompleteGoal, {"summary": "x"}),
    ([ONE], "hook-task-spawned", HOOK, hook_tasks.SpawnHook, HOOK),
    (
        [ONE],
        "hook-task-spawned",
        {**HOOK, "transcript": "t", "pid": 7},
        hook_tasks.SpawnHook,
        {**HOOK, "transcript": "t", "pid": 7},
    ),
    ([ONE, SPAWNED], "hook-task-running", HOOK, hook_tasks.RunHook, HOOK),
    ([ONE, SPAWNED], "hook-task-completed", HOOK, hook_tasks.CompleteHook, HOOK),
    (
        [ONE, SPAWNED],
        "hook-task-failed",
        {**HOOK, "error": "x"},
        hook_tasks.FailHook,
        {**HOOK, "error": "x"},
    ),
]
"""What happened, the event asked for, and the command it stands for."""

CLAIMS = {"goal-claimed", "claim-accepted", "claim-refused", "claim-reviewed"}
CAUSED = CLAIMS | {"reflection-started"}


@pytest.mark.parametrize(
    ("history", "tag", "data", "command", "arguments"), CASES, ids=[c[1] for c in CASES]
)
def test_decides_what_the_command_decides(
    history: list[Event], tag: str, data: Data, command: Make, arguments: Data
) -> None:
    """An event that is appended by its type leads to the events of its command."""
    scenario = begun(goal(LEARNING), *history)
    expected = scenario.when(command(**arguments)).decided
    assert expected
    asked(scenario, tag, data).then(*expected)


def test_covers_every_event_of_ralph_mode() -> None:
    """Every event type is tried here, or only results from another command."""
    assert {c[1] for c in CASES} | CAUSED == {event.type for event in r.GOAL_EVENTS}


@pytest.mark.parametrize("tag", sorted(CAUSED))
def test_refuses_events_that_others_cause(tag: str) -> None:
    """Reflection, claims and decisions on claims only follow from other commands."""
    fields: dict[str, Any] = (
        {"iteration": 1}
        if tag in ("reflection-started", "goal-claimed")
        else {"claim": 1, "reason": "x"}
    )
    fields |= {"idle": 3} if tag == "reflection-started" else {}
    fields |= {"accepts": True, "command": "x"} if tag == "claim-reviewed" else {}
    asked(begun(), tag, fields).then_refused(
        containing=f"{tag} cannot be recorded directly"
    )
