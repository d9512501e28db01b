"""Files of iterations: snapshots, what differs between them, and files brought back."""

from collections.abc import Iterable, Sequence

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

from sprintlog.engine.adapters.snapshots import entries
from sprintlog.engine.adapters.snapshots.capture import TakenSnapshot
from sprintlog.engine.adapters.snapshots.entries import Snapshot
from sprintlog.engine.adapters.snapshots.placement import PlacedFiles
from sprintlog.engine.adapters.snapshots.plan import PlacementPlan
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.work_tree import restore
from sprintlog.engine.service.work_tree.snapshot import shown
from sprintlog.engine.sprint.state.knowledge import HeldSnapshot

from .events import EventReference, filled, reference


class LeftPath(Struct, frozen=True):
    """A path that was left as it is, and why; an empty one stands for all."""

    path: str
    reason: str


class FileChange(Struct, frozen=True):
    """A file that differs between two snapshots."""

    path: str
    how: str


class Differences(Struct, frozen=True):
    """How the files of two snapshots differ."""

    files: list[FileChange]
    patch: str | UnsetType = UNSET


class SnapshotAnswer(EventReference, frozen=True, kw_only=True):
    """A snapshot that was taken."""

    snapshot: str
    files: int
    bytes: int
    read: int
    """How many files had to be read."""
    left_out: list[LeftPath]
    collisions: list[list[str]]
    """Paths that are alike but for case."""


class FileKept(Struct, frozen=True):
    """A file of a snapshot."""

    path: str
    mode: str
    bytes: int


class SnapshotFiles(Struct, frozen=True):
    """What is known of an iteration's snapshot."""

    iteration: int
    snapshot: str
    version: int
    files: int
    bytes: int
    left_out: list[LeftPath]
    listing: list[FileKept] | UnsetType = UNSET


class Pruned(Struct, frozen=True):
    """Snapshots that were let go."""

    pruned: Sequence[str]
    bytes_freed: int
    events: list[EventReference]


class RestorePlan(Struct, frozen=True):
    """What would be done to the work tree; nothing was."""

    done: bool
    write: list[str]
    remove: list[str]
    leave: list[LeftPath]


class FilesCopied(Struct, frozen=True):
    """The files of a snapshot in a new folder, or in a new branch."""

    done: bool
    snapshot: str
    iteration: int
    files: int
    left: list[LeftPath]
    folder: str | UnsetType = UNSET
    branch: str | UnsetType = UNSET
    commit: str | UnsetType = UNSET


class KeptFile(Struct, frozen=True):
    """A file that changed meanwhile, and where what stood there is kept."""

    path: str
    copy: str


class PutBack(Struct, frozen=True, kw_only=True):
    """What a restore that was given up put back."""

    done: bool
    events: list[EventReference]
    written: int
    removed: int
    left: list[LeftPath]


class RestoredFiles(PutBack, frozen=True, kw_only=True):
    """What was brought back into the work tree."""

    snapshot: str
    iteration: int | None
    duplicate: bool
    kept: list[KeptFile]


def left_out(found: Iterable[entries.LeftOut]) -> list[LeftPath]:
    """Return what was left as it is."""
    return [LeftPath(shown(path), reason) for path, reason in found]


def changes(found: Iterable[tuple[str, str]]) -> list[FileChange]:
    """Return the files that differ."""
    return [FileChange(shown(path), how) for path, how in found]


def taken(event: RecordedEvent, found: TakenSnapshot) -> SnapshotAnswer:
    """Return a snapshot that was taken, with the event that says so."""
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
    """Return what is known of an iteration's snapshot, with its files if wanted."""
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


def plan(found: PlacementPlan) -> RestorePlan:
    """Return what would be done to the work tree."""
    writes, removals = [*map(shown, found.writes)], [*map(shown, found.removals)]
    return RestorePlan(False, writes, removals, left_out(found.skipped))


def put_back(done: Iterable[PlacedFiles], events: Iterable[RecordedEvent]) -> PutBack:
    """Return what was put back."""
    placed = [*done]
    return PutBack(
        done=True,
        events=[*map(reference, events)],
        written=sum(each.written for each in placed),
        removed=sum(each.removed for each in placed),
        left=left_out(one for each in placed for one in each.skipped),
    )


def restored(
    found: restore.Restored, snapshot: str, iteration: int | None
) -> RestoredFiles:
    """Return what was brought back."""
    outcome, placed = found.outcome, found.placed
    back = put_back([placed] if placed else [], outcome.events if outcome else [])
    own = asdict(back) if placed else {**asdict(back), "left": left_out(found.plan.skipped)}
    return RestoredFiles(
        **own,
        snapshot=snapshot,
        iteration=iteration,
        duplicate=bool(outcome and outcome.duplicate),
        kept=[KeptFile(shown(k.path), k.copy) for k in placed.kept] if placed else [],
    )
