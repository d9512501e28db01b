"""The events for taking, restoring, rewriting and pruning a work tree's snapshots.

The paths in these events are for people to read; the snapshot store determines which files
a snapshot contains, byte for byte. All of these events are knowledge: a rollback does not
discard them, because a rollback does not undo changes to files.
"""

from collections.abc import Sequence

import msgspec

from ...log.event import IN_FORCE, AsDecision, KnowledgeEvent, Subject, events_of
from .loop import GitState

LEFT_SHOWN_MAX = 3
"""The maximum number of paths listed; further paths are only counted."""
OF_ITERATION = "iteration"
OF_MOMENT = "moment"
BEFORE_RESTORE = "before-restore"
OF_INSTRUMENTS = "instruments"


class FileLeft(msgspec.Struct, frozen=True, omit_defaults=True):
    """A path that a snapshot does not contain or that a restore did not change."""

    path: str
    """The path from the work tree's root; empty for the entire work tree."""
    reason: str


def left_words(left: Sequence[FileLeft], count: int) -> str:
    """Return a sentence that lists and counts the paths missing from a snapshot."""
    named = ", ".join(
        f"{one.path or 'all'} ({one.reason})" for one in left[:LEFT_SHOWN_MAX]
    )
    more = f" and {count - LEFT_SHOWN_MAX} more" if count > LEFT_SHOWN_MAX else ""
    paths = "path is" if count == 1 else "paths are"
    return f"{count} {paths} not in the snapshot: {named}{more}"


class KeptCopy(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that changed after its restore was planned, and the copy that was kept."""

    path: str
    """The path from the work tree's root."""
    copy: str
    """The name of the copy in the log's `snapshots/kept` folder."""


class AboutSnapshot(KnowledgeEvent, frozen=True):
    """An event about snapshots, which never changes the plan."""

    subject = Subject("snapshot")
    is_structural = True


class SnapshotTaken(AboutSnapshot, frozen=True):
    """A snapshot of the files in a work tree was taken."""

    stays = ("snapshot", "tree", "purpose", "worktree", "git", "work_tree")
    only_caused = "`sprintlog iteration snapshot` takes one and records it"
    snapshot: str
    """The id of the snapshot in the snapshot store."""
    iteration: int
    """The iteration to which the snapshot belongs; 0 before the first iteration."""
    tree: str
    """The id of the contents; identical contents have the same id."""
    files: int
    """The number of files and links."""
    bytes: int
    """The total size in bytes."""
    purpose: str = OF_ITERATION
    """`iteration` (the end of an iteration); `moment` if the iteration already has a
    snapshot of its end; `before-restore` for the files that a restore is about to
    replace; `instruments` for only the files that decide on measurements."""
    worktree: str = ""
    """The name of the linked Git work tree; empty for the main work tree."""
    left_out: tuple[FileLeft, ...] = ()
    """The paths that the snapshot does not contain, at most 100."""
    left_out_count: int = 0
    """The number of paths that the snapshot does not contain."""
    collisions: tuple[tuple[str, ...], ...] = ()
    """Groups of paths that differ only in case."""
    git: GitState | None = None
    """The state of the repository at the time of the snapshot, except sprintlog's files."""
    work_tree: str | None = None
    """The id of the work tree; `tree` is the id of its contents."""


class RestoreStarted(AboutSnapshot, frozen=True):
    """A snapshot's files are about to be written to the work tree.

    Until `files-restored` follows, the next process that records an event finishes the
    restore.
    """

    stays = (
        *("snapshot", "before", "worktree", "paths", "into", "since", "work_tree"),
        *("source", "merged"),
    )
    only_caused = "`sprintlog rollback TO` records it before it writes a file"
    as_decision = AsDecision("rollback", ("iteration", "paths", "reason"), judges=IN_FORCE)
    snapshot: str
    """The snapshot to restore."""
    before: str
    """The snapshot of the files before the restore."""
    iteration: int | None = None
    """The iteration to which the snapshot belongs."""
    worktree: str = ""
    """The name of the linked Git work tree; empty for the main work tree."""
    paths: tuple[str, ...] = ()
    """The files and folders to restore; if empty, all of them."""
    into: str = ""
    """The target folder in the work tree; empty to restore in place."""
    since: str = ""
    """If set, only differences from this snapshot are restored."""
    rollback: int | None = None
    """The version of the rollback to which the restore belongs."""
    undoes: int | None = None
    """The version of the files-only restore that this restore undoes."""
    reason: str | None = None
    """The reason, unless the restore belongs to a rollback of the plan."""
    work_tree: str | None = None
    """The id of the work tree."""
    source: str = ""
    """The sprint whose iteration was merged into the files; `snapshot` is the result."""
    merged: str = ""
    """The snapshot of that iteration."""


class FilesRestored(AboutSnapshot, frozen=True):
    """A restore finished."""

    stays = ("kept.copy",)
    only_caused = "`sprintlog rollback TO` records it when all is written"
    started: int
    """The version of the `restore-started` event."""
    written: int
    """The number of files that now match the snapshot."""
    removed: int
    """The number of files removed because the snapshot does not contain them."""
    kept: tuple[KeptCopy, ...] = ()
    """The files that were in no snapshot, each with the name of its copy."""
    left: tuple[FileLeft, ...] = ()
    """The paths that were not changed, at most 100."""
    left_count: int = 0
    """The number of paths that were not changed."""
    given_up: bool = False
    """Whether the restore was interrupted and its changes were undone."""


class SnapshotRewritten(AboutSnapshot, frozen=True):
    """A snapshot was recreated without erased text, and the old snapshot was removed.

    References to the old snapshot now resolve to the new one.
    """

    stays = ("snapshot", "into", "tree", "reason")
    only_caused = "`redact` records it when it erases a text"
    snapshot: str
    """The id of the old snapshot, which is no longer in the store."""
    into: str
    """The id of the new snapshot."""
    tree: str
    """The id of the new snapshot's contents."""
    files: int
    """The number of files from which text was erased."""
    reason: str
    """The reason, without any of the erased text."""


class SnapshotsPruned(AboutSnapshot, frozen=True):
    """Snapshots were removed to free disk space."""

    stays = ("snapshots",)
    only_caused = "`sprintlog store prune` removes them and records it"
    snapshots: tuple[str, ...]
    """The ids of the snapshots, which are no longer in the store."""


SNAPSHOT_EVENTS = events_of(__name__)
