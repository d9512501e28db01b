"""`sprintlog append`: events by their type, one, or a stream of JSON lines."""

import os
import select
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from sprintlog.engine.errors import (
    InvalidInputError,
    NotFoundError,
    RefusedError,
    SprintlogError,
)
from sprintlog.engine.log.event import Event, is_extension
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_of, sprint_stream
from sprintlog.engine.service.workspace import JOURNAL
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.commands import (
    BY_TAG,
    RecordExtensionEvent,
    command_for,
    to_event,
)
from sprintlog.projections.workspace import Handled, Outcome, Workspace

from .. import record, typed
from ..context import doing_when_off, open_workspace, parse_expected, with_recording
from ..intake.files import load
from ..output import error_answer, print_json, warn

if TYPE_CHECKING:
    from sprintlog.engine.journal.state import Journal

LINE_BYTES_MAX = 9 * 1024 * 1024
IDLE_SECONDS = 0.05
REFRESH_SECONDS = 1.0
FIELDS = ("type", "stream", "data", "actor", "at", "key", "expect", "observed")


def _pass_over(tag: str | None, **given: Any) -> None:
    """Read what would be recorded to its end: whoever writes it is not cut off."""
    if tag is None:
        for _ in _lines(sys.stdin.fileno()):
            pass


@typed.command(
    "append",
    epilog='Examples: sprintlog append phase-started --data \'{"phase": "setup"}\'\n\n'
    'echo \'{"type": "activity-seen"}\' | sprintlog append',
)
@click.argument("tag", metavar="[TYPE]", required=False)
@typed.option(
    "--stream",
    metavar="sprint/ID",
    help="The stream; the journal has its own events. [the only sprint]",
)
@typed.option("--data", metavar="JSON", default="{}", help="The event's fields.")
@typed.option(
    "--observed",
    is_flag=True,
    help="Reported by another tool: record it regardless of the rules, marked.",
)
@with_recording
@doing_when_off(_pass_over)
def command(
    tag: str | None, stream: str | None, data: str, observed: bool, **given: Any
) -> None:
    """Append an event by calling the command that would have caused it.

    Without TYPE, each line of standard input is an object with `type`, `data` and
    optionally `stream`, `actor`, `at`, `key`, `expect`, `observed`. Each is answered by one
    line once it is durable, or by one with `error`. State files are updated when the input
    pauses or ends.
    """
    options = record.Options(given)
    defaults = {"stream": stream, "observed": observed}
    with open_workspace() as workspace:
        if tag is None:
            if not _append_lines(workspace, options, defaults):
                sys.exit(1)
            return
        given_data = load(data.encode(errors="surrogateescape"), field="--data")
        line = {"type": tag, "data": given_data, **defaults}
        outcome = append_event(workspace, line, options)
        record.answer_and_refresh(workspace, outcome, as_json=options.as_json)


def _append_lines(
    workspace: Workspace, options: record.Options, defaults: dict[str, Any]
) -> bool:
    """Append every line of standard input; tell whether all of them were recorded."""
    stale: set[str] = set()
    refreshed = time.monotonic()
    all_recorded = True
    number = 0
    try:
        for line in _lines(sys.stdin.fileno()):
            number += line is not None
            if line is not None and line.strip():
                command = _InputLine(number, line, defaults)
                all_recorded &= _append_line(workspace, command, options, stale)
            elif stale and time.monotonic() - refreshed >= REFRESH_SECONDS:
                _refresh_what_can(workspace, stale)
                refreshed = time.monotonic()
    except BaseException:
        # What goes wrong is told once; the state files follow as far as they can.
        _refresh_what_can(workspace, stale)
        raise
    for stream in sorted(stale):
        record.refresh_stream(workspace, stream)
    return all_recorded


def _append_line(
    workspace: Workspace, line: "_InputLine", options: record.Options, stale: set[str]
) -> bool:
    """Record one line and answer it; its stream's state file is stale from then on."""
    try:
        outcome = append_event(workspace, line.fields(), options)
    except SprintlogError as error:
        print_json(error_answer(error))
        return False
    stale.add(record.stream_of(outcome.state))
    record.answer(outcome, as_json=True)
    return True


def append_event(
    workspace: Workspace, line: dict[str, Any], options: record.Options
) -> "Outcome | Handled[Journal]":
    """Record one event; values of the line go before the options."""
    if not isinstance(line.get("type"), str):
        raise RefusedError("type: is missing or not text", field="type")
    if not isinstance(line["observed"], bool):
        raise RefusedError("observed: must be true or false", field="observed")
    if is_extension(line["type"]):
        return _append_of_extension(workspace, line, options)
    # Asked of all events only for one that is not a sprint's: the journal's are imported.
    if line["type"] not in BY_TAG and line["type"] in CODEC.events:
        return _append_to_journal(workspace, line, options)
    if line["type"] not in CODEC.events:
        raise NotFoundError(
            f"there is no event type {line['type'][:60]!r}",
            hint="`sprintlog schema events` describes all",
            unknown=(line["type"], CODEC.events),
            field="type",
        )
    event = to_event(line["type"], line.get("data", {}))
    if isinstance(event, f.SprintCompiled | f.SprintImported):
        is_plan = isinstance(event, f.SprintCompiled)
        check_shown_document(event.document or {}, is_plan=is_plan, file="data.document")
    elif isinstance(event, f.Injection):
        key = "phases" if isinstance(event, f.PhaseInjected) else "steps"
        check_shown_nodes(event.nodes, key=key, file="data.nodes")
    event = msgspec.structs.replace(event, **options.masked(msgspec.structs.asdict(event)))
    sprint_id = _sprint_id(workspace, line.get("stream"), event, options)
    chosen = _merged(options, line)
    observed: bool = line["observed"]
    command = command_for(event, is_observed=observed)
    arguments = {"type": event.type, "data": msgspec.to_builtins(event), "to": sprint_id}
    run = record.Recording("append", chosen, workspace)
    try:
        outcome = run.handle_with(
            command, arguments, sprint_id=sprint_id, observed=observed
        )
    except NotFoundError as error:
        if error.fields.get("sprint") == sprint_id and not error.unknown:
            error.unknown = sprint_id, workspace.sprints()
        raise
    phase = getattr(event, "phase", None)
    # An empty one stands for the sprint itself, which is there.
    if phase and outcome.sprint.plan.tree.find(phase) is None:
        warn(f"{phase} is not in the plan of {sprint_id}: recorded, but without effect")
    return outcome


def _append_of_extension(
    workspace: Workspace, line: dict[str, Any], options: record.Options
) -> Outcome:
    # Imported here: only an event of an extension's type asks what is installed.
    from sprintlog.engine.service.streams.extension_events import extension_event

    observed: bool = line["observed"]
    event = extension_event(line["type"], line.get("data", {}), is_observed=observed)
    sprint_id = _sprint_id(workspace, line.get("stream"), event, options)
    arguments = {"type": event.type, "data": event.data, "to": sprint_id}
    run = record.Recording("append", _merged(options, line), workspace)
    command = run.options.masked_command(RecordExtensionEvent(event))
    return run.handle_with(command, arguments, sprint_id=sprint_id, observed=observed)


def _append_to_journal(
    workspace: Workspace, line: dict[str, Any], options: record.Options
) -> "Handled[Journal]":
    from sprintlog.engine.journal.rules import command_of, to_event

    if line.get("stream") not in (None, JOURNAL):
        raise RefusedError(f"stream: {line['type']} belongs to the journal", field="stream")
    event = to_event(line["type"], line.get("data", {}))
    event = msgspec.structs.replace(event, **options.masked(msgspec.structs.asdict(event)))
    arguments = {"type": event.type, "data": msgspec.to_builtins(event), "to": JOURNAL}
    run = record.Recording("append", _merged(options, line), workspace)
    return run.handle_on_journal(command_of(event), arguments, observed=line["observed"])


def check_shown_document(document: dict[str, Any], *, is_plan: bool, file: str) -> None:
    """Raise `InvalidInputError` for a document that could not be shown again."""
    from sprintlog.projections.state_files.yaml.writer import dump

    from ..intake.progress import check_plan, check_progress

    check = check_plan if is_plan else check_progress
    check(document, file=file)
    dump(document)


def check_shown_nodes(nodes: Sequence[dict[str, Any]], *, key: str, file: str) -> None:
    """Raise `InvalidInputError` for what could not be shown in a state file."""
    from sprintlog.projections.state_files.yaml.writer import dump

    from ..intake import progress

    progress.check_nodes(nodes, file=file, key=key)
    dump({key: [*nodes]})


def _sprint_id(
    workspace: Workspace, stream: object, event: Event, options: record.Options
) -> str:
    if stream is None:
        if isinstance(event, f.SprintCompiled | f.SprintImported) and event.document:
            return str(event.document.get("sprint-id"))
        return workspace.choose(options.sprint_id)
    sprint_id = sprint_of(stream) if isinstance(stream, str) else None
    if not sprint_id:
        raise RefusedError(
            f"stream {str(stream)[:60]!r} is not one of this log; give sprint/ID",
            unknown=(str(stream), [*map(sprint_stream, workspace.sprints()), JOURNAL]),
            field="stream",
        )
    return sprint_id


def _merged(options: record.Options, line: dict[str, Any]) -> record.Options:
    """Return the options with a line's own values in their place."""
    for name in ("actor", "at", "key"):
        value = line.get(name)
        if value is not None and not isinstance(value, str):
            raise RefusedError(f"{name}: must be text", field=name)
    expect = line.get("expect")
    try:
        return options.with_values(
            actor=record.check_actor(line.get("actor") or options.actor),
            at=line.get("at") or options.at,
            key=line.get("key") or options.key,
            expect=options.expect if expect is None else parse_expected(str(expect)),
        )
    except click.UsageError as error:
        raise RefusedError(error.message) from error


class _InputLine(NamedTuple):
    """One line of standard input, and what holds where it says nothing."""

    number: int
    text: bytes
    defaults: dict[str, Any]

    def fields(self) -> dict[str, Any]:
        """Return what the line says; raise `InvalidInputError` naming line and field."""
        given = load(self.text, line=self.number)
        if not isinstance(given, dict):
            raise InvalidInputError(
                "must be a JSON object with `type` and `data`", line=self.number
            )
        if extra := [name for name in given if name not in FIELDS]:
            raise InvalidInputError(
                f"there is no such field; allowed: {', '.join(FIELDS)}",
                line=self.number,
                field=str(extra[0])[:60],
            )
        return {**self.defaults, **given}


def _lines(descriptor: int) -> Iterator[bytes | None]:
    """Yield the lines of a descriptor as they come, and None whenever it is idle."""
    pending = b""
    while True:
        ready, _, _ = select.select([descriptor], [], [], IDLE_SECONDS)
        if not ready:
            yield None
            continue
        chunk = os.read(descriptor, 1 << 16)
        if not chunk:
            break
        pending += chunk
        *lines, pending = pending.split(b"\n")
        yield from lines
        if len(pending) > LINE_BYTES_MAX:
            raise InvalidInputError(f"a line is longer than {LINE_BYTES_MAX} bytes")
    if pending:
        yield pending


def _refresh_what_can(workspace: Workspace, stale: set[str]) -> None:
    """Bring state files up to date; those that cannot be are tried again at the end."""
    for stream in sorted(stale):
        with suppress(SprintlogError):
            record.refresh_stream(workspace, stream)
            stale.discard(stream)
