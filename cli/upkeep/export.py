"""`sprintlog export`: the whole log as JSON Lines, or in a format of other tools."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.extras import not_installed
from sprintlog.engine.log.stores.descriptors import sync
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.service.work_tree.own_paths import know_for_people
from sprintlog.projections.exports.formats import EVENTS, write_events
from sprintlog.projections.health.exchange import Carried, export_log
from sprintlog.projections.text.openmetrics import openmetrics
from sprintlog.projections.views.log import LogCopied
from sprintlog.projections.views.quality import status
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import environment, open_workspace, with_json
from ..output import counted, counting, print_answer, print_bytes
from .export_to import OTLP, WEBHOOK, send

LOG, OPENMETRICS = "log", "openmetrics"
FORMATS = (LOG, *EVENTS, OPENMETRICS)


@typed.command(
    "export",
    epilog="Examples: sprintlog export --out auth.jsonl\n\n"
    "sprintlog export --format otlp-json --out traces.jsonl",
)
@typed.file_option("--out", help="A new file. [standard output]")
@typed.option("--sprint", "sprint_id", metavar="ID", help="Only the events of this sprint.")
@typed.option(
    "--format",
    "format_",
    type=typed.Choice(FORMATS),
    default=LOG,
    help="`log`, or the format of another tool. [log]",
)
@typed.option(
    "--otlp-endpoint",
    metavar="URL",
    help="Send new events as OpenTelemetry traces over HTTP.",
)
@typed.option(
    "--webhook",
    metavar="URL",
    help="Send each new event, signed with SPRINTLOG_WEBHOOK_SECRET.",
)
@typed.option(
    "--with-content",
    is_flag=True,
    help="In another format, include text: prompts, outputs, reasons.",
)
@with_json
def command(
    out: Path | None,
    sprint_id: str | None,
    format_: str,
    otlp_endpoint: str | None,
    webhook: str | None,
    with_content: bool,
    as_json: bool,
) -> None:
    """Write the log as JSON Lines; `import log` restores the same log from them.

    It writes a header, every event with its whole envelope, and the head, and checks the
    chain. --sprint exports the events of one sprint, which cannot be imported again. Other
    formats are for other tools, without text unless --with-content is passed. --json prints
    information about the file of --out.

    --otlp-endpoint and --webhook send the events since the last export to an address.
    """
    address = otlp_endpoint or webhook
    is_alone = not (otlp_endpoint and webhook) and out is None and format_ == LOG
    if address and not is_alone:
        raise click.UsageError("an address says by itself what is sent: give it alone")
    if not address and with_content and format_ in (LOG, OPENMETRICS):
        told = "is always whole" if format_ == LOG else "holds figures alone"
        raise click.UsageError(f"--format {format_} {told}: leave out --with-content")
    if format_ == "parquet" and out is None and sys.stdout.isatty():
        raise click.UsageError("give --out: a Parquet file is not for a terminal")
    with open_workspace() as workspace:
        name = None if sprint_id is None else workspace.choose(sprint_id)
        if address:
            kind = OTLP if otlp_endpoint else WEBHOOK
            send(
                *(workspace, kind, address, environment()),
                name=name,
                with_content=with_content,
                as_json=as_json,
            )
            return
        if out is None:
            _export(workspace, print_bytes, name, format_, with_content)
            return
        with _new_file(out) as file:
            done = _export(workspace, file.write, name, format_, with_content)
        know_for_people(workspace, out)
    position, head = done.head.position, done.head.hash.hex()
    answer = LogCopied(str(out), done.events, position=position, head=head)
    said = f"{out}: {counted(done.events, 'event')}, head {head[:16]}"
    print_answer(answer, [said], as_json=as_json)


def _export(
    workspace: Workspace,
    write: Callable[[bytes], object],
    name: str | None,
    format_: str,
    with_content: bool,
) -> Carried:
    """Write a log in a format, and return how much of it that is."""
    progress = counting("events exported")
    if format_ == LOG:
        return export_log(workspace, write, sprint_id=name, progress=progress)
    if format_ == OPENMETRICS:
        return _export_figures(workspace, write, name)
    stream = None if name is None else sprint_stream(name)
    log = workspace.log
    try:
        head = write_events(
            *(log, format_, write),
            stream=stream,
            with_content=with_content,
            progress=progress,
        )
    except ImportError as error:
        # No other format has a library.
        raise not_installed(
            "parquet",
            "Parquet needs pyarrow, which is not installed here",
            instead=", or --format csv",
        ) from error
    return Carried(head.position if stream is None else log.version(stream), head)


def _export_figures(
    workspace: Workspace, write: Callable[[bytes], object], name: str | None
) -> Carried:
    """Write where sprints stood when their last event happened, by the log alone."""
    head = workspace.log.head()
    known = workspace.sprints()
    chosen = known if name is None else {name: known[name]}
    found = [
        status(workspace, workspace.sprint(one), at=f"version:{version}")
        for one, version in sorted(chosen.items())
    ]
    write(openmetrics(head.position, found, is_now=False).encode())
    return Carried(head.position, head)


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
