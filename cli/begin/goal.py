"""The `sprintlog goal` commands, which manage a sprint's goal in Ralph mode."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.sprint.iterations.goal import CompleteGoal, SetGoal
from sprintlog.engine.sprint.state.completion import open_claim, refusal_of, urgent
from sprintlog.engine.sprint.state.words import COMPLETED

from .. import typed
from ..context import packed, with_recording
from ..output import hint, note, warn
from ..record import record


@typed.group("goal")
def command() -> None:
    """Set the goal of a sprint, or mark it as reached."""


@command.command("set")
@typed.argument("goal", metavar="GOAL")
@typed.option("--idle-threshold", type=int, help="Idle iterations before a reflection. [3]")
@typed.option(
    "--min-iterations", type=int, help="First iteration that can reach the goal. [0]"
)
@typed.option("--max-iterations", type=int, help="Maximum number of iterations.")
@with_recording
@packed(SetGoal, SetGoal.__struct_fields__, "wanted")
def set_(wanted: SetGoal, **given: Any) -> None:
    """Set the goal and switch the sprint to Ralph mode.

    If the work tree has no unfinished sprint, a sprint limited to 100 iterations is
    created.

    Example: sprintlog goal set 'Every test is green'
    """
    if given["sprint_id"] is None:
        _begin_sprint(given)
    record("goal set", given, wanted)


def _begin_sprint(given: Mapping[str, Any]) -> None:
    """Create a sprint, and a log if necessary, unless an unfinished sprint exists."""
    # Imported here: only the first goal requires it.
    from ..wrapping.recorder import begin_sprint, open_or_make

    with open_or_make(note) as workspace:
        if given["key"] and any(workspace.log.find_key(given["key"])):
            return
        with suppress(NotFoundError):
            if workspace.sprint(workspace.choose(None)).plan.status != COMPLETED:
                return
        at = given["at"] or workspace.now()
        begin_sprint(workspace, note, actor=given["actor"], at=at)


@command.command()
@typed.option("--summary", may_be_empty=True, help="A summary of the result.")
@with_recording
def complete(summary: str | None, **given: Any) -> None:
    """Mark the goal as reached, which completes the sprint.

    Within an agent's run this is only a claim, on which the next measurement decides. Until
    `ralph.min-iterations` is reached, or while critical or high requests are undecided, it
    is only recorded, and the sprint continues.

    Example: sprintlog goal complete --summary 'login works'
    """
    sprint = record("goal complete", given, CompleteGoal(summary))
    if open_claim(sprint.plan) is not None:
        warn("the goal is claimed; the measurement of this iteration decides")
        hint("run `sprintlog next` to see how it is measured")
    elif (why := refusal_of(sprint.plan)) is not None:
        warn(f"the goal is claimed but does not count as reached: {why}")
        if urgent(sprint):
            hint("run `sprintlog queue list --status pending` and decide the requests")
