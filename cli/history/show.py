"""`sprintlog show`: a state file, an event or a session, as it is or was."""

from collections.abc import Iterator
from itertools import chain

import click
import msgspec

from sprintlog.engine.errors import NotFoundError
from sprintlog.projections.state_files import progress_json
from sprintlog.projections.state_files.sprint_file import render
from sprintlog.projections.text.session_lines import figures, short_name
from sprintlog.projections.views.events import envelope
from sprintlog.projections.views.sessions import SessionAnswer

from .. import typed
from ..context import ReadOptions, open_workspace, with_json, with_point, with_reading
from ..output import hint, print_bytes, print_json, print_text, table, wrapped
from ..screen import times
from ..screen.pager import paged
from ..screen.terminal import terminal


class _Shown(typed.TypedGroup):
    """What can be shown: also a number alone, an event's, and a point `iter:N`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names."""
        name, _, number = args[0].rpartition(":") if args else ("", "", "")
        if name in ("", "iter") and number.isascii() and number.isdecimal():
            args = ["iteration" if name else "event", number, *args[1:]]
        return super().resolve_command(ctx, args)


@typed.group("show", cls=_Shown)
def command() -> None:
    """Print a state file or an event, now or at an earlier point."""


@command.command(epilog="Example: sprintlog show progress --at iter:3")
@with_reading
def progress(reading: ReadOptions) -> None:
    """Print PROGRESS.yaml, byte for byte."""
    with open_workspace() as workspace:
        sprint = reading.sprint(workspace)
        if not sprint.exists:
            raise NotFoundError(f"there is no sprint {sprint.id}", sprint=sprint.id)
        if reading.as_json:
            print_json(sprint.document)
        else:
            with paged():
                print_bytes(render(sprint))


@command.command(epilog="Example: sprintlog show journal --at '2h ago'")
@with_point
@with_json
def journal(at: str | None, as_json: bool) -> None:
    """Print progress.json, byte for byte."""
    with open_workspace() as workspace:
        document = workspace.document(at=at)
    if as_json:
        print_json(progress_json.as_data(document))
    else:
        with paged():
            print_bytes(progress_json.render(document))


@command.command(epilog="Example: sprintlog show best --at iter:3")
@with_reading
def best(reading: ReadOptions) -> None:
    """Print all records of the iterations: measured, judged, advised, selected."""
    from sprintlog.engine.service.streams.evaluation import evaluate
    from sprintlog.projections.judging.tracker import tracker_data
    from sprintlog.projections.state_files.loop_files import tracker_yaml

    with open_workspace() as workspace:
        sprint = reading.sprint(workspace)
        judged = evaluate(workspace.log, sprint)
        if reading.as_json:
            print_json(tracker_data(judged))
        else:
            with paged():
                print_bytes(tracker_yaml(judged))


@command.command(epilog="Example: sprintlog show event 7")
@click.argument("position", type=click.IntRange(1))
@with_json
def event(position: int, as_json: bool) -> None:
    """Print one event: a summary, its data and its metadata."""
    from sprintlog.projections.text.event_line import ERASED, what

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
    """Return a field of an event; on a terminal an object has a line for each name."""
    indent = " " * (len(name) + 2)
    if terminal().width is None or not value.startswith("{"):
        return wrapped(f"{name}  {value}", indent=indent)
    first, *rest = msgspec.json.format(value, indent=2).split("\n")
    return [f"{name}  {first}", *chain(*(wrapped(indent + line) for line in rest))]


@command.command(
    epilog="Examples: sprintlog show iteration 3 --files\n\nsprintlog show iter:3"
)
@click.argument("number", type=click.IntRange(0))
@typed.option("--files", "with_files", is_flag=True, help="List its files.")
@with_reading
def iteration(number: int, with_files: bool, reading: ReadOptions) -> None:
    """Print the course of an iteration, its snapshot and the files in it."""
    from sprintlog.engine.service.streams.evaluation import evaluate
    from sprintlog.engine.service.work_tree.snapshot import find_snapshot, store_of
    from sprintlog.projections.views import files

    from ..iterations.judgements import lines_of_one

    with open_workspace() as workspace:
        sprint = reading.sprint(workspace)
        held = find_snapshot(workspace, sprint, f"iter:{number}")
        snapshot = store_of(workspace).read(held.snapshot)
        judged = None if reading.as_json else evaluate(workspace.log, sprint)
        lines = [] if judged is None else lines_of_one(judged, number)
    answer = files.kept(held, number, snapshot, listed=with_files)
    if reading.as_json:
        print_json(answer)
        return
    print_text(*lines)
    for name in ("iteration", "snapshot", "version", "files", "bytes"):
        print_text(f"{name.ljust(9)}  {getattr(answer, name)}")
    if with_files:
        rows = [[one.mode, str(one.bytes), one.path] for one in answer.listing or ()]
        print_text(*table(rows, right=frozenset({1})))
    print_text(*(f"left out  {one.path}: {one.reason}" for one in answer.left_out))
    if lines:
        own = f"sprintlog show iteration {number} --files"
        more = "" if with_files else f"; its files: `{own}`"
        hint(f"how it was judged: `sprintlog report {number}`{more}")


@command.command(epilog="Examples: sprintlog show session\n\nsprintlog show session 1f3a")
@click.argument("session", required=False)
@with_json
def session(session: str | None, as_json: bool) -> None:
    """Print the actions of an agent in a session, or list the sessions.

    SESSION is `AGENT-ID`, the agent's session id, or a prefix of either.
    """
    from sprintlog.engine.service.agent_sessions import known_sessions
    from sprintlog.projections.views import sessions

    with open_workspace() as workspace:
        log = workspace.log
        names = known_sessions.sessions(log) if session is None else {}
        streams = [f"session/{name}" for name in names]
        if session is not None:
            streams = [known_sessions.choose_session(log, session)]
        found = [sessions.session_answer(log, stream) for stream in streams]
    if as_json:
        print_json(found if session is None else found[0])
    elif not found:
        print_text("no sessions")
        hint("hooks record them: `sprintlog hooks install claude`")
    elif session is None:
        found.sort(key=lambda one: one.last_at)
        print_text(*table([session_row(x) for x in found]))
    else:
        print_text(*session_lines(found[0]))


FILES_LISTED = 20


def session_row(found: SessionAnswer) -> tuple[str, ...]:
    """Return a session's row in the list of them."""
    at = times.when(found.last_at)
    return short_name(f"session/{found.session}"), at, figures(found)


def session_lines(found: SessionAnswer) -> Iterator[str]:
    """Yield what is known of a session."""
    ended = times.when(found.ended_at) if found.ended_at else "end not known"
    reason = f" ({found.reason})" if found.reason else ""
    rows = {
        "session": found.session,
        "started": times.when(found.started_at),
        "last": times.when(found.last_at),
        "ended": f"{ended}{reason}",
        "model": found.model,
        "version": found.version,
        "did": figures(found, ends=False),
        "transcript": found.transcript,
    }
    width = max(map(len, rows))
    for name, value in rows.items():
        if value:
            yield from wrapped(f"{name.ljust(width)}  {value}", indent=" " * (width + 2))
    for path in found.files_changed[:FILES_LISTED]:
        yield f"{'changed'.ljust(width)}  {path}"
    if (more := len(found.files_changed) - FILES_LISTED) > 0:
        yield f"{'changed'.ljust(width)}  and {more} more"
