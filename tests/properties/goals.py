"""What may be said for a goal in a random history."""

from collections.abc import Callable
from typing import Any

from sprintlog.engine.log.fact import Fact
from sprintlog.engine.sprint import dynamic_steps, hook_tasks, loop, ralph
from sprintlog.engine.sprint.state import Sprint

COMMANDS: list[tuple[Callable[..., list[Fact]], dict[str, Any]]] = [
    (loop.start_iteration, {}),
    (loop.end_iteration, {}),
    (dynamic_steps.add_step, {"prompt": "x"}),
    (dynamic_steps.add_step, {"prompt": "x", "step": "step-4"}),
    (dynamic_steps.update_step, {"step": "step-4", "status": "completed"}),
    (dynamic_steps.update_step, {"step": "step-4", "status": "pending"}),
    (hook_tasks.spawn_hook, {"hook_id": "h"}),
    (hook_tasks.run_hook, {"hook_id": "h", "pid": 7}),
    (hook_tasks.complete_hook, {"hook_id": "h"}),
    (ralph.set_goal, {"goal": "Win", "idle_threshold": 2, "min_iterations": 3}),
    (ralph.fail_iteration, {"error": "x", "category": "network"}),
    (ralph.complete_goal, {"summary": "x"}),
]


def goal_command(sprint: Sprint, *, i: int, at: str) -> list[Fact]:
    """Return what one of the commands decides at this time."""
    command, said = COMMANDS[i % len(COMMANDS)]
    timed = {"at": at} if command is ralph.fail_iteration else {}
    return command(sprint, **said, **timed)
