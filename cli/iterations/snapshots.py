"""`sprintlog iteration snapshot|diff`: the files of iterations."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from msgspec import UNSET

from sprintlog.engine.command import Command
from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.sprint.iterations.snapshots import has_snapshot
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.workspace import Decide, Outcome, Workspace

from .. import typed
from ..context import Function, ReadOptions, open_workspace, with_reading, with_recording
from ..output import counted, hint, print_json, print_text, progress
from ..record import Keep, Options, answer, recording

if TYPE_CHECKING:
    from sprintlog.engine.adapters.snapshots.capture import TakenSnapshot
    from sprintlog.projections.views.files import FileChange

# What starts processes is imported in the commands: the others of this group need none.
MEBIBYTE = 1024 * 1024
FILE_MEBIBYTES_MAX = 64
NAMED_MAX = 20
"""More of what was left out is only counted on a terminal."""


def with_snapshot_options(function: Function) -> Function:
    """Add the options about what a snapshot takes."""
    ignored = typed.option(
        "--include-ignored",
        "patterns",
        multiple=True,
        setting="snapshot.include-ignored",
        metavar="PATTERN",
        help="Take ignored files too: paths from the root, with *, ? and **.",
    )
    large = typed.option(
        "--file-max",
        type=click.IntRange(1),
        default=FILE_MEBIBYTES_MAX,
        setting="snapshot.file-max",
        metavar="MIB",
        help=f"Leave out larger files. [{FILE_MEBIBYTES_MAX}]",
    )
    return ignored(large(function))


@typed.command(epilog="Example: sprintlog iteration snapshot --include-ignored .env")
@with_snapshot_options
@with_recording
def snapshot(patterns: tuple[str, ...], file_max: int, **given: Any) -> None:
    """Keep the work tree's files as they are, for the iteration under way.

    After its end the files that were kept by then stay the iteration's; what is taken
    later has only its id.

    All that git would see is kept, with or without a repository: bytes, modes, links and
    empty folders. What is left out is said, nested repositories among it.
    """
    from sprintlog.engine.adapters.snapshots.capture import Limits
    from sprintlog.engine.service.work_tree.snapshot import store_of, take_and_record

    options = Options(given)
    arguments = {"patterns": [*patterns], "file_max": file_max}
    with recording("iteration snapshot", options) as run:
        outcome, taken = take_and_record(
            run.workspace,
            run.sprint_id,
            store_of(run.workspace),
            limits=Limits(file_bytes_max=file_max * MEBIBYTE),
            patterns=patterns,
            envelope=run.envelope(arguments),
        )
        try:
            if outcome.duplicate:
                answer(outcome, as_json=options.as_json)
            else:
                _answer(outcome, taken, as_json=options.as_json)
        finally:
            run.refresh()


@contextmanager
def keeping_files(
    given: dict[str, Any], patterns: tuple[str, ...], file_max: int, *, wanted: bool
) -> Iterator[Keep | None]:
    """Give what puts a snapshot behind what a command decides, if one is wanted.

    Where it decides nothing, or its events are not recorded, none is kept.
    """
    if not wanted:
        yield None
        return
    from sprintlog.engine.adapters.snapshots.capture import Limits
    from sprintlog.engine.service.work_tree.snapshot import (
        WithSnapshot,
        kept_files,
        store_of,
    )

    options = Options(given)
    limits = Limits(file_bytes_max=file_max * MEBIBYTE)
    with open_workspace() as workspace:
        sprint_id = workspace.choose(options.sprint_id)
        store = store_of(workspace)
        with kept_files(
            workspace, sprint_id, store, limits=limits, patterns=patterns, at=options.at
        ) as (taken, event_for):

            def keep(command: Command) -> Decide:
                return WithSnapshot(command, event_for)

            yield keep
            held = workspace.sprint(sprint_id).knowledge.snapshots
            if all(one.snapshot != taken.commit for one in held):
                return
            left = f", {len(taken.left_out)} left out" if taken.left_out else ""
            progress(f"{counted(taken.files, 'file')} kept{left}")


def _answer(outcome: Outcome, taken: "TakenSnapshot", *, as_json: bool) -> None:
    # Imported here: what starts processes is not needed by the others of this group.
    from sprintlog.projections.views import files

    told = files.taken(outcome.events[-1], taken)
    if as_json:
        print_json(told)
        return
    for one in told.left_out[:NAMED_MAX]:
        print_text(f"left out: {one.path or 'all'}: {one.reason}")
    if (more := len(told.left_out) - NAMED_MAX) > 0:
        print_text(f"left out: {more} more")
    for names in told.collisions[:NAMED_MAX]:
        print_text(f"the same but for case: {', '.join(names)}")
    print_text(
        f"{counted(taken.files, 'file')}, {taken.bytes} bytes: snapshot "
        f"{taken.commit[:12]}  [position {told.position}, version {told.version}]"
    )


@typed.command(epilog="Example: sprintlog iteration diff iter:2 iter:3 src --patch")
@click.argument("one")
@click.argument("other")
@click.argument("paths", nargs=-1, metavar="[PATH]…")
@typed.option("--patch", "as_patch", is_flag=True, help="Show the lines that differ.")
@with_reading
def diff(
    one: str, other: str, paths: tuple[str, ...], as_patch: bool, reading: ReadOptions
) -> None:
    """Show how the files of two snapshots differ; each is iter:N or snapshot:ID."""
    from sprintlog.engine.service.work_tree.own_paths import own_paths
    from sprintlog.engine.service.work_tree.snapshot import (
        compare,
        find_snapshot,
        patch,
        shown,
        store_of,
    )
    from sprintlog.projections.views.files import Differences, changes

    from ..back.paths import inside

    with open_workspace() as workspace:
        sprint = reading.sprint(workspace)
        store = store_of(workspace)
        meant = inside(workspace, paths)
        ends = [find_snapshot(workspace, sprint, point).snapshot for point in (one, other)]
        own = own_paths(workspace)
        found = compare(*map(store.read, ends), paths=meant, own=own)
        lines = patch(store, ends[0], ends[1], meant, own) if as_patch else ""
    if reading.as_json:
        print_json(Differences(changes(found), lines if as_patch else UNSET))
        return
    if as_patch:
        print_text(*lines.splitlines())
        return
    print_text(*(f"{how.ljust(7)}  {shown(path)}" for path, how in found))
    if not found:
        print_text("no file differs")
    else:
        hint("the lines that differ: the same with `--patch`")


def files_between(
    workspace: Workspace, sprint: Sprint, one: int, other: int
) -> "list[FileChange] | None":
    """Return how the files of two iterations differ; None unless both were kept."""
    from sprintlog.engine.service.work_tree.own_paths import own_paths
    from sprintlog.engine.service.work_tree.snapshot import compare, find_snapshot, store_of
    from sprintlog.projections.views.files import changes

    if not all(has_snapshot(sprint, number) for number in (one, other)):
        return None
    try:
        held = [find_snapshot(workspace, sprint, f"iter:{n}") for n in (one, other)]
        store = store_of(workspace)
        found = compare(
            *(store.read(each.snapshot) for each in held), own=own_paths(workspace)
        )
    except SprintlogError:
        # Pruned, of another work tree, or no git here: the figures are told all the same.
        return None
    return changes(found)
