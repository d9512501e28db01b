"""The `sprintlog store` commands: copies, exchange and size of the log."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click
from msgspec import UNSET

from sprintlog.engine.errors import NotFoundError, RefusedError
from sprintlog.engine.journal.state import JOURNAL
from sprintlog.engine.log.lines import LINE_BYTES_MAX
from sprintlog.engine.service.streams.soundness import back_up
from sprintlog.projections.health.exchange import import_log
from sprintlog.projections.views.log import LogCopied

from .. import typed
from ..context import open_workspace, with_json
from ..output import counted, counting, print_answer, warn


@typed.group(
    "store", lazy={name: f"upkeep.{name}:command" for name in ("copy", "export", "prune")}
)
def command() -> None:
    """Back up, copy, export, import or prune the log."""


@command.command()
@typed.path_argument("file")
@with_json
def backup(file: Path, as_json: bool) -> None:
    """Back up the log to one file while other processes may write, and verify the copy.

    A plain `cp` can miss data that is only in SQLite's WAL. To restore, end every sprintlog
    process, move the log's folder away, run `sprintlog init`, copy the backup to log.db,
    remove log.db-head, and run `sprintlog verify`.

    Example: sprintlog store backup ../auth-log.db
    """
    with open_workspace() as workspace:
        head = back_up(workspace.log, file, clock=workspace.clock)
        risks = [*workspace.log.risks()]
    answer = LogCopied(str(file), head.position, head=head.hash.hex(), risks=risks or UNSET)
    said = [f"{file}: {answer.events} events, head {answer.head[:16]}"]
    said += [f"the log itself: {risk}" for risk in risks]
    print_answer(answer, said, as_json=as_json)


@command.command("import")
@typed.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@with_json
def import_(file: Path, as_json: bool) -> None:
    """Import a log written by `store export` into an empty log; FILE - is stdin.

    Every event keeps its position and hash. Lines, chain and head are checked during the
    import; if there is a problem, nothing is imported. Missing state files are written;
    existing files do not change.

    Example: sprintlog init && sprintlog store import auth.jsonl
    """
    name = "standard input" if str(file) == "-" else str(file)
    with open_workspace() as workspace, _lines(file) as lines:
        done = import_log(workspace, lines, file=name, progress=counting("events imported"))
    for stream, found in (*done.files.items(), (JOURNAL, done.journal)):
        if found is not None and found.problem:
            warn(f"{stream}: {found.problem}; the file was not changed")
    position, head, sprints = done.head.position, done.head.hash.hex(), len(done.files)
    counts = counted(position, "event"), counted(sprints, "sprint")
    said = ", ".join((*counts, f"head {head[:16]}"))
    answer = LogCopied(name, position, sprints, head=head)
    print_answer(answer, [f"{name}: {said}"], as_json=as_json)


@contextmanager
def _lines(file: Path) -> Iterator[Iterator[bytes]]:
    """Yield the lines of a file; a line that exceeds the maximum length is split."""
    source: Path | int = 0 if str(file) == "-" else file
    try:
        with open(source, "rb", closefd=source != 0) as opened:
            yield iter(partial(opened.readline, LINE_BYTES_MAX + 1), b"")
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no file {file}", file=str(file)) from error
    except OSError as error:
        raise RefusedError(f"{file}: {error.strerror}", file=str(file)) from error
