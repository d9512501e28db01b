"""The `sprintlog show` command: a state file or an event, now or at an earlier point."""

from itertools import chain

import click
import msgspec

from sprintlog.engine.errors import NotFoundError
from sprintlog.projections.state_files import progress_json
from sprintlog.projections.state_files.sprint_file import render
from sprintlog.projections.text.event_line import ERASED, what
from sprintlog.projections.views.events import envelope

from .. import typed
from ..context import ReadOptions, open_workspace, with_json, with_point, with_reading
from ..output import print_json, print_rendered, print_text, wrapped
from ..screen.pager import paged
from ..screen.terminal import terminal


class _Shown(typed.TypedGroup):
    """A command group that also accepts an event's number or a point `iter:N`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command specified by the first word."""
        name, _, number = args[0].rpartition(":") if args else ("", "", "")
        if name in ("", "iter") and number.isascii() and number.isdecimal():
            args = ["iteration" if name else "event", number, *args[1:]]
        return super().resolve_command(ctx, args)


@typed.group(
    "show",
    cls=_Shown,
    lazy={
        "best": "iterations.best:show_records",
        "iteration": "iterations.snapshots:show_files",
        "session": "agents.session:show_session",
    },
)
def command() -> None:
    """Print a state file or an event, now or at an earlier point."""


@command.command()
@with_reading
def progress(reading: ReadOptions) -> None:
    """Print PROGRESS.yaml byte for byte.

    Example: sprintlog show progress --at iter:3
    """
    with reading.opened() as (_, sprint):
        if not sprint.exists:
            raise NotFoundError(f"there is no sprint {sprint.id}", sprint=sprint.id)
        print_rendered(sprint.document, lambda: render(sprint), as_json=reading.as_json)


@command.command()
@with_point
def journal(at: str | None, as_json: bool) -> None:
    """Print progress.json byte for byte.

    Example: sprintlog show journal --at '2h ago'
    """
    with open_workspace() as workspace:
        document = workspace.document(at=at)
    data = progress_json.as_data(document)
    print_rendered(data, lambda: progress_json.render(document), as_json=as_json)


@command.command()
@typed.argument("position", type=click.IntRange(1))
@with_json
def event(position: int, as_json: bool) -> None:
    """Print one event: a summary, its data and its metadata.

    Example: sprintlog show event 7
    """
    with open_workspace() as workspace:
        found = next(workspace.log.read(after=position - 1, until=position), None)
    if found is None:
        raise NotFoundError(f"there is no position {position}", position=position)
    whole = envelope(found)
    if as_json:
        print_json(whole)
        return
    said = msgspec.structs.asdict(whole)
    data = ERASED if whole.data is None else bytes(whole.data).decode()
    if whole.stored is not msgspec.UNSET:
        said["stored"] = bytes(whole.stored).decode()
    width = max(map(len, said))
    first = {name: said.pop(name) for name in ("position", "at", "actor")}
    del said["data"]
    with paged():
        print_text(*wrapped(what(found), indent="  "))
        for name, value in {**first, "data": data, **said}.items():
            if value not in (None, msgspec.UNSET):
                print_text(*_field(name.ljust(width), str(value)))


def _field(name: str, value: str) -> list[str]:
    """Return an event field's lines; on a terminal, objects have one line per key."""
    indent = " " * (len(name) + 2)
    if terminal().width is None or not value.startswith("{"):
        return wrapped(f"{name}  {value}", indent=indent)
    first, *rest = msgspec.json.format(value, indent=2).split("\n")
    return [f"{name}  {first}", *chain(*(wrapped(indent + line) for line in rest))]
