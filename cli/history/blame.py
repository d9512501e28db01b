"""The `sprintlog why FIELD` command: the event that last set a field in a state file."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.sprint.events import RolledBack
from sprintlog.engine.sprint.state.patch import MISSING
from sprintlog.projections.history.blame import Blame, blame
from sprintlog.projections.history.blame_files import blame_best, blame_journal
from sprintlog.projections.history.blame_lines import Line, blame_lines, line_fields
from sprintlog.projections.history.causes import CAUSES_MAX, reason_of
from sprintlog.projections.history.differences import shown
from sprintlog.projections.state_files.sprint_file import render
from sprintlog.projections.views.history import blamed, blamed_line

from ..context import ReadOptions, open_workspace
from ..output import fitting, print_answer, print_json, print_text, table, wrapped
from ..places import place_of
from ..screen import times
from ..screen.pager import paged
from ..screen.terminal import terminal

PROGRESS = "progress"


def print_fields(
    fields: tuple[str, ...], file: str, reading: ReadOptions, *, every: bool
) -> None:
    """Print which event set each field of a state file, or each line of PROGRESS.yaml."""
    if every and file != PROGRESS:
        raise click.UsageError("--all applies only to PROGRESS.yaml: omit --file")
    at, as_json = reading.at, reading.as_json
    with open_workspace() as workspace:
        if file == "journal":
            _print(list(blame_journal(workspace, fields, at=at)), as_json=as_json)
            return
        name = workspace.choose(reading.sprint_id)
        if every:
            lines = list(blame_lines(workspace, workspace.sprint(name, at=at)))
            if as_json:
                for line in lines:
                    print_json(blamed_line(line))
            else:
                with paged():
                    rows = [_row(line) for line in lines]
                    print_text(*table(rows, right={0}, spare=(2, 1), least=24))
            return
        ask = blame_best if file == "best" else blame
        _print(list(ask(workspace, name, fields, at=at)), as_json=as_json)


def print_line(file: Path, number: int, reading: ReadOptions) -> bool:
    """Print which event set the field on a line of a sprint's PROGRESS.yaml.

    Return False if the file belongs to another sprint. Raise `InvalidInputError` if the
    line differs from the recorded state.
    """
    with reading.opened() as (workspace, sprint):
        written, place = sprint.plan.place, slice(number - 1, number)
        if written is None or written != place_of(workspace.location, file):
            return False
        fields = [*line_fields(sprint.document)][place]
        here = (workspace.files.look(written.path).content or b"").split(b"\n")
        if not fields or here[place] != render(sprint).split(b"\n")[place]:
            raise InvalidInputError(
                f"the recorded version of {file} has no line {number}",
                hint="run `sprintlog rebuild --check` to compare the files",
            )
        _print(list(blame(workspace, sprint.id, fields)), as_json=reading.as_json)
        return True


def _print(found: Iterable[Blame], *, as_json: bool) -> None:
    for one in found:
        print_answer(blamed(one), _lines(one), as_json=as_json)


def _lines(found: Blame) -> Iterator[str]:
    yield fitting(f"{found.field}: {_value(found.value)}")
    yield f"  set by        {_said(found.event)}"
    if found.reason is not None:
        yield from _text("reason", found.reason)
    yield fitting(f"  before        {_value(found.before)}")
    if (origin := found.brought_back) is not None:
        is_back = found.event.type == RolledBack.type
        yield f"  {'brought back' if is_back else 'now in force'}  {_said(origin)}"
        if (why := reason_of(origin)) is not None:
            yield from _text("reason", why)
    for event in found.causes:
        yield f"  caused by     {_said(event)}"
    known = {found.event.id, *(event.id for event in found.causes)}
    first = (found.event, *found.causes)[-1].causation_id
    if first not in known and len(found.causes) < CAUSES_MAX:
        yield f"  caused by     {first}, which is not in this log"
    if found.event.correlation_id not in known:
        yield f"  part of       {found.event.correlation_id}"
    if found.session is not None:
        yield f"  in session    {found.session}"


def _value(value: Any) -> str:
    return "(not there)" if value is MISSING else shown(value)


def _text(name: str, text: str) -> Iterator[str]:
    return iter(wrapped(f"  {name:12}  {text}", indent=" " * 14))


def _said(event: RecordedEvent) -> str:
    observed = " (observed)" if event.observed else ""
    # The version is sufficient for a rollback, so a terminal omits the position.
    position = "" if terminal().width else f"  position {event.position}"
    return (
        f"{event.type}{observed}  version {event.version}{position}  "
        f"{times.when(event.at)}  {event.actor}"
    )


def _row(line: Line) -> tuple[str, ...]:
    event, origin = line.event, line.brought_back
    kind = event.type
    if origin is not None:
        word = "of" if kind == RolledBack.type else "voided, now"
        kind = f"{kind} ({word} {origin.version})"
    return (str(event.version), times.when(event.at), event.actor, kind, f"│ {line.text}")
