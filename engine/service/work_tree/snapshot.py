"""Snapshots of the work tree: taken by the store, recorded in the log, removed by a rule.

A snapshot is stored before it is recorded, so every recorded snapshot exists. If the
process is killed in between, the next pruning removes the unrecorded snapshot.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypedDict, Unpack

from msgspec.structs import replace

from ...adapters.snapshots.capture import Limits, TakenSnapshot, take
from ...adapters.snapshots.entries import LeftOut, Snapshot
from ...adapters.snapshots.plan import is_in, meant
from ...adapters.snapshots.store import FILES, Pair, Store, changes_between
from ...command import decided
from ...errors import InvalidInputError, SprintlogError
from ...log.event import Event
from ...sprint import events as f
from ...sprint.events.snapshots import left_words
from ...sprint.iterations import measurement, snapshots
from ...sprint.state.knowledge import HeldSnapshot
from ...sprint.state.sprint import Sprint
from ...sprint.state.times import parse
from ..port import Decide, Envelope, Outcome, Service
from ..streams import catalogue, points
from . import own_paths, shared_snapshots

FOLDER = "snapshots"
MEBIBYTE = 1024 * 1024
FILE_MEBIBYTES_MAX = 64
NAMED_MAX = 100
"""The maximum number of paths in an event; the snapshot store contains the others."""


class PathDifference(NamedTuple):
    """A path that differs between two snapshots."""

    path: str
    how: str
    """`added`, `removed`, `changed`, `mode`, or `omitted` from one of the snapshots."""
    counts: tuple[int, int] | None = None
    """The numbers of added and removed lines, if they were counted."""


def store_of(workspace: Service) -> Store:
    """Return the store for a workspace's snapshots."""
    folder, wait = workspace.location.folder / FOLDER, workspace.log.locks.wait
    return Store(folder, workspace.environment, wait)


def limits_of(
    workspace: Service, *, file_max: int | None = None, patterns: Sequence[str] = ()
) -> Limits:
    """Return the limits for a snapshot, by default those from the settings.

    `file_max` is in MiB. Raise `InvalidInputError` for an invalid setting.
    """
    largest = file_max or workspace.setting("snapshot.file-max") or FILE_MEBIBYTES_MAX
    ignored = patterns or workspace.setting("snapshot.include-ignored") or ()
    return Limits(file_bytes_max=largest * MEBIBYTE, patterns=tuple(ignored))


def take_and_record(
    workspace: Service, sprint_id: str, *, limits: Limits | None = None, envelope: Envelope
) -> tuple[Outcome, TakenSnapshot]:
    """Take a snapshot for a sprint's current iteration, and record it."""
    at = envelope.get("at")
    with kept_files(workspace, sprint_id, limits=limits, at=at) as (taken, event_for):
        outcome = workspace.handle_with(
            sprint_id,
            lambda sprint, at: snapshots.TakeSnapshot(event_for(sprint)).decide(sprint, at),
            **envelope,
        )
        return outcome, taken


EventFor = Callable[[Sprint], f.SnapshotTaken]
"""A function that returns the event that records a snapshot."""


def with_snapshot(command: Decide, event_for: EventFor) -> Decide:
    """Return a decision that appends a snapshot to a command's events, if there are any."""

    def decide(sprint: Sprint, at: str) -> list[Event]:
        if not (events := decided(command, sprint, at)):
            return []
        snapshot = event_for(sprint)
        for ended in events:
            # Another iteration may have started in this work tree before this one ended.
            if isinstance(ended, f.IterationEnded):
                of = {"iteration": ended.number, "purpose": f.OF_ITERATION}
                snapshot = replace(snapshot, **of)
        return [*measurement.with_tree(events, snapshot.tree), snapshot]

    return decide


class Taking(TypedDict, total=False):
    """What a snapshot contains; see `take`."""

    also: Iterable[str]
    marked: Iterable[str]
    last: str
    only: Callable[[str], bool] | None


@contextmanager
def kept_files(
    workspace: Service,
    sprint_id: str,
    *,
    limits: Limits | None = None,
    at: str | None = None,
    **taking: Unpack[Taking],
) -> Iterator[tuple[TakenSnapshot, EventFor]]:
    """Yield a snapshot and a function that returns its event, to be recorded in the block.

    A snapshot that is not recorded by the end of the block is deleted. For `last` and
    `only`, see `take`.
    """
    # Read first, so that invalid settings are refused before anything is done.
    store = store_of(workspace)
    is_shared = workspace.setting("snapshot.remote") is not None
    with store.lock():
        workspace.finish_restores(workspace.sprint(sprint_id))
        taken = take_tree(workspace, store, limits=limits, at=at, **taking)

        def event_for(sprint: Sprint) -> f.SnapshotTaken:
            purpose = snapshots.purpose_now(sprint, tree=workspace.tree)
            return taken_event(workspace, taken, sprint.plan.iteration, purpose)

        try:
            yield taken, event_for
        finally:
            sprint = workspace.sprint(sprint_id)
            is_recorded = taken.commit in snapshots.named_snapshots(sprint)
            if taken.commit and not is_recorded:
                store.drop([taken.commit])
    if is_recorded and is_shared:
        shared_snapshots.share(workspace, store, sprint)


def take_tree(
    workspace: Service,
    store: Store,
    *,
    limits: Limits | None = None,
    at: str | None = None,
    **taking: Unpack[Taking],
) -> TakenSnapshot:
    """Take a snapshot of the work tree unless it equals `last`; requires the lock."""
    return take(
        store,
        workspace.location.root,
        at_seconds=max(int(parse(workspace.now() if at is None else at).timestamp()), 0),
        limits=limits or limits_of(workspace),
        without=[workspace.location.folder],
        own=own_paths.kept_out(workspace) | own_paths.for_people(workspace),
        **taking,
    )


def taken_event(
    workspace: Service, taken: TakenSnapshot, iteration: int, purpose: str
) -> f.SnapshotTaken:
    """Return the event that records a snapshot."""
    return f.SnapshotTaken(
        taken.commit,
        iteration,
        taken.tree,
        taken.files,
        taken.bytes,
        purpose,
        workspace.location.worktree,
        files_left(taken.left_out),
        len(taken.left_out),
        tuple(tuple(map(shown, one)) for one in taken.collisions[:NAMED_MAX]),
    )


def report_left(taken: TakenSnapshot, tell: Callable[[str], None]) -> None:
    """Report the paths that a snapshot does not contain, if any."""
    if left := taken.left_out:
        tell(left_words(files_left(left), len(left)))


def files_left(left: Sequence[LeftOut]) -> tuple[f.FileLeft, ...]:
    """Return the omitted files in the format used by events."""
    return tuple(f.FileLeft(shown(path), reason) for path, reason in left[:NAMED_MAX])


def shown(path: str) -> str:
    """Return a path as text; bytes that are not valid UTF-8 are escaped."""
    return os.fsencode(path).decode(errors="backslashreplace")


def find_snapshot(workspace: Service, sprint: Sprint, point: str) -> HeldSnapshot:
    """Return the snapshot that `iter:N`, `start`, `best` or `snapshot:ID` refers to.

    Raise `InvalidInputError` for any other format, and `NotFoundError` if there is no
    snapshot.
    """
    form, _, name = point.partition(":")
    if not name and form.isdigit():
        form, name = "iter", form
    if point == "start":
        form, name = "iter", "0"
    if point == "best":
        form, name = "iter", str(points.target_of(workspace.log, sprint))
    if form == "iter" and name.isascii() and name.isdigit() and len(name) < 19:
        return snapshots.snapshot_of(sprint, int(name), tree=workspace.tree)
    if form == "snapshot":
        return snapshots.snapshot_named(sprint, name)
    raise InvalidInputError(
        f"{point[:60]!r} is not a snapshot; use iter:N, start, best or snapshot:ID",
        hint="to compare the current files, run `sprintlog rollback iter:N --files "
        "--dry-run`",
    )


def compare(
    one: Snapshot, other: Snapshot, *, paths: Sequence[str] = (), own: Collection[str] = ()
) -> list[PathDifference]:
    """Return the differences between the files of two snapshots, sorted by path.

    Files that belong to sprintlog are not compared. A path that only one snapshot contains,
    and that the other omitted, counts as neither added nor removed.
    """
    found = []
    omitted = [{path for path, _ in each.left_out} for each in (one, other)]
    for path in filter(meant(paths), sorted(one.files.keys() | other.files.keys())):
        if is_in(path, own):
            continue
        a, b = one.files.get(path), other.files.get(path)
        if a is None or b is None:
            how = "added" if a is None else "removed"
            is_left = is_in(path, omitted[a is not None])
            found.append(PathDifference(path, "omitted" if is_left else how))
        elif (a.oid, a.is_link) != (b.oid, b.is_link):
            found.append(PathDifference(path, "changed"))
        elif a.mode != b.mode:
            found.append(PathDifference(path, "mode"))
    return found


def changed_between(
    store: Store, pairs: Sequence[Pair], own: Collection[str]
) -> dict[Pair, list[PathDifference]]:
    """Return the file differences between pairs of snapshots, except sprintlog's own files.

    Pairs that the store no longer contains are omitted.
    """
    if not store.exists:
        return {}
    aliases = store.aliases()
    there = {
        pair: (aliases.get(pair[0], pair[0]), aliases.get(pair[1], pair[1]))
        for pair in pairs
    }
    found = changes_between(store.git, there.values())
    return {
        pair: [PathDifference(*one) for one in found[ends] if not is_in(one[0], own)]
        for pair, ends in there.items()
        if ends in found
    }


def patch(
    store: Store, one: str, other: str, paths: Sequence[str], own: Collection[str]
) -> str:
    """Return the patch between two snapshots, without sprintlog's own files."""
    lines = store.diff(one, other, paths, without=own).decode(errors="backslashreplace")
    # git quotes names with special characters.
    return lines.replace(f" {FILES}/", " ").replace(f' "{FILES}/', ' "')


def lost_paths(
    store: Store, held: Sequence[HeldSnapshot]
) -> Iterator[tuple[HeldSnapshot, str]]:
    """Yield the snapshots that cannot be fully restored, each with the lost parts."""
    read: dict[str, Snapshot] = {}
    if held:
        # Without Git, this raises an error instead of reporting all objects as lost.
        _ = store.git.program
    for one in held:
        try:
            read[one.snapshot] = store.read(one.snapshot)
        except SprintlogError as error:
            yield one, error.message
    oids = {entry.oid for each in read.values() for entry in each.files.values()}
    damaged = store.damaged(oids, reads_all=True) if oids else set()
    for one in held:
        files = read[one.snapshot].files if one.snapshot in read else {}
        paths = sorted(shown(p) for p, entry in files.items() if entry.oid in damaged)
        if paths:
            more = f" and {len(paths) - 3} more" if paths[3:] else ""
            yield one, ", ".join(paths[:3]) + more


def pruning(
    workspace: Service,
    sprint_id: str,
    *,
    keep: int = snapshots.KEEP_DEFAULT,
    before: str | None,
) -> snapshots.PruneSnapshots:
    """Return the command that removes all snapshots, or only those before a given time."""
    if before is None:
        return snapshots.PruneSnapshots(keep)
    stream = catalogue.sprint_stream(sprint_id)
    return snapshots.PruneSnapshots(
        keep, until=points.last_version(workspace.log, stream, moment=before)
    )


def prune(
    workspace: Service,
    sprint_id: str,
    *,
    asked: snapshots.PruneSnapshots,
    envelope: Envelope,
) -> tuple[Outcome, int]:
    """Remove old snapshots; return the outcome and the number of bytes freed.

    Stored snapshots that no sprint refers to are also removed.
    """
    store = store_of(workspace)
    with store.lock():
        outcome = workspace.handle_with(sprint_id, asked, **envelope)
        if not store.exists:
            return outcome, 0
        before = store.bytes_used()
        known = {
            snapshot
            for name in workspace.sprints()
            for snapshot in snapshots.named_snapshots(workspace.sprint(name))
        }
        store.hold(known)
        shared_snapshots.forget(workspace, store, {*pruned(outcome)} - known)
        store.drop([commit for commit in store.snapshots() if commit not in known])
        store.tidy()
        return outcome, before - store.bytes_used()


def pruned(outcome: Outcome) -> tuple[str, ...]:
    """Return the snapshots that an outcome removed."""
    events = map(catalogue.CODEC.decode, outcome.events)
    return tuple(x for e in events if isinstance(e, f.SnapshotsPruned) for x in e.snapshots)
