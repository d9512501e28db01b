"""The `sprintlog iteration snapshot|diff` commands, which save and compare files."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from msgspec import UNSET

from sprintlog.engine.adapters.snapshots.capture import TakenSnapshot
from sprintlog.engine.adapters.snapshots.entries import Snapshot
from sprintlog.engine.command import Command
from sprintlog.engine.errors import InvalidInputError, SprintlogError
from sprintlog.engine.service.streams.evaluation import evaluate
from sprintlog.engine.service.work_tree import snapshot as snapshots
from sprintlog.engine.service.work_tree.own_paths import own_paths
from sprintlog.engine.service.work_tree.shared_snapshots import bring
from sprintlog.engine.service.work_tree.start_files import begun_with, files_at_start
from sprintlog.engine.sprint.iterations.snapshots import has_snapshot
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.history.authors import files_of
from sprintlog.projections.views import files as views
from sprintlog.projections.views.files import Differences, FileChange, changes, differences
from sprintlog.projections.views.iterations import listed
from sprintlog.projections.workspace import Outcome, Workspace

from .. import output, typed
from ..back.paths import inside
from ..context import ReadOptions, open_workspace, with_reading, with_recording
from ..output import hint, print_json, print_text, table
from ..record import Keep, Options, answer, recording
from .judgements import list_lines
from .options import with_snapshot_options

_POINT = re.compile(r"best|now|start|[0-9]+|[a-z]+:.*")
"""Matches valid and invalid names of snapshots; all other arguments are paths."""
SAVING = "saving the files of the work tree"
NAMED_MAX = 20
"""The maximum number of skipped files that are named; the rest are counted."""


@typed.command()
@with_snapshot_options
@with_recording
def snapshot(patterns: tuple[str, ...], file_max: int, **given: Any) -> None:
    """Save the work tree's files for the current iteration.

    The saved files of an ended iteration do not change; later snapshots are identified only
    by their ids.

    All files that git would track are saved even without a repository, including modes,
    links and empty folders. Skipped files and nested repositories are reported.

    Example: sprintlog iteration snapshot --include-ignored .env
    """
    arguments = {"patterns": [*patterns], "file_max": file_max}
    with recording("iteration snapshot", given) as run:
        with output.progress_if_long(SAVING):
            limits = snapshots.limits_of(
                run.workspace, file_max=file_max, patterns=patterns
            )
            outcome, taken = snapshots.take_and_record(
                run.workspace,
                run.sprint_id,
                limits=limits,
                envelope=run.envelope(arguments),
            )
        try:
            if outcome.duplicate:
                answer(outcome, as_json=run.options.as_json)
            else:
                _answer(outcome, taken, as_json=run.options.as_json)
        finally:
            run.refresh()


@contextmanager
def keeping_files(
    given: dict[str, Any], patterns: tuple[str, ...], file_max: int
) -> Iterator[Keep]:
    """Yield a function that adds a snapshot to a command's events.

    If the command has no events, or they are not recorded, the snapshot is discarded.
    """
    options = Options(given)
    with open_workspace() as workspace:
        limits = snapshots.limits_of(workspace, file_max=file_max, patterns=patterns)
        sprint_id = workspace.choose(options.sprint_id)
        at = options.at
        with snapshots.kept_files(workspace, sprint_id, limits=limits, at=at) as (
            taken,
            event_for,
        ):
            yield lambda command: snapshots.with_snapshot(command, event_for)
            held = workspace.sprint(sprint_id).knowledge.snapshots
            if all(one.snapshot != taken.commit for one in held):
                return
            tell_kept(taken)


def tell_kept(taken: TakenSnapshot) -> None:
    """Print the number of saved files, and warn about skipped files."""
    output.progress(f"{output.counted(taken.files, 'file')} kept")
    snapshots.report_left(taken, output.warn)


def keeping_start(given: dict[str, Any], command: Command) -> Keep:
    """Save the files before an iteration; return a function that adds them to its events.

    If the iteration is rejected, no files are saved.
    """
    options = Options(given)
    with open_workspace() as workspace:
        sprint_id = workspace.choose(options.sprint_id)
        workspace.preview(command, sprint_id=sprint_id, at=options.at)
        files = files_at_start(
            workspace, sprint_id, envelope={"actor": options.actor, "at": options.at}
        )
    return lambda command: begun_with(command, files)


def _answer(outcome: Outcome, taken: TakenSnapshot, *, as_json: bool) -> None:
    told = views.taken(outcome.events[-1], taken)
    if as_json:
        output.print_json(told)
        return
    skipped = [f"skipped: {one.path or 'all'}: {one.reason}" for one in told.left_out]
    print_text(*output.first(skipped, NAMED_MAX, "skipped: {} more"))
    for names in told.collisions[:NAMED_MAX]:
        output.print_text(f"differ only in case: {', '.join(names)}")
    output.print_text(
        f"{output.counted(taken.files, 'file')}, {taken.bytes} bytes: snapshot "
        f"{taken.commit[:12]}  [position {told.position}, version {told.version}]"
    )


@typed.command()
@typed.argument("one")
@typed.argument("more", nargs=-1, metavar="[OTHER] [PATH]…")
@typed.flag("--patch", "as_patch", help="Show the changed lines.")
@with_reading
def diff(one: str, more: tuple[str, ...], as_patch: bool, reading: ReadOptions) -> None:
    """Compare the files of two snapshots; each is iter:N, best or snapshot:ID.

    For a single iteration, the command shows the files that the iteration changed.
    Separately, it shows files changed outside of any iteration before the iteration began,
    and files changed by rollbacks during the iteration.

    Example: sprintlog iteration diff iter:2 iter:3 src --patch
    """
    has_other = bool(more) and _POINT.fullmatch(more[0]) is not None
    points = (one, more[0]) if has_other else (one,)
    paths = more[len(points) - 1 :]
    with reading.opened() as (workspace, sprint):
        meant = inside(workspace, paths)
        found = compared(workspace, sprint, points, meant, as_patch=as_patch)
    if reading.as_json:
        output.print_json(found)
        return
    if as_patch:
        output.print_text(*(found.patch or "").splitlines())
        return
    output.print_text(*(authored_lines(found) or ["no file differs"]))
    if found.files:
        output.hint("add `--patch` to see the changed lines")


def compared(
    workspace: Workspace,
    sprint: Sprint,
    points: Sequence[str],
    paths: tuple[str, ...] = (),
    *,
    as_patch: bool = False,
) -> Differences:
    """Return the changes between two snapshots, or the changes of one iteration."""
    store = snapshots.store_of(workspace)
    held = [snapshots.find_snapshot(workspace, sprint, point) for point in points]
    for end in held:
        bring(workspace, store, end.snapshot)
    kept = [store.read(end.snapshot) for end in held]
    if len(held) == 1:
        made = files_of(workspace, sprint, held[0].iteration, paths, with_patch=as_patch)
        if not made.files:
            _check_paths(paths, kept)
        return differences(made, with_patch=as_patch)
    own, ends = own_paths(workspace), (held[0].snapshot, held[1].snapshot)
    lines = snapshots.patch(store, *ends, paths, own) if as_patch else UNSET
    return Differences(changes(snapshots.compare(*kept, paths=paths, own=own)), lines)


def authored_lines(found: Differences, *, most: int | None = None) -> list[str]:
    """Return lines for the files that differ, then for files changed outside the iteration.

    With `most`, at most that many files of each kind are listed.
    """
    lines = _lines(found.files, most)
    if found.overlapping:
        several = ", ".join(found.overlapping)
        lines += [f"some of them may be changes of iteration {several}, which overlapped"]
    outside = found.outside or None
    for title, files in (
        ("outside of any iteration, before it began:", outside and outside.files),
        ("by a rollback while it was under way:", found.rolled_back),
    ):
        if files:
            lines += ["", title, *(f"  {one}" for one in _lines(files, most))]
            commits = outside.commits if outside and files is outside.files else ()
            lines += [f"  commit {x.id[:12]} by {x.author}: {x.subject}" for x in commits]
    return lines


def _lines(files: Sequence[FileChange], most: int | None) -> list[str]:
    lines = []
    for one in files:
        by = "" if one.by in (UNSET, "agent") else f"  ({str(one.by).replace('-', ' ')})"
        lines.append(f"{one.how.ljust(7)}  {one.path}{by}")
    more = "and {} more: `sprintlog iteration diff N` names all"
    return lines if most is None else output.first(lines, most, more)


def _check_paths(meant: Sequence[str], kept: Iterable[Snapshot]) -> None:
    """Raise `InvalidInputError` for a word that is neither a point nor a saved path."""
    files = {path for one in kept for path in one.files}
    for path in meant:
        if not any(x == path or x.startswith(f"{path}/") for x in files):
            raise InvalidInputError(
                f"{path[:60]!r} is neither a snapshot nor a file in one; specify "
                "iter:N, start, best or snapshot:ID"
            )


def files_between(
    workspace: Workspace, sprint: Sprint, one: int, other: int
) -> list[FileChange] | None:
    """Return the differences between two iterations' files; None unless both were saved."""
    if not all(has_snapshot(sprint, number) for number in (one, other)):
        return None
    points = (f"iter:{one}", f"iter:{other}")
    try:
        store = snapshots.store_of(workspace)
        held = (snapshots.find_snapshot(workspace, sprint, point) for point in points)
        ends = [store.read(end.snapshot) for end in held]
        return changes(snapshots.compare(*ends, own=own_paths(workspace)))
    except SprintlogError:
        # The snapshot was pruned or belongs to another work tree, or git is unavailable;
        # everything else is still printed.
        return None


def files_changed_in(
    workspace: Workspace, sprint: Sprint, number: int
) -> Differences | None:
    """Return the files changed in an iteration, or None if its files were not saved."""
    try:
        return differences(files_of(workspace, sprint, number), with_patch=False)
    except SprintlogError:
        return None


@typed.command("iteration")
@typed.argument("number", type=click.IntRange(0))
@typed.flag("--files", "with_files", help="List its files.")
@with_reading
def show_files(number: int, with_files: bool, reading: ReadOptions) -> None:
    """Print an iteration's result and its snapshot; --files lists the saved files.

    Examples: sprintlog show iteration 3 --files

    sprintlog show iter:3
    """
    with reading.opened() as (workspace, sprint):
        held = snapshots.find_snapshot(workspace, sprint, f"iter:{number}")
        snapshot = snapshots.store_of(workspace).read(held.snapshot)
        judged = None if reading.as_json else evaluate(workspace.log, sprint)
        one = None if judged is None else listed(judged, number=number)
        lines = list_lines(judged, one) if judged and one and any(one[:3]) else []
    answer = views.kept(held, number, snapshot, listed=with_files)
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
        events = f"its events: `sprintlog log --iteration {number}`"
        hint(f"{events}; use `sprintlog report {number}` to see its judgement{more}")
