"""Files brought back: into a new folder, or in place with what stood there kept before.

In place the log is the journal. That a restore began is recorded before the first file is
touched, with the snapshots it goes from and to; whoever comes after a killed one does the
same again, and what is done already changes nothing.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ...adapters.snapshots.branch import make_branch
from ...adapters.snapshots.capture import TakenSnapshot
from ...adapters.snapshots.entries import LeftOut, Snapshot
from ...adapters.snapshots.extract import check_free, extract
from ...adapters.snapshots.placement import PlacedFiles, place
from ...adapters.snapshots.plan import PlacementPlan, needed, plan
from ...adapters.snapshots.store import SEE, Store
from ...command import decided
from ...errors import NotFoundError, RefusedError, SprintlogError
from ...iterations.events import ArtifactsApplied
from ...log.event import Event
from ...sprint.events import BEFORE_RESTORE, FilesRestored, KeptCopy, RestoreStarted
from ...sprint.iterations.snapshots import (
    Back,
    EndRestore,
    GiveRestoreUp,
    StartRestore,
    start_restore,
)
from ...sprint.state.knowledge import HeldSnapshot, Restore
from ...sprint.state.sprint import Sprint
from ..completion import completed
from ..place.state_places import artifacts_path
from ..port import Envelope, Outcome, Service
from ..streams.judged import evaluate
from .own_paths import own_paths
from .restore_plan import NOTHING, RestoreOrder, plan_for, plan_of, taken_back, way_back
from .shared_snapshots import bring
from .snapshot import NAMED_MAX, files_left, shown, store_of, take_tree, taken_event

KEPT = "kept"


class Restored(NamedTuple):
    """What a restore in place came to."""

    outcome: Outcome | None
    """What was recorded at its beginning; None when nothing was to be done."""
    plan: PlacementPlan
    placed: PlacedFiles | None


class GivenUp(NamedTuple):
    """A restore that was given up: what was recorded, and what was put back."""

    outcome: Outcome
    plan: PlacementPlan
    placed: PlacedFiles


def into_folder(
    workspace: Service,
    store: Store,
    commit: str,
    target: Path,
    paths: Sequence[str],
    *,
    is_dry: bool = False,
) -> PlacementPlan:
    """Bring a snapshot's files into a new folder, unless that is only to be shown.

    Return what there is to write, and what cannot be brought back.
    """
    bring(workspace, store, commit)
    snapshot = store.read(commit)
    wanted = plan(snapshot, NOTHING, paths=paths, alone=own_paths(workspace))
    _check_meant(snapshot, paths)
    _check_bytes(wanted, store.damaged(entry.oid for entry in wanted.writes.values()))
    check_free(target)
    if not is_dry:
        with store.blobs() as blob:
            extract(snapshot, wanted, target, blob)
    return wanted


def into_branch(
    workspace: Service,
    store: Store,
    held: HeldSnapshot,
    name: str,
    *,
    is_dry: bool = False,
) -> tuple[str | None, PlacementPlan, list[LeftOut]]:
    """Make a git branch of a snapshot's files, unless that is only to be shown.

    Return its commit, what the snapshot has, and what the branch does not hold as the
    work tree held it.
    """
    root = workspace.location.root
    bring(workspace, store, held.snapshot)
    snapshot = store.read(held.snapshot)
    said = f"The files of iteration {held.iteration}\n\nSnapshot {held.snapshot}.\n"
    own = own_paths(workspace)
    wanted = plan(snapshot, NOTHING, alone=own)
    _check_bytes(wanted, store.damaged(entry.oid for entry in wanted.writes.values()))
    if is_dry:
        return None, wanted, wanted.skipped
    commit, left = make_branch(store, snapshot, root, name, message=said, own=own)
    return commit, wanted, left


def in_place(
    workspace: Service,
    sprint_id: str,
    store: Store,
    order: RestoreOrder,
    *,
    is_agreed: bool,
    envelope: Envelope,
    roll_back: Back | None = None,
    reason: str | None = None,
) -> Restored:
    """Bring a snapshot's files back into the work tree, and the state with them.

    What stands there is kept in a snapshot before. Without agreement the plan is made and
    nothing else; with nothing to do for files and state nothing is recorded.
    """
    with store.lock():
        _finish(workspace, sprint_id, store, envelope.get("actor", "runtime"))
        for commit in filter(None, (order.snapshot, order.since)):
            bring(workspace, store, commit)
        _check_meant(store.read(order.snapshot), order.paths)
        sprint = workspace.sprint(sprint_id)
        taken, made = _prepare(workspace, store, sprint, order, at=envelope.get("at"))
        is_recorded = False
        try:
            if not is_agreed:
                return Restored(None, made, None)
            # That a restore was taken back is to be known, although nothing is left to do.
            is_worth_it = not made.is_empty or order.undoes is not None
            started = RestoreStarted(
                before=taken.commit,
                worktree=workspace.location.worktree,
                reason=reason,
                **order._asdict(),
            )

            def decide(sprint: Sprint, at: str) -> list[Event]:
                back = roll_back and completed(workspace, sprint, roll_back)
                if not is_worth_it:
                    return decided(back, sprint, at) if back else []
                number = sprint.plan.iteration
                before = taken_event(workspace, taken, number, BEFORE_RESTORE)
                return start_restore(sprint, StartRestore(before, started, back), at)

            outcome = workspace.handle_with(
                sprint_id, decide, without={"finish_restores"}, **envelope
            )
            is_recorded = is_worth_it and not outcome.duplicate
        finally:
            if not is_recorded:
                store.drop([taken.commit])
        if not is_recorded:
            return Restored(outcome, made, None)
        ended = _finish(workspace, sprint_id, store, envelope.get("actor", "runtime"))
        return Restored(outcome, made, ended[-1].placed if ended else None)


def _prepare(
    workspace: Service, store: Store, sprint: Sprint, order: RestoreOrder, *, at: str | None
) -> tuple[TakenSnapshot, PlacementPlan]:
    """Keep what stands there, and make a plan whose bytes are all there, both ways.

    Raise `RefusedError` where those of the snapshot are not.
    """
    files = store.read(order.snapshot).files
    meant = {f"{order.into}/{path}" if order.into else path for path in files}
    for restore in taken_back(sprint, order):
        made = plan_of(workspace, store, sprint, restore)
        meant |= {*made.writes, *made.removals}
    for is_last in (False, True):
        taken = take_tree(workspace, store, also=meant, at=at)
        made = plan_for(workspace, store, sprint, order, store.read(taken.commit))
        damaged = store.damaged(needed(made))
        if not damaged:
            return taken, made
        store.drop([taken.commit])
        _check_bytes(made, damaged)
        if not is_last:
            # What stands there can be read again.
            store.mend()
    raise RefusedError("what stands there now cannot be kept: nothing was changed")


def _check_bytes(made: PlacementPlan, damaged: set[str]) -> None:
    """Raise `RefusedError` where a plan would write what is damaged."""
    paths = sorted(path for path, entry in made.writes.items() if entry.oid in damaged)
    if paths:
        named = ", ".join(map(shown, paths[:3]))
        more = f" and {len(paths) - 3} more" if paths[3:] else ""
        raise RefusedError(
            f"the bytes of {named}{more} are damaged in the store: nothing was changed",
            hint=f"name the PATHs to bring others back; {SEE}",
            files=[shown(path) for path in paths],
        )


def finish_restores(workspace: Service, sprint: Sprint) -> tuple[int, str | None]:
    """Finish what killed restores of a sprint left undone in this work tree.

    Return how many events that recorded, and a problem, if any.
    """
    if not any(_is_here(workspace, restore) for restore in sprint.knowledge.restoring):
        return 0, None
    store = store_of(workspace)
    try:
        with store.lock():
            done = _finish(workspace, sprint.id, store, "runtime")
    except (SprintlogError, OSError) as error:
        said = error.message if isinstance(error, SprintlogError) else error.strerror
        wrong = f"a restore that was cut short cannot be finished: {said}"
        return 0, f"{wrong}; `sprintlog undo --yes` puts everything back"
    events = sum(ended.events for ended in done)
    lost = [ended.lost for ended in done if ended.lost]
    problem = f"a restore that was cut short is given up: {lost[0]}" if lost else None
    return events, problem


def give_up(
    workspace: Service, sprint_id: str, store: Store, *, actor: str
) -> list[GivenUp]:
    """End restores that were cut short by putting everything back, the newest first.

    The state that went back with one comes back, too, unless more was recorded since.
    """
    done = []
    with store.lock():
        sprint = workspace.sprint(sprint_id)
        for restore in reversed(cut_short(workspace, sprint)):
            back = _way_back(workspace, store, sprint, restore)
            placed = _put_back(workspace, store, back)
            ended, _ = _ended(restore, (), placed, "")
            outcome = workspace.handle_with(
                sprint_id,
                GiveRestoreUp(ended),
                without={"finish_restores", "refuse_edits"},
                actor=actor,
            )
            done.append(GivenUp(outcome, back, placed))
    return done


def cut_short(workspace: Service, sprint: Sprint) -> list[Restore]:
    """Return the restores of this work tree that began and did not end."""
    return [r for r in sprint.knowledge.restoring if _is_here(workspace, r)]


def ways_back(workspace: Service, store: Store, sprint: Sprint) -> list[PlacementPlan]:
    """Return what giving up all that was cut short would put back, the newest first."""
    own = reversed(cut_short(workspace, sprint))
    return [_way_back(workspace, store, sprint, restore) for restore in own]


def _way_back(
    workspace: Service, store: Store, sprint: Sprint, restore: Restore
) -> PlacementPlan:
    """Return what puts back what a restore has touched: nothing where that is lost."""
    try:
        return way_back(workspace, store, sprint, restore)
    except SprintlogError as error:
        return plan(NOTHING, NOTHING)._replace(skipped=[LeftOut("", error.message)])


def _put_back(workspace: Service, store: Store, back: PlacementPlan) -> PlacedFiles:
    """Put files back, as far as their bytes are to be had."""
    if back.is_empty:
        return PlacedFiles(0, 0, [], back.skipped)
    root, kept = workspace.location.root, store.folder / KEPT
    with store.blobs() as blob:
        return place(root, back, blob, keep_in=kept, leaves_damaged=True)


class _Ended(NamedTuple):
    """A restore that came to its end."""

    placed: PlacedFiles
    events: int
    lost: str | None
    """Why nobody can ever finish it, where that is so."""


def _finish(workspace: Service, sprint_id: str, store: Store, actor: str) -> list[_Ended]:
    """Do what is left of every restore that began; the lock must be held."""
    done = []
    sprint = workspace.sprint(sprint_id)
    loop_id = evaluate(workspace.log, sprint).loop_id
    for restore in list(sprint.knowledge.restoring):
        if not _is_here(workspace, restore):
            continue
        lost = None
        try:
            made = plan_of(workspace, store, sprint, restore)
        except NotFoundError as error:
            # The log came from elsewhere, or the store is lost: nobody ever can.
            lost = error.message
            placed = PlacedFiles(0, 0, [], [LeftOut("", lost)])
            events = _ended(restore, (), placed, loop_id)
        else:
            with store.blobs() as blob:
                root = workspace.location.root
                placed = place(root, made, blob, keep_in=store.folder / KEPT)
            events = _ended(restore, made.meant, placed, loop_id)
        ended = EndRestore(*events)
        outcome = workspace.handle_with(
            sprint_id, ended, without={"finish_restores"}, actor=actor
        )
        done.append(_Ended(placed, len(outcome.events), lost))
    return done


def _ended(
    restore: Restore, meant: Sequence[str], placed: PlacedFiles, loop_id: str
) -> tuple[FilesRestored, tuple[ArtifactsApplied, ...]]:
    """Return what is recorded at the end of a restore."""
    event = restore.event
    left = {path for path, _ in placed.skipped}
    ended = FilesRestored(
        restore.version,
        placed.written,
        placed.removed,
        tuple(KeptCopy(shown(k.path), k.copy) for k in placed.kept[:NAMED_MAX]),
        files_left(placed.skipped),
        len(placed.skipped),
    )
    if not meant:
        return ended, ()
    copied = [path.removeprefix(f"{event.into}/") for path in meant if path not in left]
    applied = ArtifactsApplied(
        artifacts_path(loop_id, event.iteration or 0),
        f"{event.into}/",
        tuple(shown(path) for path in copied),
    )
    return ended, (applied,)


def _is_here(workspace: Service, restore: Restore) -> bool:
    return restore.event.worktree == workspace.location.worktree


def _check_meant(snapshot: Snapshot, paths: Sequence[str]) -> None:
    """Raise `RefusedError` for a path of which the snapshot holds nothing."""
    for path in paths:
        begin = f"{path}/"
        known = path in snapshot.files or path in snapshot.folders
        if not known and not any(name.startswith(begin) for name in snapshot.files):
            raise RefusedError(
                f"{shown(path)}: the snapshot holds no such file or folder",
                hint="`sprintlog show iteration N --files` lists what it holds",
                file=shown(path),
            )
