"""`sprintlog undo`: take back the latest rollback, or the latest decision."""

from typing import Any

import click

from sprintlog.engine.sprint.rollback import undo_decision, undo_rollback

from ..recording import Options, act, answer_and_refresh
from ..taking_back import take_back, with_files
from ..wiring import open_workspace, with_recording


@click.command(
    "undo",
    epilog="Examples: sprintlog undo --reason 'it was right after all'\n\n"
    "sprintlog undo --decision",
)
@click.option("--reason", metavar="TEXT", help="Why.")
@click.option(
    "--decision",
    is_flag=True,
    help="Take back the latest decision: a skip, block, injection, request, or what a "
    "person stopped or went on with.",
)
@with_files
@with_recording
def command(
    reason: str | None, decision: bool, no_files: bool, yes: bool, **given: Any
) -> None:
    """Take back the latest rollback: the state is as it was just before it.

    Where the rollback brought files back, those that stood there before come back. When
    files alone came back since (`restore --in-place`, `--apply`, `iteration select
    --apply`, a rollback that changed only files), that is taken back and the state stays.
    What would be done to files is shown first.

    With --decision the state is as it was just before the latest decision; what was
    recorded since then no longer counts either. `sprintlog redo` takes an undo back.
    """
    if not decision:
        take_back("undo", undo_rollback, reason, given, no_files=no_files, is_agreed=yes)
        return
    # Imported here: to undo a rollback no decision is looked for.
    from sprintlog.projections.past.decisions import last_decision

    options = Options(given)
    wish = options.masked({"reason": reason})
    with open_workspace() as workspace:
        name = workspace.choose(options.sprint_id)
        outcome = act(
            workspace,
            name,
            "undo --decision",
            lambda sprint, at: undo_decision(
                sprint, first=last_decision(workspace.log, sprint), **wish
            ),
            options,
            wish,
        )
        answer_and_refresh(workspace, outcome, as_json=options.as_json)
