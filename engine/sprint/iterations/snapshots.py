"""The snapshots of iterations, and the commands for restoring and pruning them."""

from collections.abc import Sequence

from msgspec import structs

from ...command import Command
from ...errors import NotFoundError, RefusedError
from ...judging.events import ArtifactsApplied
from ...log.event import Event, Takers
from .. import events as f
from ..state.knowledge import HeldSnapshot, Restore, WorkTree, note_tree
from ..state.sprint import Knowledge, Sprint, open_iteration
from ..state.transitions import check_exists
from .rollback import Redo, RollBack, Undo, iteration_end, undo_to_redo

KEEP_DEFAULT = 50
RESTORES_KEPT = 10
"""The number of files-only restores whose snapshots are never pruned."""


def purpose_now(sprint: Sprint, *, tree: WorkTree) -> str:
    """Return the purpose of a snapshot taken now.

    The first snapshot after an iteration ends belongs to the iteration, because its files
    are the measured files. A later snapshot has the purpose `moment`, unless the
    measurement failed.
    """
    if not (number := sprint.plan.iteration) or open_iteration(sprint.plan) is not None:
        return f.OF_ITERATION
    if was_not_measured(sprint, number):
        return f.OF_ITERATION
    known = [*filter(tree.has, sprint.knowledge.snapshots)]
    return f.OF_MOMENT if _is_of(number, known) else f.OF_ITERATION


def was_not_measured(sprint: Sprint, number: int) -> bool:
    """Return whether an iteration's measurement failed and was not repeated."""
    tracker = sprint.knowledge.tracker
    return tracker.has_failed(number) and tracker.entry(number) is None


class TakeSnapshot(Command, frozen=True):
    """Record a snapshot that is in the store."""

    taken: f.SnapshotTaken

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_exists(sprint)
        return [self.taken]


def snapshot_of(sprint: Sprint, number: int, *, tree: WorkTree) -> HeldSnapshot:
    """Return the newest snapshot that was taken before or at the end of an iteration.

    A later snapshot of the iteration is used only if there is no other. Raise
    `NotFoundError` if no snapshot is found.
    """
    knowledge = sprint.knowledge
    own = [
        held
        for held in knowledge.snapshots
        if held.iteration == number and held.purpose == f.OF_ITERATION
    ]
    own = [*filter(tree.has, own)] or own
    if not own:
        known = sorted(
            {h.iteration for h in knowledge.snapshots if h.purpose == f.OF_ITERATION}
        )
        raise NotFoundError(
            f"iteration {number} has no snapshot; iterations with snapshots: "
            f"{', '.join(map(str, known[-10:])) or 'none'}",
            hint="use `sprintlog iteration snapshot` to take one at the end of an "
            "iteration",
            iteration=number,
        )
    try:
        end = iteration_end(knowledge, number, version=sprint.version)
    except NotFoundError:
        end = sprint.version
    return ([held for held in own if held.version <= end] or own)[-1]


def has_snapshot(sprint: Sprint, number: int) -> bool:
    """Return whether an iteration has a snapshot."""
    return _is_of(number, sprint.knowledge.snapshots)


def _is_of(number: int, held: Sequence[HeldSnapshot]) -> bool:
    return any(h.iteration == number and h.purpose == f.OF_ITERATION for h in held)


def first_snapshot(sprint: Sprint, *, tree: WorkTree) -> HeldSnapshot | None:
    """Return the first snapshot of a work tree, the baseline for its changes."""
    held = sprint.knowledge.snapshots
    return next((h for h in held if h.purpose == f.OF_ITERATION and tree.has(h)), None)


def files_now(sprint: Sprint, *, tree: WorkTree) -> HeldSnapshot | None:
    """Return the snapshot that matches a work tree's last known files, or None.

    This is the newest snapshot, or an older snapshot if it was completely restored since
    then.
    """
    held = [*filter(tree.has, sprint.knowledge.snapshots)]
    back = [one for one in sprint.knowledge.restored if tree.has(one.event)]
    if not held or not back or back[-1].version < held[-1].version:
        return held[-1] if held else None
    restore = back[-1].event
    is_whole = not (restore.paths or restore.into or restore.since)
    found = (one for one in held if is_whole and one.snapshot == restore.snapshot)
    return next(found, None)


def nothing_before(sprint: Sprint, number: int) -> NotFoundError:
    """Return the error to raise if no files were stored before an iteration started."""
    others = (
        f"use `sprintlog iteration diff iter:N iter:{number}` to compare with a snapshot"
    )
    first = "run `sprintlog iteration snapshot` before the first run to save them"
    is_first = number == min((n for n, _ in sprint.knowledge.iterations), default=0)
    return NotFoundError(
        f"no files were saved before iteration {number} started",
        hint=first if is_first else others,
        iteration=number,
    )


def snapshot_named(sprint: Sprint, name: str) -> HeldSnapshot:
    """Return the only snapshot with this id prefix, or raise `NotFoundError`."""
    found = {
        h.snapshot: h for h in sprint.knowledge.snapshots if h.snapshot.startswith(name)
    }
    if len(found) != 1 or len(name) < 4:
        what = f"{len(found)} snapshots start" if found else "no snapshot starts"
        raise NotFoundError(
            f"{what} with {name[:40]!r}; specify at least four characters of one",
            hint="run `sprintlog log --type snapshot-taken` to list the snapshots",
            snapshot=name,
        )
    return next(iter(found.values()))


Back = RollBack | Undo | Redo
"""The commands that roll back the state together with files."""


def rewrite_snapshot(sprint: Sprint, rewritten: f.SnapshotRewritten) -> list[Event]:
    """Return the event that records the replacement of a snapshot, if it is referenced."""
    return [rewritten] if rewritten.snapshot in named_snapshots(sprint) else []


def named_snapshots(sprint: Sprint) -> set[str]:
    """Return the ids of all snapshots that a sprint references."""
    knowledge = sprint.knowledge
    restores = [r.event for r in (*knowledge.restoring, *knowledge.restored)]
    held = {x.snapshot for x in (*knowledge.snapshots, *knowledge.instruments)}
    named = {s for e in restores for s in (e.snapshot, e.before, e.since, e.merged)}
    return (held | named) - {""}


class StartRestore(Command, frozen=True):
    """Start a restore of files, after a snapshot of the current files.

    `rollback` is the rollback of the state, if any. Its event comes first in the append, so
    that the version before it can be a rollback target.
    """

    before: f.SnapshotTaken
    restore: f.RestoreStarted
    rollback: Back | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_exists(sprint)
        back = self.rollback
        state = back.decide(sprint, at) if back is not None else []
        if not any(isinstance(event, f.RolledBack) for event in state):
            return [self.before, self.restore]
        started = structs.replace(self.restore, rollback=sprint.version + 1)
        return [*state, self.before, started]


class EndRestore(Command, frozen=True):
    """Record the end of a restore, unless another process has already recorded it."""

    ended: f.FilesRestored
    applied: tuple[ArtifactsApplied, ...] = ()

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        known = (restore.version for restore in sprint.knowledge.restoring)
        return [self.ended, *self.applied] if self.ended.started in known else []


class GiveRestoreUp(Command, frozen=True):
    """Record that a restore was abandoned, and undo its state rollback.

    The rollback remains if anything was recorded after it, because undoing it would discard
    those events.
    """

    ended: f.FilesRestored

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        found = [r for r in sprint.knowledge.restoring if r.version == self.ended.started]
        if not found:
            return []
        rollback, events = found[0].event.rollback, []
        if rollback is not None and sprint.version == self.ended.started:
            events = Undo(reason="the restore was given up").decide(sprint, at)
        return [*events, structs.replace(self.ended, given_up=True)]


def files_with(
    sprint: Sprint, events: Sequence[Event], *, tree: WorkTree
) -> Restore | None:
    """Return the restore that belongs to the rollback undone by these events, or None."""
    undone = {event.undoes for event in events if isinstance(event, f.RolledBack)}
    taken_back = undone - {None}
    own = [r for r in sprint.knowledge.restored if tree.has(r.event)]
    return next((r for r in own if r.event.rollback in taken_back), None)


def files_to_undo(sprint: Sprint, *, tree: WorkTree, than: int) -> Restore | None:
    """Return the latest files-only restore, if it is the next change to undo.

    Return None if the plan's next change to undo is newer.
    """
    undone, _ = _files_taken_back(sprint.knowledge, tree)
    alone = [r for r in _files_alone(sprint.knowledge, tree) if r.version not in undone]
    return _newer(alone, than)


def files_to_redo(sprint: Sprint, *, tree: WorkTree) -> Restore | None:
    """Return the latest undo of a files-only restore, if it is the next change to redo."""
    _, undid = _files_taken_back(sprint.knowledge, tree)
    alone = [r for r in _files_alone(sprint.knowledge, tree) if r.version in undid]
    return _newer(alone, undo_to_redo(sprint))


def _files_alone(knowledge: Knowledge, tree: WorkTree) -> list[Restore]:
    own = [r for r in knowledge.restored if tree.has(r.event)]
    return [restore for restore in own if restore.event.rollback is None]


def _files_taken_back(
    knowledge: Knowledge, tree: WorkTree
) -> tuple[set[int], dict[int, int]]:
    """Return the restores that cannot be undone, and the restore that each undo reversed.

    As with rollbacks, an undo is reversed by a redo, after which it can be repeated.
    """
    undone: set[int] = set()
    undid: dict[int, int] = {}
    for version, event in ((r.version, r.event) for r in _files_alone(knowledge, tree)):
        if event.undoes is None:
            continue
        if event.undoes in undid:
            undone.discard(undid.pop(event.undoes))
        else:
            undid[version] = event.undoes
            undone.add(event.undoes)
        undone.add(version)
    return undone, undid


def _newer(restores: Sequence[Restore], than: int | None) -> Restore | None:
    newest = restores[-1] if restores else None
    return newest if newest is not None and newest.version > (than or 0) else None


class PruneSnapshots(Command, frozen=True):
    """Delete all but the newest snapshots and those that may be restored.

    The following snapshots are never deleted: those of the best and the selected iteration,
    the first snapshot, the targets of rollbacks, the snapshots taken before a restore that
    can be undone, and those of `target`, the current target of a rollback to the best
    iteration. With `until`, only snapshots up to that version are deleted.
    """

    needs_context = True

    keep: int = KEEP_DEFAULT
    target: int | None = None
    until: int | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_exists(sprint)
        if self.keep < 1:
            raise RefusedError(
                f"cannot keep {self.keep} snapshots: must be at least 1",
                field="keep",
                allowed=[1],
            )
        knowledge = sprint.knowledge
        held = knowledge.snapshots
        stay = protected(knowledge, self.target)
        stay |= {one.snapshot for one in held[-self.keep :]}
        until = sprint.version if self.until is None else self.until
        stay |= {one.snapshot for one in held if one.version > until}
        gone = [one.snapshot for one in held if one.snapshot not in stay]
        return [f.SnapshotsPruned(tuple(dict.fromkeys(gone)))] if gone else []


def protected(knowledge: Knowledge, target: int | None = None) -> set[str]:
    """Return the snapshots that are never pruned."""
    held = [one for one in knowledge.snapshots if one.purpose == f.OF_ITERATION]
    stay = {one.snapshot for one in held[:1]}
    tracker = knowledge.tracker
    best = (one.number for one in (tracker.best, tracker.selected) if one is not None)
    chosen = {0, target, *best}
    stay |= {one.snapshot for one in held if one.iteration in chosen}
    for _, to in knowledge.rollbacks:
        stay |= {one.snapshot for one in [h for h in held if h.version <= to][-1:]}
    alone = [r for r in knowledge.restored if r.event.rollback is None][-RESTORES_KEPT:]
    along = [r for r in knowledge.restored if r.event.rollback is not None]
    for restore in (*knowledge.restoring, *along, *alone):
        stay |= {restore.event.snapshot, restore.event.before}
    return stay


def _record_taken(knowledge: Knowledge, event: f.SnapshotTaken, version: int) -> None:
    note_tree(knowledge, event.work_tree, event.worktree)
    held = HeldSnapshot(
        *(event.snapshot, event.iteration, version, event.purpose),
        *(event.worktree, event.work_tree),
    )
    if event.purpose != f.OF_INSTRUMENTS:
        knowledge.snapshots.append(held)
        return
    tracker = knowledge.tracker
    is_first = not knowledge.instruments and tracker.is_empty and tracker.failed is None
    knowledge.is_guarded |= is_first
    knowledge.instruments.append(held)


def _record_started(knowledge: Knowledge, event: f.RestoreStarted, version: int) -> None:
    note_tree(knowledge, event.work_tree, event.worktree)
    knowledge.restoring.append(Restore(version, event))


def _record_ended(knowledge: Knowledge, event: f.FilesRestored, version: int) -> None:
    ended = [r for r in knowledge.restoring if r.version == event.started]
    knowledge.restoring = [r for r in knowledge.restoring if r.version != event.started]
    if not event.given_up:
        knowledge.restored += ended


def _record_rewritten(
    knowledge: Knowledge, event: f.SnapshotRewritten, version: int
) -> None:
    old, new = event.snapshot, event.into
    for held in (*knowledge.snapshots, *knowledge.instruments):
        if held.snapshot == old:
            held.snapshot = new
    for restore in (*knowledge.restoring, *knowledge.restored):
        names = ("snapshot", "before", "since", "merged")
        changed = {name: new for name in names if getattr(restore.event, name) == old}
        restore.event = structs.replace(restore.event, **changed)


def _record_pruned(knowledge: Knowledge, event: f.SnapshotsPruned, version: int) -> None:
    gone = frozenset(event.snapshots)
    knowledge.snapshots = [one for one in knowledge.snapshots if one.snapshot not in gone]


def _record_forked(knowledge: Knowledge, event: f.ForkCreated, version: int) -> None:
    knowledge.forks.append((version - 1, event.source))
    # Copied restores concern the files of the sprint that was copied.
    knowledge.restoring, knowledge.restored = [], []
    # The same applies to the run that was in progress there.
    knowledge.loops.started = knowledge.loops.ended = None
    # Its pending notes are for the agent that works there.
    knowledge.notes = {i: x for i, x in knowledge.notes.items() if x.is_certain}


LEARN: Takers = {
    f.SnapshotTaken: _record_taken,
    f.RestoreStarted: _record_started,
    f.FilesRestored: _record_ended,
    f.SnapshotRewritten: _record_rewritten,
    f.SnapshotsPruned: _record_pruned,
    f.ForkCreated: _record_forked,
}
"""The handlers that update the knowledge, regardless of rollbacks."""
