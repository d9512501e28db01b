"""The agent answers about a goal that may occur in a random history."""

from collections.abc import Callable
from typing import Any

from sprintlog.engine.command import Command
from sprintlog.engine.sprint.iterations import goal, hook_tasks, loop
from sprintlog.engine.sprint.phases import waits
from sprintlog.engine.sprint.plan import goal_steps

COMMANDS: list[tuple[Callable[..., Command], dict[str, Any]]] = [
    (loop.StartIteration, {}),
    (loop.EndIteration, {}),
    (goal_steps.AddStep, {"prompt": "x"}),
    (goal_steps.AddStep, {"prompt": "x", "step": "step-4"}),
    (goal_steps.UpdateStep, {"step": "step-4", "status": "completed"}),
    (goal_steps.UpdateStep, {"step": "step-4", "status": "pending"}),
    (hook_tasks.SpawnHook, {"hook_id": "h"}),
    (hook_tasks.RunHook, {"hook_id": "h", "pid": 7}),
    (hook_tasks.CompleteHook, {"hook_id": "h"}),
    (goal.SetGoal, {"goal": "Win", "idle_threshold": 2, "min_iterations": 3}),
    (goal.FailIteration, {"error": "x", "category": "network"}),
    (goal.CompleteGoal, {"summary": "x"}),
    (waits.ScheduleRetry, {"next_retry_at": "2099-01-01T05:00:00Z", "why": "x"}),
]


def goal_command(i: int) -> Command:
    """Return one of the commands."""
    command, said = COMMANDS[i % len(COMMANDS)]
    return command(**said)
