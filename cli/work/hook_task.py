"""`sprintlog hook-task …`: record what is run beside the iterations of a goal."""

from typing import Any

import click

from sprintlog.engine.sprint.goal.hook_tasks import (
    CompleteHook,
    FailHook,
    RunHook,
    SpawnHook,
)

from .. import typed
from ..context import Function, with_recording
from ..record import record


@typed.group("hook-task")
def command() -> None:
    """Record what is run beside the iterations of a goal."""


def _with_task(function: Function) -> Function:
    """Add which task is meant, and what every recording command has."""
    function = with_recording(function)
    function = typed.option(
        "--iteration", type=int, help="Which iteration it belongs to. [the latest]"
    )(function)
    return click.argument("hook_id", metavar="HOOK")(function)


@command.command(epilog="Example: sprintlog hook-task spawned learning")
@typed.option("--pid", type=int, help="The process, if it runs in the background.")
@typed.option(
    "--transcript", metavar="PATH", help="Its output. [transcripts/iter-N-HOOK.jsonl]"
)
@typed.option("--again", is_flag=True, help="What ran it before is gone.")
@_with_task
def spawned(
    hook_id: str,
    iteration: int | None,
    pid: int | None,
    transcript: str | None,
    again: bool,
    **given: Any,
) -> None:
    """Say that a hook is about to be run."""
    command = SpawnHook(hook_id, iteration, pid, transcript, again)
    record("hook-task spawned", given, command)


@command.command(epilog="Example: sprintlog hook-task running learning --pid 4711")
@typed.option("--pid", type=int, help="The process.")
@_with_task
def running(hook_id: str, iteration: int | None, pid: int | None, **given: Any) -> None:
    """Say that a hook's process runs."""
    record("hook-task running", given, RunHook(hook_id, iteration, pid))


@command.command(epilog="Example: sprintlog hook-task completed learning")
@_with_task
def completed(hook_id: str, iteration: int | None, **given: Any) -> None:
    """Say that a hook ended well."""
    record("hook-task completed", given, CompleteHook(hook_id, iteration))


@command.command(epilog="Example: sprintlog hook-task failed learning --error 'no key'")
@typed.option("--error", metavar="TEXT", help="What went wrong.")
@_with_task
def failed(hook_id: str, iteration: int | None, error: str | None, **given: Any) -> None:
    """Say that a hook failed; the loop goes on."""
    record("hook-task failed", given, FailHook(hook_id, iteration, error))
