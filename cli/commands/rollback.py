"""`sprintlog rollback`: go back to the state of an earlier point."""

from typing import Any

import click

from sprintlog.engine.sprint.rollback import roll_back

from ..recording import Options, act, answer_and_refresh
from ..wiring import open_workspace, with_recording


@click.command(
    "rollback", epilog="Example: sprintlog rollback --to iter:3 --reason 'went bad'"
)
@click.option(
    "--to",
    required=True,
    metavar="POINT",
    help="version:N, position:N, iter:N (its end), best, start, an ISO time, or '2h ago'.",
)
@click.option("--reason", metavar="TEXT", help="Why.")
@with_recording
def command(to: str, reason: str | None, **given: Any) -> None:
    """Go back to the state of an earlier point; nothing is deleted.

    What happened since no longer counts, but stays in the log, and numbers given out
    are not given again. `sprintlog undo` takes it back.
    """
    options = Options(given)
    wish = options.masked({"reason": reason})
    with open_workspace() as workspace:
        sprint_id = workspace.choose(options.sprint_id)
        version = workspace.version_at(sprint_id, to)
        is_inside = workspace.is_inside_append(sprint_id, version)
        outcome = act(
            workspace,
            sprint_id,
            "rollback",
            lambda sprint, at: roll_back(
                sprint, to=version, is_inside_append=is_inside, **wish
            ),
            options,
            {"to": to, **wish},
        )
        answer_and_refresh(workspace, outcome, as_json=options.as_json)
