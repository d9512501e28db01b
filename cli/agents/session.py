"""`sprintlog session`: what an agent did, compared with what the agent kept of it."""

from pathlib import Path

import click

from .. import typed
from ..context import open_workspace, with_actor, with_json
from ..output import print_answer


@typed.group("session")
def command() -> None:
    """Reconcile recorded sessions with the transcripts of an agent."""


@command.command(
    "reconcile",
    epilog="Examples: sprintlog session reconcile\n\n"
    "sprintlog session reconcile 4f21 --transcript ~/.claude/projects/-shop/4f21.jsonl",
)
@click.argument("session", required=False)
@typed.file_option(
    "--transcript",
    help="The transcript. [the file reported by hooks, in the agent's folder]",
)
@typed.option("--ended", is_flag=True, help="The agent is gone; open calls are unfinished.")
@with_actor
@with_json
def reconcile(
    session: str | None, transcript: Path | None, ended: bool, actor: str, as_json: bool
) -> None:
    """Record the tool calls and tokens found only in the transcript of a session.

    SESSION is `AGENT-ID` or a prefix of it; the default is the latest session. Tokens are
    recorded in the sprint of the session unless another event contains them. A call without
    an end is recorded as unfinished once the session has ended, or after 15 minutes without
    a change of the transcript. The command is idempotent.
    """
    # Imported here: it needs what reads transcripts.
    from .reconciliation import lines_of_answer, reconcile_session

    with open_workspace() as workspace:
        answer = reconcile_session(
            workspace, session, transcript, is_over=ended, actor=actor
        )
    print_answer(answer, lines_of_answer(answer), as_json=as_json)
