"""The `sprintlog status` command: the progress of a sprint, on a screen or in one line."""

import click

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.sprint.state.words import COMPLETED, IN_PROGRESS

from .. import typed
from ..context import ReadOptions, find_log, open_workspace, with_reading
from ..output import print_text


@typed.command("status")
@typed.flag(
    "--short",
    "is_short",
    help="Print one line for a shell prompt; print nothing without a sprint.",
)
@typed.flag(
    "--brief", "is_brief", help="Print the briefing that agents receive from their hooks."
)
@typed.flag("--watch", "is_watched", help="Update after each change, until Ctrl-C.")
@typed.flag("-v", "--verbose", help="Show more than 15 lines.")
@with_reading
def command(
    is_short: bool, is_brief: bool, is_watched: bool, verbose: bool, reading: ReadOptions
) -> None:
    """Show the activity of a sprint, or why it stopped, and how to continue.

    The first line contains this information. It is followed, in at most 15 lines, by the
    status, counts, phases, goal and steps, the quality of the best and the last iteration,
    pending advice, the usage of all agents, and budgets. --verbose shows everything.

    --short prints the sprint, the completed phases or the iteration, the current address,
    and the status unless it is in progress. The exit status is 0 even without a log or a
    sprint.

    Examples: sprintlog status --json

    sprintlog status --watch

    PS1='$(sprintlog status --short) $ '
    """
    if is_watched and (reading.as_json or reading.at is not None):
        raise click.UsageError("--watch cannot be combined with --json or --at")
    if is_short or is_brief:
        if is_watched or reading.as_json:
            said = "--short" if is_short else "--brief"
            raise click.UsageError(f"{said} cannot be combined with --json or --watch")
        print_text(*(_short(reading) if is_short else _brief(reading)))
        return
    # Imported here: shell prompts call `--short`, which must be fast.
    from .progress import print_status

    print_status(reading, is_watched=is_watched, is_whole=verbose)


def _short(reading: ReadOptions) -> list[str]:
    try:
        find_log()
    except NotFoundError:
        return []
    with open_workspace(check_head=False) as workspace:
        if not workspace.sprints():
            return []
        sprint = reading.sprint(workspace)
    plan, stats = sprint.plan, sprint.document.get("stats") or {}
    words = [sprint.id]
    if total := sum(plan.tree.phases.values()):
        words.append(f"{plan.tree.phases[COMPLETED]}/{total}")
    if (number := stats.get("current-iteration")) is not None:
        words.append(f"iter:{number}")
    if plan.tree.open_leaf() and (pointed := plan.pointed()) is not None:
        words.append(pointed.address)
    if plan.status != IN_PROGRESS:
        words.append(f"({plan.status})")
    return [" ".join(words)]


def _brief(reading: ReadOptions) -> list[str]:
    # Imported here: only `--brief` requires it.
    from sprintlog.projections.text.briefing import briefing

    with open_workspace() as workspace:
        return briefing(workspace, reading.sprint(workspace))
