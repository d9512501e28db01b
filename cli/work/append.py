"""The `sprintlog append` command: append one event, or a stream of events as JSON Lines."""

import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import click

from sprintlog.engine.errors import InvalidInputError, RefusedError, SprintlogError
from sprintlog.projections.workspace import Handled, Outcome, Workspace

from .. import record, typed
from ..context import doing_when_off, open_workspace, parse_expected, with_recording
from ..intake.command_data import handle_event
from ..intake.files import load
from ..output import error_answer, print_json

LINE_BYTES_MAX = 9 * 1024 * 1024
IDLE_SECONDS = 0.05
REFRESH_SECONDS = 1.0
FIELDS = ("type", "stream", "data", "actor", "at", "key", "expect", "observed")


def _pass_over(tag: str | None, **given: Any) -> None:
    """Read standard input to its end, to prevent a broken pipe in the writing process."""
    if tag is None:
        for _ in _lines(sys.stdin.fileno()):
            pass


@typed.command("append")
@typed.argument("tag", metavar="[TYPE]", required=False)
@typed.option(
    "--stream",
    metavar="sprint/ID",
    help="The stream to append to; the journal has its own events. [the only sprint]",
)
@typed.option("--data", metavar="JSON", default="{}", help="The event's fields.")
@typed.flag(
    "--observed", help="Record and mark another tool's event, regardless of the rules."
)
@with_recording
@doing_when_off(_pass_over)
def command(
    tag: str | None, stream: str | None, data: str, observed: bool, **given: Any
) -> None:
    """Append an event by running the command that would have caused it.

    Without TYPE, each line of standard input is an object with `type`, `data` and
    optionally `stream`, `actor`, `at`, `key`, `expect`, `observed`. Each line is answered
    by one line once its event is durable, or by a line with `error`. State files are
    updated when the input pauses or ends.

    Examples: sprintlog append phase-started --data '{"phase": "setup"}'

    echo '{"type": "activity-seen"}' | sprintlog append
    """
    options = record.Options(given)
    defaults = {"stream": stream, "observed": observed}
    with open_workspace() as workspace:
        if tag is None:
            if not _append_lines(workspace, options, defaults):
                sys.exit(1)
            return
        given_data = load(data.encode(errors="surrogateescape"), field="--data")
        outcome = _append(workspace, {"type": tag, "data": given_data, **defaults}, options)
        record.answer_and_refresh(workspace, outcome, as_json=options.as_json)


def _append_lines(
    workspace: Workspace, options: record.Options, defaults: dict[str, Any]
) -> bool:
    """Append all lines of standard input; return whether all of them were recorded."""
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
        # Report only this error, but refresh the state files as far as possible.
        _refresh_what_can(workspace, stale)
        raise
    for stream in sorted(stale):
        record.refresh_stream(workspace, stream)
    return all_recorded


def _append_line(
    workspace: Workspace, line: "_InputLine", options: record.Options, stale: set[str]
) -> bool:
    """Record and answer a line; add its stream to the streams with stale state files."""
    try:
        outcome = _append(workspace, line.fields(), options)
    except SprintlogError as error:
        print_json(error_answer(error))
        return False
    stale.add(record.stream_of(outcome.state))
    record.answer(outcome, as_json=True)
    return True


def _append(
    workspace: Workspace, line: dict[str, Any], options: record.Options
) -> Outcome | Handled[Any]:
    """Record an event; the line's values override the options."""
    chosen = _merged(options, line)
    run = record.Recording("append", chosen, workspace)
    outcome = handle_event(workspace, line, sprint_id=chosen.sprint_id, **run.envelope())
    record.diagnose_outcome("append", outcome)
    return outcome


def _merged(options: record.Options, line: dict[str, Any]) -> record.Options:
    """Return the options, overridden by a line's own values."""
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
    """A line of standard input, and the defaults for its omitted fields."""

    number: int
    text: bytes
    defaults: dict[str, Any]

    def fields(self) -> dict[str, Any]:
        """Return a line's fields; raise `InvalidInputError` naming the line and field."""
        given = load(self.text, line=self.number)
        if not isinstance(given, dict):
            raise InvalidInputError(
                "must be a JSON object with `type` and `data`", line=self.number
            )
        if extra := [name for name in given if name not in FIELDS]:
            raise InvalidInputError(
                f"unknown field; allowed: {', '.join(FIELDS)}",
                line=self.number,
                field=str(extra[0])[:60],
            )
        return {**self.defaults, **given}


def _lines(descriptor: int) -> Iterator[bytes | None]:
    """Yield lines from a descriptor as they arrive, and None whenever it is idle."""
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
            raise InvalidInputError(f"a line exceeds {LINE_BYTES_MAX} bytes")
    if pending:
        yield pending


def _refresh_what_can(workspace: Workspace, stale: set[str]) -> None:
    """Update stale state files; files that could not be updated are retried at the end."""
    for stream in sorted(stale):
        with suppress(SprintlogError):
            record.refresh_stream(workspace, stream)
            stale.discard(stream)
