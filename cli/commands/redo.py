"""`sprintlog redo`: take back the latest undo."""

from typing import Any

import click

from sprintlog.engine.sprint.rollback import redo

from ..recording import record
from ..wiring import with_recording


@click.command("redo", epilog="Example: sprintlog redo --reason 'it was wrong after all'")
@click.option("--reason", metavar="TEXT", help="Why.")
@with_recording
def command(reason: str | None, **given: Any) -> None:
    """Take back the latest undo: the state is as it was just before it."""
    record("redo", given, redo, {"reason": reason})
