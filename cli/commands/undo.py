"""`sprintlog undo`: take back the latest rollback."""

from typing import Any

import click

from sprintlog.engine.sprint.rollback import undo_rollback

from ..recording import record
from ..wiring import with_recording


@click.command("undo", epilog="Example: sprintlog undo --reason 'it was right after all'")
@click.option("--reason", metavar="TEXT", help="Why.")
@with_recording
def command(reason: str | None, **given: Any) -> None:
    """Take back the latest rollback: the state is as it was just before it."""
    record("undo", given, undo_rollback, {"reason": reason})
