"""The `sprintlog extensions` commands: list, check and run third-party extensions."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from sprintlog.engine import extensions as found
from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.extensions import Extension, load
from sprintlog.engine.service.streams.extension_events import event_schema
from sprintlog.projections.extended import reading_of
from sprintlog.projections.views import settings
from sprintlog.projections.views.events import filled

from .. import typed
from ..context import open_workspace, with_json, with_sprint
from ..intake.files import load as load_json
from ..output import print_answer, table, visible
from ..programs import programs

STORE_NAMES = ("create", "append", "read", "read_stream", "scan", "head", "close")
"""The methods that an object must have to count as a store."""


def problem_of(extension: Extension) -> str | None:
    """Return why an extension cannot be used, or None if it can."""
    try:
        if extension.kind == "event":
            event_schema(extension)
            return None
        made = load(extension)
        if extension.kind == "projection":
            reading_of(extension, made)
        return _problem(extension, made)
    except SprintlogError as error:
        return error.message


def _problem(extension: Extension, made: Any) -> str | None:
    if extension.kind == "store":
        missing = [name for name in STORE_NAMES if not hasattr(made, name)]
        return f"has no {missing[0]}()" if missing else None
    is_called = extension.kind != "projection"
    return "cannot be called" if is_called and not callable(made) else None


NOTICE_BYTES_MAX = 1024 * 1024
KIND = typed.Choice([*found.GROUPS])


@typed.group("extensions")
def command() -> None:
    """List, check and run extensions from other packages.

    A package declares its extensions as entry points. An extension is imported when it is
    used by name; recording commands do not search for extensions.
    """


@command.command("list")
@typed.option("--kind", type=KIND, help="Only extensions of this kind.")
@with_json
def list_(kind: str | None, as_json: bool) -> None:
    """List all extensions and all programs that act as commands, running none of them.

    Example: sprintlog extensions list --kind event
    """
    rows = [filled(settings.ExtensionRow, one) for one in found.installed(kind)]
    beside = programs() if kind is None else []
    answer = settings.ExtensionsInstalled(
        rows, [settings.ProgramRow(name, str(place)) for name, place in beside]
    )
    lines = [(x.kind, x.name, f"{x.package} {x.version}") for x in answer.extensions]
    lines += [("program", x.name, x.file) for x in answer.programs]
    print_answer(answer, _lines(lines), as_json=as_json)


@command.command("check")
@typed.argument("name", required=False)
@typed.option("--kind", type=KIND, help="Only extensions of this kind.")
@with_json
def check(name: str | None, kind: str | None, as_json: bool) -> None:
    """Import all extensions, or the given one, and report unusable extensions.

    The exit status is 1 if an extension is unusable.

    Example: sprintlog extensions check acme-deployments
    """
    wanted = [one for one in found.installed(kind) if name in (None, one.name)]
    if name is not None and not wanted:
        found.find(kind or "event", name)
    rows = [filled(settings.ExtensionRow, one, problem=problem_of(one)) for one in wanted]
    lines = [(x.kind, x.name, x.problem or "can be used") for x in rows]
    print_answer(settings.ExtensionsChecked(rows), _lines(lines), as_json=as_json)
    if any(row.problem for row in rows):
        sys.exit(1)


@command.command("project")
@typed.argument("name")
@with_sprint
@with_json
def project(name: str, sprint_id: str | None, as_json: bool) -> None:
    """Print the result of an extension's projection of a sprint.

    The projection continues from its saved state, and is notified when a rollback discards
    events or an undo restores them. The saved state is a cache.

    Example: sprintlog extensions project acme-deployments
    """
    from sprintlog.projections.extended import projected

    with open_workspace() as workspace:
        sprint = workspace.choose(sprint_id)
        said = projected(workspace, name, sprint)
    answer = settings.ProjectedAnswer(name, sprint, said)
    print_answer(answer, _said_lines(said), as_json=as_json)


@command.command("notify")
@typed.argument("name")
def notify(name: str) -> None:
    """Send a notice (a JSON object on standard input) to an extension.

    `run --notify` runs this command and terminates it at its timeout. If the command fails,
    `run` only prints a warning.

    Example: sprintlog run --agent 'claude -p' --notify 'sprintlog extensions notify
    acme-file'
    """
    with found.named_notifier(name) as send:
        send(load_json(sys.stdin.buffer.read(NOTICE_BYTES_MAX), field="standard input"))


def _said_lines(said: Any) -> Iterator[str]:
    """Yield the lines of a projection's result; a list of objects is printed as a table."""
    if isinstance(said, list) and said and all(isinstance(one, dict) for one in said):
        names = [*dict.fromkeys(name for one in said for name in one)]
        yield from table(
            [names, *([_text(one.get(name)) for name in names] for one in said)]
        )
    elif isinstance(said, dict):
        yield from table([(str(name), _text(value)) for name, value in said.items()])
    elif isinstance(said, list):
        yield from (visible(_text(one)) for one in said)
    else:
        yield visible(_text(said))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _lines(rows: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    if not rows:
        yield "no extensions"
    yield from table(rows, spare=(2,))
