"""The `sprintlog step` commands: add steps to the plan, and record steps towards a goal."""

from typing import Any

from sprintlog.engine.sprint.plan.goal_steps import AddStep, UpdateStep
from sprintlog.engine.sprint.plan.injection import InjectSteps
from sprintlog.engine.sprint.state.words import COMPLETED, DYNAMIC_STEP_STATUSES

from .. import typed
from ..context import with_recording
from ..record import record
from .injection import inject, with_injection


@typed.group("step")
def command() -> None:
    """Insert steps into a for-each phase, or record the steps towards a goal."""


@command.command("inject")
@with_injection()
def inject_(**given: Any) -> None:
    """Insert steps into a for-each phase of any status; the pointer does not move.

    The default position is after the current step. A file contains `steps`, each with an
    id, a prompt and optionally `phases`.

    Examples: sprintlog step inject --prompt 'Let people log out' --id logout

    sprintlog step inject --file steps.yaml --position end-of-phase:build
    """
    inject("step inject", given, InjectSteps, key="steps")


@command.command()
@typed.option("--prompt", required=True, help="The task.")
@typed.option("--id", "step", metavar="ID", help="The id. [step-N, never used before]")
@with_recording
def add(prompt: str, step: str | None, **given: Any) -> None:
    """Add a step towards the goal of a sprint in Ralph mode.

    Example: sprintlog step add --prompt 'Let people log out'
    """
    record("step add", given, AddStep(prompt, step))


@command.command()
@typed.argument("step", metavar="ID")
@typed.choice_option("--status", of=DYNAMIC_STEP_STATUSES, help="The step's status.")
@typed.option("--prompt", help="The new task.")
@with_recording
def update(step: str, status: str | None, prompt: str | None, **given: Any) -> None:
    """Change the status or prompt of a step towards the goal.

    Example: sprintlog step update step-1 --status in-progress
    """
    record("step update", given, UpdateStep(step, status, prompt))


@command.command()
@typed.argument("step", metavar="ID")
@with_recording
def complete(step: str, **given: Any) -> None:
    """Mark a step towards the goal as completed.

    Example: sprintlog step complete step-1
    """
    record("step complete", given, UpdateStep(step, COMPLETED))
