"""`sprintlog hook-task …`: record what is run beside the iterations of a goal."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from sprintlog.engine.sprint.goal import hook_tasks

from ..context import with_recording
from ..record import record

Function = TypeVar("Function", bound=Callable[..., Any])


@click.group("hook-task")
def command() -> None:
    """Record what is run beside the iterations of a goal."""


def _with_task(function: Function) -> Function:
    """Add which task is meant, and what every recording command has."""
    function = with_recording(function)
    function = click.option(
        "--iteration", type=int, help="Which iteration it belongs to. [the latest]"
    )(function)
    return click.argument("hook_id", metavar="HOOK")(function)


@command.command(epilog="Example: sprintlog hook-task spawned learning")
@click.option("--pid", type=int, help="The process, if it runs in the background.")
@click.option(
    "--transcript", metavar="PATH", help="Its output. [transcripts/iter-N-HOOK.jsonl]"
)
@click.option("--again", is_flag=True, help="What ran it before is gone.")
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
    wish = {"hook_id": hook_id, "iteration": iteration, "pid": pid}
    wish |= {"transcript": transcript, "again": again}
    record("hook-task spawned", given, hook_tasks.spawn_hook, wish)


@command.command(epilog="Example: sprintlog hook-task running learning --pid 4711")
@click.option("--pid", type=int, help="The process.")
@_with_task
def running(hook_id: str, iteration: int | None, pid: int | None, **given: Any) -> None:
    """Say that a hook's process runs."""
    wish = {"hook_id": hook_id, "iteration": iteration, "pid": pid}
    record("hook-task running", given, hook_tasks.run_hook, wish)


@command.command(epilog="Example: sprintlog hook-task completed learning")
@_with_task
def completed(hook_id: str, iteration: int | None, **given: Any) -> None:
    """Say that a hook ended well."""
    wish = {"hook_id": hook_id, "iteration": iteration}
    record("hook-task completed", given, hook_tasks.complete_hook, wish)


@command.command(epilog="Example: sprintlog hook-task failed learning --error 'no key'")
@click.option("--error", metavar="TEXT", help="What went wrong.")
@_with_task
def failed(hook_id: str, iteration: int | None, error: str | None, **given: Any) -> None:
    """Say that a hook failed; the loop goes on."""
    wish = {"hook_id": hook_id, "iteration": iteration, "error": error}
    record("hook-task failed", given, hook_tasks.fail_hook, wish)
