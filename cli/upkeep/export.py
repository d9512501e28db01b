"""The `sprintlog store export` command: write the log to a file, or send it to a server.

Sending to a server only reads the log, in a separate process, so recording processes
never wait for a server. For each address, the position of the last event sent is stored
in a small file next to the log.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import unquote

import click
import msgspec

from sprintlog.engine.adapters import delivery
from sprintlog.engine.adapters.folders import opened
from sprintlog.engine.adapters.replace import FilePlace, read_file, replace_file
from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.log.envelope import Head
from sprintlog.engine.log.port import EventStore
from sprintlog.engine.log.stores.descriptors import sync
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.service.work_tree.own_paths import know_for_people
from sprintlog.projections.exports import deliveries, formats
from sprintlog.projections.exports.formats import EVENTS, write_events
from sprintlog.projections.exports.spans import spans_left_out
from sprintlog.projections.health.exchange import Carried, export_log
from sprintlog.projections.text.openmetrics import openmetrics
from sprintlog.projections.text.stops import status_answer
from sprintlog.projections.views.log import LogCopied, LogSent
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import environment, open_workspace, with_json
from ..output import counted, counting, print_answer, print_bytes, warn

SECRET, HEADERS = "SPRINTLOG_WEBHOOK_SECRET", "OTEL_EXPORTER_OTLP_HEADERS"
TRACES_PATH = "/v1/traces"
KEEP_SECONDS = 1.0
WEBHOOK, OTLP = "webhook", "otlp"


PREFIX, SUFFIX = "sent-", ".json"
NAME_CHARS = 16
_FILE_BYTES_MAX = 4096


class _Kept(msgspec.Struct, frozen=True):
    position: int
    hash: str


class Sent(NamedTuple):
    """The file that stores the position up to which events were sent to an address."""

    file: Path

    @property
    def lock(self) -> str:
        """Return the name of the lock that prevents concurrent sending."""
        return f"{self.file.stem}.lock"

    def position(self, log: EventStore) -> int:
        """Return the position up to which events were sent; 0 before the first export.

        Raise `RefusedError` if the file belongs to another log or is invalid.
        """
        try:
            with opened(self.file.parent) as folder:
                spot = FilePlace(folder, self.file.name)
                content = read_file(spot, at_most=_FILE_BYTES_MAX)
            kept = msgspec.json.decode(content, type=_Kept)
        except FileNotFoundError:
            return 0
        except (OSError, msgspec.DecodeError) as error:
            raise self._refused("cannot be read") from error
        if kept.position == 0:
            return 0
        found = next(log.read(after=kept.position - 1, until=kept.position), None)
        if found is None or found.hash.hex() != kept.hash:
            raise self._refused("belongs to another log")
        return kept.position

    def keep(self, head: Head) -> None:
        """Store the position up to which the server has accepted events."""
        said = msgspec.json.encode(_Kept(head.position, head.hash.hex()))
        try:
            replace_file(self.file, said + b"\n", mode=0o600)
        except OSError as error:
            raise self._refused(f"cannot be written: {error.strerror}") from error

    def _refused(self, problem: str) -> RefusedError:
        return RefusedError(
            f"{self.file} {problem}",
            hint="remove the file to send all events again",
            file=str(self.file),
        )


def sent_to(folder: Path, kind: str, url: str, stream: str | None) -> Sent:
    """Return the file that stores a log's sent position for an address."""
    text = "\0".join((kind, url, stream or ""))
    name = sha256(text.encode()).hexdigest()[:NAME_CHARS]
    return Sent(folder / f"{PREFIX}{name}{SUFFIX}")


def send(
    workspace: Workspace,
    kind: str,
    url: str,
    *,
    name: str | None,
    with_content: bool,
    as_json: bool,
) -> None:
    """Send new events to an address, store the position reached, and print the result."""
    headers, key = _given(kind, environment())
    is_traces = kind == OTLP
    asked = _traces_of(url) if is_traces else url
    target = delivery.Target(asked, pause=time.sleep, reads_answers=is_traces)
    stream = None if name is None else sprint_stream(name)
    sent = sent_to(workspace.location.folder, kind, url, stream)
    progress, number, left_out = counting("messages sent"), 0, 0
    with workspace.log.locks.hold(sent.lock):
        place = sent.position(workspace.log)
        make = deliveries.spans_to_send if is_traces else deliveries.events_to_send
        found = make(workspace.log, place, stream=stream, with_content=with_content)
        with _keeping(sent) as keep:
            for one in found:
                if one.body:
                    more = {}
                    if key is not None:
                        at = workspace.clock() // 1000
                        more = delivery.signed(key, one.body, id_=one.id, at=at)
                    message = delivery.Message(one.body, {**headers, **more})
                    answer = target.deliver(message, what=one.what)
                    progress(number := number + 1)
                    if is_traces:
                        left_out += _left_out(answer)
                keep(one.head)
                place = one.head.position
    said = f"{target.name}: {counted(number, 'message')} accepted, up to event {place}"
    print_answer(LogSent(target.name, number, place, left_out), [said], as_json=as_json)


@contextmanager
def _keeping(sent: Sent) -> Iterator[Callable[[Head], None]]:
    """Yield a function that stores the position reached, every second and at the end.

    If the process is killed, the messages of the last second are sent again.
    """
    last: Head | None = None
    due = time.monotonic() + KEEP_SECONDS

    def note(head: Head) -> None:
        nonlocal last, due
        last = head
        if time.monotonic() >= due:
            sent.keep(head)
            due = time.monotonic() + KEEP_SECONDS

    try:
        yield note
    finally:
        if last is not None:
            sent.keep(last)


def _left_out(answer: bytes) -> int:
    """Return the number of spans that an endpoint rejected, and print the reason."""
    count, why = spans_left_out(answer)
    if count or why:
        warn(
            f"{counted(count, 'span')} rejected by the endpoint: "
            f"{why[: delivery.SAID_CHARS_MAX]}"
        )
    return count


def _given(
    kind: str, environment: Mapping[str, str]
) -> tuple[dict[str, str], bytes | None]:
    """Return the headers sent with each message, and the key that signs webhooks."""
    if kind == OTLP:
        more = _headers_in(environment.get(HEADERS, ""))
        return {"Content-Type": "application/json", **more}, None
    if not environment.get(SECRET):
        raise InvalidInputError(
            f"the webhook secret is missing: set {SECRET}",
            hint="run `echo whsec_$(openssl rand -base64 24)` to create a secret",
        )
    return {"Content-Type": formats.CONTENT_TYPE}, delivery.key_of(environment[SECRET])


def _headers_in(said: str) -> dict[str, str]:
    """Parse headers in the format of OpenTelemetry's variable: `name=value,name=value`."""
    found = {}
    for pair in filter(None, said.split(",")):
        name, equals, value = pair.partition("=")
        name, value = name.strip(), unquote(value.strip())
        is_name = name.isascii() and name.replace("-", "").isalnum()
        if not equals or not is_name or not value.isascii() or not value.isprintable():
            raise InvalidInputError(f"{HEADERS} must have the form name=value,name=value")
        found[name] = value
    return found


def _traces_of(url: str) -> str:
    """Return the traces address of an endpoint."""
    whole = url.rstrip("/")
    return whole if whole.endswith(TRACES_PATH) else whole + TRACES_PATH


LOG, OPENMETRICS = "log", "openmetrics"
FORMATS = (LOG, *EVENTS, OPENMETRICS)


@typed.command("export")
@typed.file_option("--out", help="Write to a new file. [standard output]")
@typed.option("--sprint", "sprint_id", metavar="ID", help="Only the events of this sprint.")
@typed.choice_option(
    "--format",
    "format_",
    of=FORMATS,
    default=LOG,
    help="The format: `log`, or another tool's format. [log]",
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
@typed.flag(
    "--with-content", help="In other formats, include text: prompts, outputs, reasons."
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
    """Write the log as JSON Lines, from which `store import` restores the same log.

    The output has a header, every event with its complete envelope, and the head; the chain
    is checked. --sprint exports the events of one sprint, which cannot be imported again.
    Other formats are for other tools, without text unless --with-content is passed. --json
    prints information about the file given with --out.

    --otlp-endpoint and --webhook send the events since the last export to an address.

    Examples: sprintlog store export --out auth.jsonl

    sprintlog store export --format otlp-json --out traces.jsonl
    """
    address = otlp_endpoint or webhook
    is_alone = not (otlp_endpoint and webhook) and out is None and format_ == LOG
    if address and not is_alone:
        raise click.UsageError("an address cannot be combined with other outputs")
    if not address and with_content and format_ in (LOG, OPENMETRICS):
        told = "is always complete" if format_ == LOG else "contains only figures"
        raise click.UsageError(f"--format {format_} {told}: omit --with-content")
    with open_workspace() as workspace:
        name = None if sprint_id is None else workspace.choose(sprint_id)
        if address:
            send(
                *(workspace, OTLP if otlp_endpoint else WEBHOOK, address),
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
    """Write a log in a format; return the number of events and the head."""
    progress = counting("events exported")
    if format_ == LOG:
        return export_log(workspace, write, sprint_id=name, progress=progress)
    if format_ == OPENMETRICS:
        return _export_figures(workspace, write, name)
    stream = None if name is None else sprint_stream(name)
    log = workspace.log
    head = write_events(
        *(log, format_, write), stream=stream, with_content=with_content, progress=progress
    )
    return Carried(head.position if stream is None else log.version(stream), head)


def _export_figures(
    workspace: Workspace, write: Callable[[bytes], object], name: str | None
) -> Carried:
    """Write each sprint's state at its last event, without the current time."""
    head = workspace.log.head()
    known = workspace.sprints()
    chosen = known if name is None else {name: known[name]}
    found = [
        status_answer(workspace, workspace.sprint(one), at=f"version:{version}")
        for one, version in sorted(chosen.items())
    ]
    write(openmetrics(head.position, found, is_now=False).encode())
    return Carried(head.position, head)


@contextmanager
def _new_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file that appears under its name only when it is complete and on disk."""
    if os.path.lexists(path):
        raise RefusedError(
            f"{path} already exists: an export never overwrites a file", file=str(path)
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
