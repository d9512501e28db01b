"""The events about snapshots of a work tree: taken, restored, rewritten and pruned.

The paths in these events are for people to read; the snapshot store determines which files
a snapshot contains, byte for byte. All of these events are knowledge: a rollback does not
discard them, because it does not undo what happened to files.
"""

from collections.abc import Sequence

import msgspec

from ...log.event import IN_FORCE, AsDecision, KnowledgeEvent, Subject, events_of
from .loop import GitState

LEFT_SHOWN_MAX = 3
"""More paths that are left out are only counted."""
OF_ITERATION = "iteration"
OF_MOMENT = "moment"
BEFORE_RESTORE = "before-restore"


class FileLeft(msgspec.Struct, frozen=True, omit_defaults=True):
    """A path that a snapshot does not contain or that a restore did not change."""

    path: str
    """From the work tree's root; empty for all of it."""
    reason: str


def left_words(left: Sequence[FileLeft], count: int) -> str:
    """Return a line with the paths missing from a snapshot, and their number."""
    named = ", ".join(
        f"{one.path or 'all'} ({one.reason})" for one in left[:LEFT_SHOWN_MAX]
    )
    more = f" and {count - LEFT_SHOWN_MAX} more" if count > LEFT_SHOWN_MAX else ""
    paths = "path is" if count == 1 else "paths are"
    return f"{count} {paths} not in the snapshot: {named}{more}"


class KeptCopy(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that changed after its restore was planned, and the copy that was kept."""

    path: str
    """Its path from the root of the work tree."""
    copy: str
    """Name of its copy in the log's `snapshots/kept` folder."""


class AboutSnapshot(KnowledgeEvent, frozen=True):
    """An event about snapshots, which never changes the plan."""

    subject = Subject("snapshot")
    is_structural = True


class SnapshotTaken(AboutSnapshot, frozen=True):
    """A snapshot of the files in a work tree was taken."""

    stays = ("snapshot", "tree", "purpose", "worktree", "git", "work_tree")
    only_caused = "`sprintlog iteration snapshot` takes one and records it"
    snapshot: str
    """Its id in the store of snapshots."""
    iteration: int
    """The iteration it belongs to; 0 before the first."""
    tree: str
    """The id of its content: the same files, the same id."""
    files: int
    """How many files and links it holds."""
    bytes: int
    """How many bytes they have together."""
    purpose: str = OF_ITERATION
    """`iteration` (the end of one); `moment` if that iteration already has a snapshot of
    its end; `before-restore` for the files that a restore is about to replace."""
    worktree: str = ""
    """Name of the linked git work tree; empty for the main one."""
    left_out: tuple[FileLeft, ...] = ()
    """Paths that it does not contain, at most a hundred."""
    left_out_count: int = 0
    """How much it does not hold."""
    collisions: tuple[tuple[str, ...], ...] = ()
    """Paths that are one and the same where case does not matter."""
    git: GitState | None = None
    """The state of the repository at that time, without the files that sprintlog writes."""
    work_tree: str | None = None
    """The id of the work tree; `tree` is the id of its content."""


class RestoreStarted(AboutSnapshot, frozen=True):
    """A snapshot's files are about to be written to the work tree.

    Until `files-restored` follows, the next process that records finishes the restore.
    """

    stays = ("snapshot", "before", "worktree", "paths", "into", "since", "work_tree")
    only_caused = "`sprintlog rollback TO` records it before it writes a file"
    as_decision = AsDecision("rollback", ("iteration", "paths", "reason"), judges=IN_FORCE)
    snapshot: str
    """The snapshot to restore."""
    before: str
    """The snapshot of the files before the restore."""
    iteration: int | None = None
    """The iteration whose files they are."""
    worktree: str = ""
    """Name of the linked git work tree; empty for the main one."""
    paths: tuple[str, ...] = ()
    """The files and folders that are meant; all without them."""
    into: str = ""
    """The folder of the work tree they are put into; empty for in place."""
    since: str = ""
    """Only what differs from this snapshot is meant."""
    rollback: int | None = None
    """The version of the rollback that it belongs to."""
    undoes: int | None = None
    """The version of the restore that this one undoes, if it restored only files."""
    reason: str | None = None
    """The reason, if the restore does not belong to a rollback of the plan."""
    work_tree: str | None = None
    """The id of the work tree."""


class FilesRestored(AboutSnapshot, frozen=True):
    """A restore finished."""

    stays = ("kept.copy",)
    only_caused = "`sprintlog rollback TO` records it when all is written"
    started: int
    """The version of its beginning."""
    written: int
    """How many files are now as the snapshot has them."""
    removed: int
    """How many are gone that the snapshot does not have."""
    kept: tuple[KeptCopy, ...] = ()
    """Files that were in no snapshot, with the places of their copies."""
    left: tuple[FileLeft, ...] = ()
    """Paths that were not changed, at most a hundred."""
    left_count: int = 0
    """The number of paths that were not changed."""
    given_up: bool = False
    """It was interrupted, and its changes were reverted."""


class SnapshotRewritten(AboutSnapshot, frozen=True):
    """A snapshot was recreated without erased text, and the old snapshot was removed.

    References to the old snapshot now resolve to the new one.
    """

    stays = ("snapshot", "into", "tree", "reason")
    only_caused = "`redact` records it when it erases a text"
    snapshot: str
    """The old one's id; the store holds it no more."""
    into: str
    """The id of the one that takes its place."""
    tree: str
    """The id of its content."""
    files: int
    """In how many files a text was erased."""
    reason: str
    """The reason, without any of the erased text."""


class SnapshotsPruned(AboutSnapshot, frozen=True):
    """Snapshots were removed to free disk space."""

    stays = ("snapshots",)
    only_caused = "`sprintlog store prune` removes them and records it"
    snapshots: tuple[str, ...]
    """Their ids; the store holds them no more."""


SNAPSHOT_EVENTS = events_of(__name__)
