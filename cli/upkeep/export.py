"""`sprintlog export`: the whole log as JSON Lines."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.stores.descriptors import sync
from sprintlog.projections.health.exchange import export_log
from sprintlog.projections.views.log import LogCopied

from .. import typed
from ..context import open_workspace, with_json
from ..output import counted, counting, print_answer, print_bytes


@typed.command(
    "export",
    epilog="Examples: sprintlog export --out auth.jsonl\n\n"
    "sprintlog export | ssh host 'sprintlog import log -'",
)
@typed.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A new file for it. [standard output]",
)
@typed.option("--sprint", "sprint_id", metavar="ID", help="Only the events of this sprint.")
@with_json
def command(out: Path | None, sprint_id: str | None, as_json: bool) -> None:
    """Write the log as JSON Lines, from which `import log` makes the same log again.

    A header, every event with its whole envelope, and the head. The chain is checked on
    the way. With --sprint the events of one sprint, for reading; that is no whole log.
    --json answers about the file that --out names.
    """
    with open_workspace() as workspace:
        name = None if sprint_id is None else workspace.choose(sprint_id)
        progress = counting("events exported")
        if out is None:
            export_log(workspace, print_bytes, sprint_id=name, progress=progress)
            return
        with _new_file(out) as file:
            done = export_log(workspace, file.write, sprint_id=name, progress=progress)
    position, head = done.head.position, done.head.hash.hex()
    answer = LogCopied(str(out), done.events, position=position, head=head)
    said = f"{out}: {counted(done.events, 'event')}, head {head[:16]}"
    print_answer(answer, [said], as_json=as_json)


@contextmanager
def _new_file(path: Path) -> Iterator[IO[bytes]]:
    """Give a file that appears under its name once it is whole and on the disk."""
    if os.path.lexists(path):
        raise RefusedError(
            f"{path} exists: an export is never written over anything", file=str(path)
        )
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
        with open(os.open(draft, flags, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
        sync(path.absolute().parent)
    except OSError as error:
        raise RefusedError(
            f"{path} cannot be written: {error.strerror}", file=str(path)
        ) from error
    finally:
        draft.unlink(missing_ok=True)
