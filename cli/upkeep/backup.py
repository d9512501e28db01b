"""`sprintlog backup`: a consistent copy of the log."""

from pathlib import Path

import click
from msgspec import UNSET

from sprintlog.engine.service.streams.soundness import back_up
from sprintlog.projections.views.log import LogCopied

from .. import typed
from ..context import open_workspace, with_json
from ..output import print_answer


@typed.command("backup", epilog="Example: sprintlog backup ../auth-log.db")
@typed.argument("file", type=click.Path(path_type=Path))
@with_json
def command(file: Path, as_json: bool) -> None:
    """Back up the log to one file while others may write, and verify the copy.

    A plain `cp` can miss data that is only in SQLite's WAL. To restore, end every sprintlog
    process, move the log's folder away, run `sprintlog init`, copy the backup to log.db,
    remove log.db-head, and run `sprintlog verify`.
    """
    with open_workspace() as workspace:
        head = back_up(workspace.log, file, clock=workspace.clock)
        risks = [*workspace.log.risks()]
    answer = LogCopied(str(file), head.position, head=head.hash.hex(), risks=risks or UNSET)
    said = [f"{file}: {answer.events} events, head {answer.head[:16]}"]
    said += [f"the log itself: {risk}" for risk in risks]
    print_answer(answer, said, as_json=as_json)
