"""The `sprintlog hook-task` command: tasks that run alongside a goal's iterations."""

from typing import Any

import click

from sprintlog.engine.command import Command
from sprintlog.engine.sprint.iterations import hook_tasks
from sprintlog.engine.sprint.state.words import COMPLETED, FAILED, RUNNING, SPAWNED

from .. import typed
from ..context import with_recording
from ..record import record

STATUSES = (SPAWNED, RUNNING, COMPLETED, FAILED)
TAKEN = {
    "pid": (SPAWNED, RUNNING),
    "transcript": (SPAWNED,),
    "again": (SPAWNED,),
    "error": (FAILED,),
}
"""The statuses with which each option can be used."""


@typed.command("hook-task")
@typed.argument("status", type=typed.Choice(STATUSES))
@typed.argument("hook_id", metavar="HOOK")
@typed.option("--iteration", type=int, help="The hook's iteration. [the latest]")
@typed.option("--pid", type=int, help="With spawned or running: the process id.")
@typed.option(
    "--transcript",
    metavar="PATH",
    help="With spawned: the file with its output. [transcripts/iter-N-HOOK.jsonl]",
)
@typed.flag("--again", help="With spawned: its previous process has ended.")
@typed.option("--error", help="With failed: what went wrong.")
@with_recording
def command(status: str, hook_id: str, iteration: int | None, **given: Any) -> None:
    """Record tasks that run in parallel with a goal's iterations.

    A task is `spawned` before its process starts, and `running` afterwards. It then
    completes or fails; the loop continues after a failure.

    Examples: sprintlog hook-task spawned learning

    sprintlog hook-task running learning --pid 4711

    sprintlog hook-task failed learning --error 'no key'
    """
    options = {name: given.pop(name) for name in TAKEN}
    for name, value in options.items():
        if value and status not in TAKEN[name]:
            raise click.UsageError(f"--{name} requires {' or '.join(TAKEN[name])}")
    record(f"hook-task {status}", given, _command(status, hook_id, iteration, options))


def _command(
    status: str, hook_id: str, iteration: int | None, options: dict[str, Any]
) -> Command:
    """Return the command for a status."""
    if status == SPAWNED:
        process = options["pid"], options["transcript"], options["again"]
        return hook_tasks.SpawnHook(hook_id, iteration, *process)
    if status == RUNNING:
        return hook_tasks.RunHook(hook_id, iteration, options["pid"])
    if status == COMPLETED:
        return hook_tasks.CompleteHook(hook_id, iteration)
    return hook_tasks.FailHook(hook_id, iteration, options["error"])
