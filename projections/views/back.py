"""Answers of the commands that return to an earlier state."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from sprintlog.engine.adapters.snapshots.merge import Merge
from sprintlog.engine.adapters.snapshots.placement import PlacedFiles
from sprintlog.engine.adapters.snapshots.plan import PlacementPlan
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event
from sprintlog.engine.service.port import Handled
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.service.work_tree.restore_plan import RestoreOrder
from sprintlog.engine.service.work_tree.snapshot import shown
from sprintlog.engine.sprint.events import RolledBack
from sprintlog.engine.sprint.state.effective_history import VersionRange, turned_by
from sprintlog.engine.sprint.state.sprint import Sprint

from .events import EventReference, Text, event_of, reference, stream_of
from .files import LeftPath

Answer = TypeVar("Answer", bound="WentBack")


class KeptFile(Struct, frozen=True):
    """A file that changed in the meantime, and the location of its previous contents."""

    path: str
    copy: str


class MergeConflict(Struct, frozen=True):
    """A path that the merge could not decide, with git's message."""

    path: str
    message: str
    hunks: str
    """The conflicting lines of both sides with their markers."""


class ChangedFiles(Struct, frozen=True, kw_only=True):
    """The changes to files, either made or planned."""

    written: list[str]
    removed: list[str]
    left: list[LeftPath]
    """The paths left unchanged."""
    created: list[str] = []
    """The written files that are new; the others were replaced."""
    folders: list[str] = []
    """The folders that are created or removed, or whose mode changes."""
    kept: list[KeptFile] = []
    """The files that changed in the meantime."""
    snapshot: Text = UNSET
    iteration: int | UnsetType = UNSET
    into: Text = UNSET
    """The target folder, if it is not the work tree itself."""
    branch: Text = UNSET
    commit: Text = UNSET
    source: Text = UNSET
    """The sprint whose iteration is merged into the files."""
    merged: list[str] = []
    """The files that combine changes of both sides without a conflict."""
    conflicts: list[MergeConflict] = []


class WentBack(Struct, frozen=True, kw_only=True):
    """The result or preview of a return to an earlier plan, earlier files, or both."""

    action: str
    done: bool
    """False for a preview."""
    stream: str
    version: int
    """The current version of the stream."""
    from_: int = field(name="from")
    """The previous version of the stream."""
    to: int | None = None
    """The version whose state is effective again; null if the plan is unchanged."""
    gone: int = 0
    """The number of discarded events."""
    again: int = 0
    """The number of events that are effective again."""
    events: list[EventReference]
    """The recorded events."""
    duplicate: bool = False
    """True if the idempotency key was used before."""
    files: ChangedFiles | None = None
    """Null if no files change."""
    undo: str | None = None
    """The command that undoes the action; null if nothing was changed in place."""


class Adopted(WentBack, frozen=True, kw_only=True):
    """The result or preview of recording an edit as events."""

    adopted: list[str]
    """The paths (JSON Pointer) of the changes that became events."""
    left: list[str]
    """The changes that were not adopted, each with its path and the reason."""


class PlanTurn(Struct, frozen=True):
    """The events that a rollback discards or makes effective again."""

    to: int
    gone: list[VersionRange]
    back: list[VersionRange]

    @property
    def numbers(self) -> tuple[int, int]:
        """Return how many events are discarded, and how many become effective again."""
        gone, back = (sum(b - a + 1 for a, b in these) for these in (self.gone, self.back))
        return gone, back


def turn_of(sprint: Sprint, events: Iterable[Event], *, after: int) -> PlanTurn | None:
    """Return the effect of the first rollback in the events `after` a version, if any."""
    for version, event in enumerate(events, after + 1):
        if isinstance(event, RolledBack):
            turned = turned_by(sprint.knowledge.rollbacks, version, event.to)
            return PlanTurn(event.to, turned.gone, turned.back)
    return None


def changed_files(
    plan: PlacementPlan,
    *,
    order: RestoreOrder | None = None,
    placed: PlacedFiles | None = None,
    branch: str | None = None,
    commit: str | None = None,
    merge: Merge | None = None,
) -> ChangedFiles:
    """Return the files that a plan writes and removes, or has written and removed."""
    left = plan.skipped if placed is None else placed.skipped
    # A branch contains all files, including those that differ in the work tree.
    not_touched = {path for path, _ in left} if branch is None else set()
    number = order.iteration if order is not None else None
    is_in_place = branch is None and (order is None or not order.into)
    written = [path for path in plan.writes if path not in not_touched]
    return ChangedFiles(
        written=[shown(path) for path in written],
        created=[shown(path) for path in written if path not in plan.before],
        removed=[shown(path) for path in plan.removals if path not in not_touched],
        folders=[shown(path) for path in (*plan.folders, *plan.folders_gone)],
        left=[
            LeftPath(
                shown(x.path), x.reason, x.path not in plan.alike if is_in_place else UNSET
            )
            for x in left
        ],
        kept=[KeptFile(shown(k.path), k.copy) for k in placed.kept] if placed else [],
        snapshot=order.snapshot if order is not None else UNSET,
        iteration=UNSET if number is None else number,
        into=(order.into if order is not None else "") or UNSET,
        branch=branch or UNSET,
        commit=commit or UNSET,
        **_merged(order, merge),
    )


def _merged(order: RestoreOrder | None, merge: Merge | None) -> dict[str, Any]:
    """Return the fields about a merge; empty if nothing was merged."""
    if order is None or merge is None:
        return {}
    unclear = {one.path for one in merge.conflicts}
    return {
        "source": order.source,
        "merged": [shown(path) for path in merge.contents if path not in unclear],
        "conflicts": [
            MergeConflict(
                shown(one.path),
                shown(one.message),
                one.hunks.decode(errors="backslashreplace"),
            )
            for one in merge.conflicts
        ],
    }


def differing(files: ChangedFiles | None) -> list[LeftPath]:
    """Return the paths that differ from the snapshot after a restore in place."""
    return [one for one in files.left if one.differs is True] if files is not None else []


def _turned(turn: PlanTurn | None) -> dict[str, Any]:
    """Return the answer's fields about a rollback; empty if the plan is unchanged."""
    if turn is None:
        return {}
    gone, again = turn.numbers
    return {"to": turn.to, "gone": gone, "again": again}


def would_go_back(
    action: str,
    sprint: Sprint,
    turn: PlanTurn | None = None,
    files: ChangedFiles | None = None,
    *,
    done: bool = False,
) -> WentBack:
    """Return a preview, or the result of an action `done` outside the work tree."""
    more = {"done": done, "files": files, **_turned(turn)}
    return _planned(WentBack, action, sprint_stream(sprint.id), sprint.version, **more)


def _planned(
    kind: type[Answer], action: str, stream: str, version: int, **more: Any
) -> Answer:
    """Return an answer that, unless `more` contains other values, is a preview."""
    where = {"stream": stream, "version": version, "from_": version, "events": []}
    return kind(**{"action": action, "done": False, **where, **more})


def forked(outcome: Handled[Sprint], *, version: int, done: bool) -> WentBack:
    """Return the result or preview of a fork."""
    found = would_go_back("fork", outcome.state, done=done)
    return replace(found, from_=version, events=[*map(reference, outcome.events)])


def would_adopt(stream: str, version: int, adopted: list[str], left: list[str]) -> Adopted:
    """Return a preview of adopting an edit."""
    return _planned(Adopted, "adopt", stream, version, adopted=adopted, left=left)


def went_back(
    kind: type[Answer], action: str, outcome: Handled[Any], *, version: int, **more: Any
) -> Answer:
    """Return the result of a completed action; `more` contains further fields."""
    events = outcome.events
    before = events[0].version - 1 if events else version
    state = outcome.state
    if isinstance(state, Sprint):
        more |= _turned(turn_of(state, decoded(events), after=before))
    more |= {"done": True, "from_": before, "duplicate": outcome.duplicate}
    more["events"] = [*map(reference, events)]
    return _planned(kind, action, stream_of(state), version, **more)


def decoded(events: Sequence[RecordedEvent]) -> Iterable[Event]:
    """Return the decoded events, without those that were erased."""
    return (event for recorded in events if (event := event_of(recorded)) is not None)


class RemovedTree(Struct, frozen=True):
    """A worktree of an attempt that was removed, or would be in a dry run."""

    attempt: int
    path: str
    sprint: str
    snapshot: str | None
    """The snapshot of its files; null in a dry run, or if nothing could be saved."""
    existed: bool
    """False if the worktree had been deleted, so that only git's record was pruned."""


class CleanedRace(Struct, frozen=True):
    """The removal of a race's worktrees, or its preview."""

    action: str
    race: str
    done: bool
    """False for a preview."""
    trees: list[RemovedTree]
