"""`sprintlog goal …`: what a sprint in Ralph mode is to reach."""

from typing import Any

import click

from sprintlog.engine.sprint.goal.goal import CompleteGoal, SetGoal, claim_in_force
from sprintlog.engine.sprint.queue.requests import urgent

from .. import typed
from ..context import with_recording
from ..output import hint, warn
from ..record import record


@typed.group("goal")
def command() -> None:
    """Set the goal of a sprint, or mark it as reached."""


@command.command("set", epilog="Example: sprintlog goal set 'Every test is green'")
@click.argument("text", metavar="GOAL")
@typed.option("--idle-threshold", type=int, help="Idle iterations before a reflection. [3]")
@typed.option("--min-iterations", type=int, help="First iteration that can reach it. [0]")
@typed.option("--max-iterations", type=int, help="Limit of iterations.")
@with_recording
def set_(
    text: str,
    idle_threshold: int | None,
    min_iterations: int | None,
    max_iterations: int | None,
    **given: Any,
) -> None:
    """Set the goal and switch the sprint to Ralph mode."""
    command = SetGoal(text, idle_threshold, min_iterations, max_iterations)
    record("goal set", given, command)


@command.command(epilog="Example: sprintlog goal complete --summary 'login works'")
@typed.option("--summary", metavar="TEXT", help="A summary of the result.")
@with_recording
def complete(summary: str | None, **given: Any) -> None:
    """Mark the goal as reached, which completes the sprint.

    Before `ralph.min-iterations`, and while critical or high requests are undecided, it is
    recorded as a claim, and the sprint continues.
    """
    sprint = record("goal complete", given, CompleteGoal(summary))
    if (why := claim_in_force(sprint.plan)) is not None:
        warn(f"the goal is claimed, it does not count as reached: {why}")
        if urgent(sprint):
            hint("`sprintlog queue list --status pending`, and decide")
