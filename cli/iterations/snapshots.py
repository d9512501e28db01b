"""`sprintlog iteration snapshot|diff`: the files of iterations."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from msgspec import UNSET

from sprintlog.engine.command import Command
from sprintlog.engine.errors import InvalidInputError, SprintlogError
from sprintlog.engine.sprint.iterations.snapshots import files_before, has_snapshot
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.workspace import Decide, Outcome, Workspace

from .. import typed
from ..context import Function, ReadOptions, open_workspace, with_reading, with_recording
from ..output import counted, hint, print_json, print_text, progress
from ..record import Keep, Options, answer, recording

if TYPE_CHECKING:
    from sprintlog.engine.adapters.snapshots.capture import TakenSnapshot
    from sprintlog.engine.adapters.snapshots.entries import Snapshot
    from sprintlog.projections.views.files import FileChange

# What starts processes is imported in the commands: the others of this group need none.
MEBIBYTE = 1024 * 1024
FILE_MEBIBYTES_MAX = 64
_POINT = re.compile(r"best|now|start|[0-9]+|[a-z]+:.*")
"""What names a snapshot, or should; everything else is a path."""
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
        help="Include ignored files: paths from the root, with *, ? and **.",
    )
    large = typed.option(
        "--file-max",
        type=click.IntRange(1),
        default=FILE_MEBIBYTES_MAX,
        setting="snapshot.file-max",
        metavar="MIB",
        help=f"Skip larger files. [{FILE_MEBIBYTES_MAX}]",
    )
    return ignored(large(function))


@typed.command(epilog="Example: sprintlog iteration snapshot --include-ignored .env")
@with_snapshot_options
@with_recording
def snapshot(patterns: tuple[str, ...], file_max: int, **given: Any) -> None:
    """Save the files of the work tree for the current iteration.

    After the end of an iteration, its files do not change; later snapshots have only an
    id.

    All files that git would track are saved, with or without a repository: bytes, modes,
    links and empty folders. Skipped files and nested repositories are reported.
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
@click.argument("more", nargs=-1, metavar="[OTHER] [PATH]…")
@typed.option("--patch", "as_patch", is_flag=True, help="Show the changed lines.")
@with_reading
def diff(one: str, more: tuple[str, ...], as_patch: bool, reading: ReadOptions) -> None:
    """Compare the files of two snapshots; each is iter:N, best or snapshot:ID.

    For a single iteration it shows its changes since the last files saved or restored
    before it began.
    """
    from sprintlog.engine.service.work_tree.own_paths import own_paths
    from sprintlog.engine.service.work_tree.shared_snapshots import bring
    from sprintlog.engine.service.work_tree.snapshot import (
        compare,
        find_snapshot,
        patch,
        shown,
        store_of,
    )
    from sprintlog.projections.views.files import Differences, changes

    from ..back.paths import inside

    has_other = bool(more) and _POINT.fullmatch(more[0]) is not None
    points = (one, more[0]) if has_other else (one,)
    paths = more[len(points) - 1 :]
    with open_workspace() as workspace:
        sprint = reading.sprint(workspace)
        store = store_of(workspace)
        meant = inside(workspace, paths)
        last = find_snapshot(workspace, sprint, points[-1])
        if len(points) > 1:
            first = find_snapshot(workspace, sprint, one).snapshot
        else:
            tree = workspace.location.worktree
            first = files_before(sprint, last.iteration, worktree=tree)
        ends = (first, last.snapshot)
        own = own_paths(workspace)
        for end in ends:
            bring(workspace, store, end)
        kept = [store.read(one) for one in ends]
        if not has_other:
            _check_paths(meant, kept)
        found = compare(*kept, paths=meant, own=own)
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


def _check_paths(meant: Sequence[str], kept: Iterable["Snapshot"]) -> None:
    """Raise `InvalidInputError` for a word that is no point, and no path of either."""
    files = {path for one in kept for path in one.files}
    for path in meant:
        if not any(x == path or x.startswith(f"{path}/") for x in files):
            raise InvalidInputError(
                f"{path[:60]!r} is neither a snapshot nor a file of one; give iter:N, "
                "best or snapshot:ID"
            )


def files_between(
    workspace: Workspace, sprint: Sprint, one: int, other: int
) -> "list[FileChange] | None":
    """Return how the files of two iterations differ; None unless both were kept."""
    from sprintlog.engine.service.work_tree.snapshot import find_snapshot

    if not all(has_snapshot(sprint, number) for number in (one, other)):
        return None
    ends = (
        lambda: find_snapshot(workspace, sprint, f"iter:{one}").snapshot,
        lambda: find_snapshot(workspace, sprint, f"iter:{other}").snapshot,
    )
    return _changes(workspace, *ends)


def files_changed_in(
    workspace: Workspace, sprint: Sprint, number: int
) -> "list[FileChange] | None":
    """Return which files changed in an iteration; None where they were not kept."""
    from sprintlog.engine.service.work_tree.snapshot import find_snapshot

    if not has_snapshot(sprint, number):
        return None
    ends = (
        lambda: files_before(sprint, number, worktree=workspace.location.worktree),
        lambda: find_snapshot(workspace, sprint, f"iter:{number}").snapshot,
    )
    return _changes(workspace, *ends)


def _changes(
    workspace: Workspace, first: Callable[[], str], last: Callable[[], str]
) -> "list[FileChange] | None":
    """Return how two snapshots differ; None where one of them is not to be had."""
    from sprintlog.engine.service.work_tree.own_paths import own_paths
    from sprintlog.engine.service.work_tree.snapshot import compare, store_of
    from sprintlog.projections.views.files import changes

    try:
        store = store_of(workspace)
        found = compare(store.read(first()), store.read(last()), own=own_paths(workspace))
    except SprintlogError:
        # Pruned, of another work tree, or no git here: all else is told all the same.
        return None
    return changes(found)
