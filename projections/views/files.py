"""Files of iterations: snapshots, the differences between them, and restored files."""

from collections.abc import Iterable, Sequence

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

from sprintlog.engine.adapters.snapshots import entries
from sprintlog.engine.adapters.snapshots.capture import TakenSnapshot
from sprintlog.engine.adapters.snapshots.entries import Snapshot
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.work_tree.snapshot import PathDifference, shown
from sprintlog.engine.sprint.state.knowledge import HeldSnapshot

from ..history.authors import OUT, ROLLBACK, IterationFiles
from ..history.committed import CommitAnswer
from .events import EventReference, filled, reference


class LeftPath(Struct, frozen=True):
    """A path that was left unchanged, and the reason; an empty path means all paths."""

    path: str
    reason: str
    differs: bool | UnsetType = UNSET
    """Whether the path differs or may differ from the snapshot; only for files restored in
    place."""


class FileChange(Struct, frozen=True):
    """A file that differs between two snapshots."""

    path: str
    how: str
    """`added`, `removed`, `changed`, `mode`, or `omitted` if one of the snapshots omits
    it."""
    by: str | UnsetType = UNSET
    """For an iteration: `agent`, `one-of` several overlapping iterations, or either of
    these with `-or-outside` if files were not stored when the iteration started."""


class OutsideChanges(Struct, frozen=True):
    """Changes made between two iterations, outside any iteration."""

    files: list[FileChange]
    commits: list[CommitAnswer]
    """The newest commits made in the meantime."""


class Differences(Struct, frozen=True):
    """The differences between the files in two snapshots."""

    files: list[FileChange]
    patch: str | UnsetType = UNSET
    overlapping: list[str] | UnsetType = UNSET
    """For an iteration: other iterations that may have changed some of the files."""
    outside: OutsideChanges | UnsetType = UNSET
    """For an iteration: changes made outside any iteration before it started."""
    rolled_back: list[FileChange] | UnsetType = UNSET
    """For an iteration: changes made by rollbacks during the iteration."""


class SnapshotAnswer(EventReference, frozen=True, kw_only=True):
    """A newly taken snapshot."""

    snapshot: str
    files: int
    bytes: int
    read: int
    """The number of files that had to be read."""
    left_out: list[LeftPath]
    collisions: list[list[str]]
    """Paths that differ only in case."""


class FileKept(Struct, frozen=True):
    """A file in a snapshot."""

    path: str
    mode: str
    bytes: int


class SnapshotFiles(Struct, frozen=True):
    """The snapshot of an iteration."""

    iteration: int
    snapshot: str
    version: int
    files: int
    bytes: int
    left_out: list[LeftPath]
    listing: list[FileKept] | UnsetType = UNSET


class Pruned(Struct, frozen=True):
    """Snapshots that were removed."""

    pruned: Sequence[str]
    bytes_freed: int
    events: list[EventReference]
    reports: int
    """The number of removed copies of reports."""


class Pruning(Struct, frozen=True):
    """The snapshots that would be removed, and any copies that can be recreated."""

    snapshots: Sequence[str]
    copies: Sequence[str]
    reports: Sequence[str]
    """The digests of the copies of reports."""


def left_out(found: Iterable[entries.LeftOut]) -> list[LeftPath]:
    """Return the omitted paths, each with its reason."""
    return [LeftPath(shown(path), reason) for path, reason in found]


def differences(found: IterationFiles, *, with_patch: bool) -> Differences:
    """Return the files changed in an iteration, grouped by who changed them."""
    by: dict[bool | None, list[FileChange]] = {None: [], False: [], True: []}
    for path, how, author, _ in found.files:
        if author in (OUT, ROLLBACK):
            by[author == ROLLBACK].append(FileChange(path, how))
        else:
            by[None].append(FileChange(path, how, author))
    lines = found.patch if with_patch else UNSET
    outside = OutsideChanges(by[False], found.commits)
    return Differences(by[None], lines, [*found.others], outside, by[True])


def changes(found: Iterable[PathDifference]) -> list[FileChange]:
    """Return the changed files."""
    return [FileChange(shown(x.path), x.how) for x in found]


def taken(event: RecordedEvent, found: TakenSnapshot) -> SnapshotAnswer:
    """Return a snapshot with the event that recorded it."""
    return filled(
        SnapshotAnswer,
        found,
        **asdict(reference(event)),
        snapshot=found.commit,
        left_out=left_out(found.left_out),
        collisions=[[*map(shown, one)] for one in found.collisions],
    )


def kept(
    held: HeldSnapshot, number: int, found: Snapshot, *, listed: bool
) -> SnapshotFiles:
    """Return an iteration's snapshot, with its files if requested."""
    files = sorted(found.files.items())
    listing = [FileKept(shown(path), f"{one.mode:o}", one.size) for path, one in files]
    return SnapshotFiles(
        number,
        held.snapshot,
        held.version,
        len(files),
        found.size,
        left_out(found.left_out),
        listing if listed else UNSET,
    )
