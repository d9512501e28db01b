"""The snapshot of an iteration, the record of a restore, and prunable snapshots."""

from typing import Any

import pytest

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.judging.events import ArtifactsApplied, BestSelected
from sprintlog.engine.judging.tracker import Best
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.events import (
    BEFORE_RESTORE,
    OF_ITERATION,
    OF_MOMENT,
    FilesRestored,
    ForkCreated,
    IterationEnded,
    IterationStarted,
    NoteAdded,
    PhaseStarted,
    RestoreStarted,
    RolledBack,
    SnapshotsPruned,
    SnapshotTaken,
)
from sprintlog.engine.sprint.iterations.rollback import RollBack, Undo
from sprintlog.engine.sprint.iterations.snapshots import (
    EndRestore,
    GiveRestoreUp,
    PruneSnapshots,
    StartRestore,
    TakeSnapshot,
    files_with,
    protected,
    purpose_now,
    snapshot_named,
    snapshot_of,
)
from sprintlog.engine.sprint.state.knowledge import WorkTree
from sprintlog.engine.sprint.state.sprint import pack, unpack

from ..conftest import Scenario, simple

MAIN, LINKED = WorkTree(None), WorkTree(None, ("linked",))


def taken(
    name: str, iteration: int, *, purpose: str = OF_ITERATION, worktree: str = ""
) -> SnapshotTaken:
    """Return the event of a snapshot whose id starts with a name."""
    whole = name.ljust(40, "0")
    return SnapshotTaken(whole, iteration, "t" * 40, 1, 1, purpose, worktree)


def restored(name: str, before: str, **more: Any) -> RestoreStarted:
    """Return the event that started the restore of a snapshot."""
    return RestoreStarted(name.ljust(40, "0"), before.ljust(40, "0"), **more)


@pytest.fixture
def loop(running: Any) -> Scenario:
    """Provide a sprint with two iterations, each with its snapshot."""
    scenario: Scenario = running(
        simple("a", "b"),
        IterationStarted(1),
        taken("aaaa", 1),
        IterationStarted(2),
        taken("bbbb", 2),
    )
    return scenario


def found(scenario: Scenario, number: int, *, tree: WorkTree = MAIN) -> str:
    """Return the first letters of the snapshot that is an iteration's."""
    return snapshot_of(scenario.sprint, number, tree=tree).snapshot[:4]


def test_snapshot_belongs_to_the_iteration_under_way(given: Any, loop: Scenario) -> None:
    """The number is the one the plan is in; 0 before the first."""
    assert given(simple("a")).sprint.plan.iteration == 0
    assert loop.sprint.plan.iteration == 2


def test_newest_snapshot_of_an_iteration_counts(loop: Scenario) -> None:
    """A second snapshot of an iteration replaces the first one."""
    loop.when(TakeSnapshot(taken=taken("cccc", 2))).then(taken("cccc", 2))
    assert (found(loop, 1), found(loop, 2)) == ("aaaa", "cccc")


def test_snapshot_after_the_end_does_not_count(loop: Scenario) -> None:
    """A snapshot taken after an iteration's end does not become its snapshot."""
    loop.given(IterationStarted(3), taken("cccc", 1))
    assert found(loop, 1) == "aaaa"


def test_files_of_its_end_stay_an_iterations(loop: Scenario) -> None:
    """A snapshot taken after an iteration's end is a separate moment, if it has files."""
    assert purpose_now(loop.sprint, tree=MAIN) == OF_ITERATION
    loop.given(IterationEnded(2))
    assert purpose_now(loop.sprint, tree=MAIN) == OF_MOMENT
    assert purpose_now(loop.sprint, tree=LINKED) == OF_ITERATION
    loop.given(taken("cccc", 2, purpose=OF_MOMENT))
    assert found(loop, 2) == "bbbb"
    assert snapshot_named(loop.sprint, "cccc").iteration == 2
    loop.given(IterationStarted(3), IterationEnded(3))
    assert purpose_now(loop.sprint, tree=MAIN) == OF_ITERATION


def test_snapshot_before_a_restore_is_nobodys(loop: Scenario) -> None:
    """The files that a restore replaces are not the iteration's snapshot."""
    loop.given(taken("cccc", 2, purpose=BEFORE_RESTORE))
    assert found(loop, 2) == "bbbb"


def test_own_work_tree_goes_first(loop: Scenario) -> None:
    """If several work trees have snapshots, the own one takes precedence."""
    loop.given(taken("cccc", 2, worktree="linked"))
    assert found(loop, 2) == "bbbb"
    assert found(loop, 2, tree=LINKED) == "cccc"
    assert found(loop, 1, tree=LINKED) == "aaaa"


def test_iteration_without_a_snapshot_is_not_found(loop: Scenario) -> None:
    """The error names the iterations that have a snapshot."""
    with pytest.raises(NotFoundError, match=r"iteration 7 has no snapshot.*: 1, 2"):
        found(loop, 7)


def test_rollback_forgets_no_snapshot(loop: Scenario) -> None:
    """Snapshots are knowledge: a rollback discards none."""
    loop.given(RolledBack(2))
    assert (found(loop, 1), found(loop, 2)) == ("aaaa", "bbbb")


def test_snapshot_is_named_by_its_first_letters(loop: Scenario) -> None:
    """Enough letters identify a snapshot; too few, none or several matches are refused."""
    assert snapshot_named(loop.sprint, "aaaa").iteration == 1
    for name in ("aaa", "ffff", ""):
        with pytest.raises(NotFoundError, match="start"):
            snapshot_named(loop.sprint, name)


def test_restore_records_what_stood_there_first(loop: Scenario) -> None:
    """A restore starts with a snapshot of the files it will replace."""
    before, restore = taken("cccc", 2, purpose=BEFORE_RESTORE), restored("aaaa", "cccc")
    loop.when(StartRestore(before=before, restore=restore)).then(before, restore)
    assert [r.event for r in loop.sprint.knowledge.restoring] == [restore]


def test_rollback_takes_its_files_along(loop: Scenario) -> None:
    """State and files are rolled back in one append, and the restore names its rollback."""
    before, restore = taken("cccc", 2, purpose=BEFORE_RESTORE), restored("aaaa", "cccc")
    version = loop.sprint.version
    gone_back = RollBack(to=4)
    loop.when(StartRestore(before=before, restore=restore, rollback=gone_back)).then(
        RolledBack(4), before, restored("aaaa", "cccc", rollback=version + 1)
    )


def _rolled_back_with_files(loop: Scenario) -> int:
    """Roll back with files; return the version of the rollback."""
    before, restore = taken("cccc", 2, purpose=BEFORE_RESTORE), restored("aaaa", "cccc")
    gone_back = RollBack(to=4)
    loop.when(StartRestore(before=before, restore=restore, rollback=gone_back)).go()
    version = loop.sprint.version
    ended = FilesRestored(version, 1, 0)
    loop.when(EndRestore(ended=ended)).then(ended)
    return version - 2


def test_end_of_a_restore_is_recorded_once(loop: Scenario) -> None:
    """Two processes may finish the same restore; only one of them records it."""
    _rolled_back_with_files(loop)
    ended = FilesRestored(loop.sprint.version - 1, 1, 0)
    loop.when(EndRestore(ended, (ArtifactsApplied("a/", "b/"),))).then_nothing()
    assert loop.sprint.knowledge.restoring == []


def test_undo_knows_which_files_went_along(loop: Scenario) -> None:
    """The rollback reversed by an undo names the files from before."""
    version = _rolled_back_with_files(loop)
    events = Undo().decide(loop.sprint, "2026-01-15T09:00:00Z")
    found = files_with(loop.sprint, events, tree=MAIN)
    assert found is not None
    assert (found.event.rollback, found.event.before[:4]) == (version, "cccc")
    assert files_with(loop.sprint, events, tree=LINKED) is None
    assert files_with(loop.sprint, [RolledBack(2)], tree=MAIN) is None


def test_plain_rollback_after_one_with_files_has_none(loop: Scenario) -> None:
    """Undoing a rollback restores files only if the rollback did."""
    _rolled_back_with_files(loop)
    loop.given(RolledBack(2))
    assert (
        files_with(
            loop.sprint, Undo().decide(loop.sprint, "2026-01-15T09:00:00Z"), tree=MAIN
        )
        is None
    )


def _many(running: Any, *more: Event) -> Scenario:
    history: list[Event] = [taken("base", 0)]
    for number in range(1, 9):
        history += [IterationStarted(number), taken(f"i00{number}", number)]
    scenario: Scenario = running(simple("a"), *history, *more)
    return scenario


def test_newest_snapshots_stay(running: Any) -> None:
    """The newest snapshots remain, and those of the baseline, best and selected one."""
    gone = tuple(f"i00{n}".ljust(40, "0") for n in (1, 2, 5, 6))
    scenario = _many(running)
    # Two with other references: the best one, and the selected one.
    scenario.sprint.knowledge.tracker.best = Best(3, "9/10", ())
    scenario.given(BestSelected(4, 4, True))
    scenario.when(PruneSnapshots(keep=2))
    scenario.then(SnapshotsPruned(gone))
    assert [h.snapshot[:4] for h in scenario.sprint.knowledge.snapshots] == [
        "base", "i003", "i004", "i007", "i008",
    ]  # fmt: skip


def test_target_of_a_rollback_stays(running: Any) -> None:
    """The target of a rollback is never pruned."""
    scenario = _many(running)
    end = scenario.sprint.knowledge.snapshots[4].version
    scenario.given(PhaseStarted("a"), RolledBack(end))
    assert "i004" in {name[:4] for name in protected(scenario.sprint.knowledge)}


def test_what_an_undo_needs_stays(loop: Scenario) -> None:
    """The files before a restore, and the restored ones, are never removed."""
    _rolled_back_with_files(loop)
    assert {"aaaa", "cccc"} <= {name[:4] for name in protected(loop.sprint.knowledge)}


def test_fork_takes_over_no_restore(loop: Scenario) -> None:
    """A fork neither finishes nor undoes a restore of the original sprint."""
    _rolled_back_with_files(loop)
    loop.given(restored("aaaa", "cccc"), ForkCreated("sprint/s", 9, "h"))
    assert (loop.sprint.knowledge.restoring, loop.sprint.knowledge.restored) == ([], [])
    assert found(loop, 1) == "aaaa"


def test_saved_state_knows_snapshots_and_restores(loop: Scenario) -> None:
    """A checkpoint has stored, pending and rollback-related snapshots."""
    _rolled_back_with_files(loop)
    loop.given(restored("aaaa", "cccc", paths=("src",)))
    assert unpack(pack(loop.sprint)).knowledge == loop.sprint.knowledge


def test_nothing_to_let_go_is_no_event(loop: Scenario) -> None:
    """If nothing can be pruned, nothing is recorded; keeping none is refused."""
    loop.when(PruneSnapshots(keep=5)).then_nothing()
    loop.when(PruneSnapshots(keep=0)).then_refused(field="keep")


def test_restore_that_was_given_up_is_none(loop: Scenario) -> None:
    """It is no longer in progress, cannot be undone, and discards its rollback."""
    restore = restored("aaaa", "eeee", rollback=7)
    loop.given(RolledBack(3), taken("eeee", 2, purpose=BEFORE_RESTORE), restore)
    at = loop.sprint.version
    ended = FilesRestored(at, 1, 0)
    events = GiveRestoreUp(ended=ended).decide(loop.sprint, "2026-01-15T09:00:00Z")
    assert [type(event) for event in events] == [RolledBack, FilesRestored]
    loop.given(NoteAdded("later"))
    (last,) = GiveRestoreUp(ended=ended).decide(loop.sprint, "2026-01-15T09:00:00Z")
    loop.given(last)
    assert (loop.sprint.knowledge.restoring, loop.sprint.knowledge.restored) == ([], [])
    assert GiveRestoreUp(ended=ended).decide(loop.sprint, "2026-01-15T09:00:00Z") == []
