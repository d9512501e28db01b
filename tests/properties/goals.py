"""What may be said for a goal in a random history."""

from collections.abc import Callable
from typing import Any

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.goal import dynamic_steps, goal, hook_tasks
from sprintlog.engine.sprint.iterations import loop
from sprintlog.engine.sprint.state.sprint import Sprint

COMMANDS: list[tuple[Callable[..., list[Event]], dict[str, Any]]] = [
    (loop.start_iteration, {}),
    (loop.end_iteration, {}),
    (dynamic_steps.add_step, {"prompt": "x"}),
    (dynamic_steps.add_step, {"prompt": "x", "step": "step-4"}),
    (dynamic_steps.update_step, {"step": "step-4", "status": "completed"}),
    (dynamic_steps.update_step, {"step": "step-4", "status": "pending"}),
    (hook_tasks.spawn_hook, {"hook_id": "h"}),
    (hook_tasks.run_hook, {"hook_id": "h", "pid": 7}),
    (hook_tasks.complete_hook, {"hook_id": "h"}),
    (goal.set_goal, {"goal": "Win", "idle_threshold": 2, "min_iterations": 3}),
    (goal.fail_iteration, {"error": "x", "category": "network"}),
    (goal.complete_goal, {"summary": "x"}),
]


def goal_command(sprint: Sprint, *, i: int, at: str) -> list[Event]:
    """Return what one of the commands decides at this time."""
    command, said = COMMANDS[i % len(COMMANDS)]
    timed = {"at": at} if command is goal.fail_iteration else {}
    return command(sprint, **said, **timed)
