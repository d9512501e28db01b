"""Restores of files, into a new folder, or in place after the current files are saved.

For a restore in place, the log is the journal: the start is recorded with both snapshots
before the first file changes. If the process is killed, the next command repeats the
restore; steps that were already done have no effect.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ...adapters.snapshots import capture, entries, halves
from ...adapters.snapshots.file_stats import cache_of, load, save_restored
from ...adapters.snapshots.merge import Merge
from ...adapters.snapshots.placement import NO_STATS, PlacedFiles, order_of_writes, place
from ...adapters.snapshots.plan import PlacementPlan, needed, plan
from ...adapters.snapshots.store import Store
from ...command import decided
from ...errors import NotFoundError, RefusedError, SprintlogError
from ...judging.events import ArtifactsApplied
from ...log.envelope import RecordedEvent
from ...log.event import Event
from ...sprint.events import BEFORE_RESTORE, FilesRestored, KeptCopy, RestoreStarted
from ...sprint.iterations import snapshots
from ...sprint.state.knowledge import Restore
from ...sprint.state.sprint import Sprint
from ..command_context import completed
from ..place.location import artifacts_path
from ..place.trees import shown_tree
from ..port import Envelope, Outcome, Service
from ..streams.evaluation import evaluate
from . import restore_plan
from .handover import MergeBase, merged_order
from .restore_plan import RestoreOrder
from .shared_snapshots import bring
from .snapshot import NAMED_MAX, files_left, shown, store_of, take_tree, taken_event

KEPT = "kept"


class Restored(NamedTuple):
    """The result of restoring in place, or of abandoning a restore."""

    outcome: Outcome | None
    """The recorded events; None if there was nothing to do."""
    plan: PlacementPlan
    placed: PlacedFiles | None
    lost: str | None = None
    """Why the restore can never be finished, if so."""
    merge: Merge | None = None

    @property
    def events(self) -> Sequence[RecordedEvent]:
        """Return the recorded events."""
        return self.outcome.events if self.outcome is not None else ()


def in_place(
    workspace: Service,
    sprint_id: str,
    order: RestoreOrder,
    *,
    is_agreed: bool,
    envelope: Envelope,
    roll_back: snapshots.Back | None = None,
    reason: str | None = None,
    of_any_tree: bool = False,
    base: MergeBase | None = None,
) -> Restored:
    """Restore a snapshot's files in the work tree, together with the state.

    Raise `RefusedError` for files from another work tree, unless `of_any_tree` is true.
    With `base`, the changes since that base are merged into the current files.

    The current files are saved in a snapshot first. Unless `is_agreed` is true, only the
    plan is computed. If neither files nor state would change, nothing is recorded.
    """
    if not (of_any_tree or order.into or base):
        _check_tree(workspace, workspace.sprint(sprint_id), order)
    actor, store = envelope.get("actor", "runtime"), store_of(workspace)
    with store.lock():
        _finish(workspace, sprint_id, store, actor)
        for commit in filter(None, (order.snapshot, order.since)):
            bring(workspace, store, commit)
        sprint = workspace.sprint(sprint_id)
        given = (workspace, store, sprint, order, base)
        taken, made, order, merge = _prepare(*given, at=envelope.get("at"))
        is_recorded, done = False, Restored(None, made, None, merge=merge)
        try:
            if not is_agreed:
                return done
            # An undo of a restore is recorded even if no file changes.
            is_worth_it = not made.is_empty or order.undoes is not None
            started = RestoreStarted(
                before=taken.commit,
                worktree=workspace.location.worktree,
                reason=reason,
                **order._asdict(),
            )

            def decide(sprint: Sprint, at: str) -> list[Event]:
                back = roll_back and completed(workspace, sprint, roll_back, envelope)
                if not is_worth_it:
                    return decided(back, sprint, at) if back else []
                number = sprint.plan.iteration
                before = taken_event(workspace, taken, number, BEFORE_RESTORE)
                return snapshots.StartRestore(before, started, back).decide(sprint, at)

            outcome = workspace.handle_with(
                sprint_id, decide, without={"finish_restores"}, **envelope
            )
            is_recorded = is_worth_it and not outcome.duplicate
        finally:
            if not is_recorded:
                store.drop([taken.commit, *([order.snapshot] if merge else [])])
        done = done._replace(outcome=outcome)
        if not is_recorded:
            return done
        ended = _finish(workspace, sprint_id, store, actor, new=made)
        placed = ended[-1].placed if ended else None
        is_whole = order == RestoreOrder(order.snapshot, order.iteration)
        if is_whole and placed and not (placed.skipped or placed.kept):
            wanted, present = store.read(order.snapshot), store.read(taken.commit)
            cache = cache_of(store.folder, workspace.location.root)
            tree = store.tree_of(wanted.commit)
            save_restored(cache, tree, wanted.files, present.files, placed.stats)
        return done._replace(placed=placed)


def _check_tree(workspace: Service, sprint: Sprint, order: RestoreOrder) -> None:
    """Raise `RefusedError` if the files belong to a work tree other than this one."""
    held = [h for h in sprint.knowledge.snapshots if h.snapshot == order.snapshot]
    if held and not any(map(workspace.tree.has, held)):
        where = shown_tree(workspace.location, held[0])
        raise RefusedError(
            f"the saved files belong to {where} and are not restored into another work "
            "tree",
            hint="repeat the command there, restore them here anyway with `--into .`, or "
            "run `sprintlog restore iter:N --into FOLDER` to copy them",
            sprint=sprint.id,
        )


def _prepare(
    workspace: Service,
    store: Store,
    sprint: Sprint,
    asked: RestoreOrder,
    base: MergeBase | None,
    *,
    at: str | None,
) -> tuple[capture.TakenSnapshot, PlacementPlan, RestoreOrder, Merge | None]:
    """Save the current files; return the snapshot and a plan, both with verified content.

    With `base`, the order and the merge that produced its snapshot are also returned. Raise
    `RefusedError` if content of the snapshot to restore is damaged.
    """
    wanted, order, merge = store.read(asked.snapshot), asked, None
    if base is None:
        restore_plan.check_meant({*wanted.files, *wanted.folders}, order.paths)
    meant = {f"{order.into}/{path}" if order.into else path for path in wanted.files}
    marked = [path for path, _ in wanted.left_out]
    for restore in restore_plan.taken_back(sprint, order):
        made = restore_plan.plan_of(workspace, store, sprint, restore)
        meant |= {*made.writes, *made.removals}
    for is_last in (False, True):
        taken = take_tree(workspace, store, also=meant, marked=marked, at=at)
        present = store.read(taken.commit)
        if base is not None:
            order, merge = merged_order(workspace, store, asked, base, present)
        made = restore_plan.plan_for(workspace, store, sprint, order, present)
        if merge is not None:
            skipped, alike = [*made.skipped, *merge.left], made.alike | merge.alike
            made = made._replace(skipped=skipped, alike=alike)
        damaged = store.damaged(needed(made))
        if not damaged:
            return taken, made, order, merge
        store.drop([taken.commit, *([order.snapshot] if merge else [])])
        restore_plan.check_bytes(made, damaged)
        if not is_last:
            # The current files can be read again.
            store.mend()
    raise RefusedError("nothing was changed: the current files cannot be saved")


def finish_restores(workspace: Service, sprint: Sprint) -> tuple[int, str | None]:
    """Finish a sprint's interrupted restores in this work tree.

    Return the number of events recorded, and the problem, if any.
    """
    if not cut_short(workspace, sprint):
        return 0, None
    store = store_of(workspace)
    try:
        with store.lock():
            done = _finish(workspace, sprint.id, store, "runtime")
    except (SprintlogError, OSError) as error:
        said = error.message if isinstance(error, SprintlogError) else error.strerror
        wrong = f"an interrupted restore cannot be finished: {said}"
        return 0, f"{wrong}; `sprintlog undo --yes` puts everything back"
    events = sum(len(ended.events) for ended in done)
    lost = [ended.lost for ended in done if ended.lost]
    problem = f"a restore that was cut short is given up: {lost[0]}" if lost else None
    return events, problem


def give_up(workspace: Service, sprint_id: str, *, actor: str) -> list[Restored]:
    """Abandon interrupted restores: undo their changes, newest restore first.

    If a restore also rolled back the state, that is undone too, unless more has been
    recorded since.
    """
    done, store = [], store_of(workspace)
    with store.lock():
        sprint = workspace.sprint(sprint_id)
        for restore in reversed(cut_short(workspace, sprint)):
            back = _way_back(workspace, store, sprint, restore)
            placed = _place(workspace, store, back, leaves_damaged=True)
            outcome = workspace.handle_with(
                sprint_id,
                snapshots.GiveRestoreUp(_ended(restore, placed)),
                without={"finish_restores", "refuse_edits"},
                actor=actor,
            )
            done.append(Restored(outcome, back, placed))
    return done


def cut_short(workspace: Service, sprint: Sprint) -> list[Restore]:
    """Return the unfinished restores in this work tree."""
    return [r for r in sprint.knowledge.restoring if workspace.tree.has(r.event)]


def ways_back(workspace: Service, sprint: Sprint) -> list[PlacementPlan]:
    """Return the plans to abandon the unfinished restores, newest first."""
    own, store = reversed(cut_short(workspace, sprint)), store_of(workspace)
    return [_way_back(workspace, store, sprint, restore) for restore in own]


def _way_back(
    workspace: Service, store: Store, sprint: Sprint, restore: Restore
) -> PlacementPlan:
    """Return the plan that undoes a restore's changes; it is empty if its data is lost."""
    try:
        return restore_plan.way_back(workspace, store, sprint, restore)
    except SprintlogError as error:
        return _nothing(error)


def _nothing(lost: SprintlogError) -> PlacementPlan:
    """Return an empty plan that names the lost data."""
    nothing = restore_plan.NOTHING
    skipped = [entries.LeftOut("", lost.message)]
    return plan(nothing, nothing)._replace(skipped=skipped)


def _place(
    workspace: Service,
    store: Store,
    made: PlacementPlan,
    *,
    is_new: bool = False,
    **how: bool,
) -> PlacedFiles:
    """Apply a plan; store displaced files that have no other copy."""
    root, kept = workspace.location.root, store.folder / KEPT
    # A new plan starts from a snapshot that was taken under the same lock.
    known = load(cache_of(store.folder, root)).files if is_new else NO_STATS

    def placed(part: PlacementPlan, is_new: bool) -> PlacedFiles:
        if part.is_empty:
            return PlacedFiles(0, 0, [], part.skipped, {})
        with store.blobs(order_of_writes(part)) as blob:
            return place(root, part, blob, keep_in=kept, known=known, is_new=is_new, **how)

    return halves.place_halves(made, placed, is_new=is_new)


def _finish(
    workspace: Service,
    sprint_id: str,
    store: Store,
    actor: str,
    *,
    new: PlacementPlan | None = None,
) -> list[Restored]:
    """Finish every restore that has started; the caller must hold the lock.

    `new` is the plan of the only restore, if it has just been started.
    """
    done = []
    sprint = workspace.sprint(sprint_id)
    for restore in cut_short(workspace, sprint):
        lost = None
        try:
            made = new or restore_plan.plan_of(workspace, store, sprint, restore)
        except NotFoundError as error:
            # The log is from elsewhere or the store is lost, so it can never be finished.
            made, lost = _nothing(error), error.message
        placed = _place(workspace, store, made, is_new=new is not None)
        applied = _applied(workspace, sprint, restore, made, placed)
        ended = snapshots.EndRestore(_ended(restore, placed), applied)
        outcome = workspace.handle_with(
            sprint_id, ended, without={"finish_restores"}, actor=actor
        )
        done.append(Restored(outcome, made, placed, lost))
    return done


def _ended(restore: Restore, placed: PlacedFiles) -> FilesRestored:
    """Return the event that ends a restore."""
    return FilesRestored(
        restore.version,
        placed.written,
        placed.removed,
        tuple(KeptCopy(shown(k.path), k.copy) for k in placed.kept[:NAMED_MAX]),
        files_left(placed.skipped),
        len(placed.skipped),
    )


def _applied(
    workspace: Service,
    sprint: Sprint,
    restore: Restore,
    made: PlacementPlan,
    placed: PlacedFiles,
) -> tuple[ArtifactsApplied, ...]:
    """Return the loop artifacts that a restore copied into a folder."""
    if not made.meant:
        return ()
    event, left = restore.event, {path for path, _ in placed.skipped}
    loop_id = evaluate(workspace.log, sprint).loop_id
    begin = f"{event.into}/"
    copied = [path.removeprefix(begin) for path in made.meant if path not in left]
    where = artifacts_path(loop_id, event.iteration or 0)
    return (ArtifactsApplied(where, begin, tuple(map(shown, copied))),)
