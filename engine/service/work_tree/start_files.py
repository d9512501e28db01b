"""The files at the start of an iteration or run, to determine its changes."""

import os
import time
from collections.abc import Callable
from math import inf
from pathlib import Path

from msgspec.structs import replace

from ...adapters.git import repositories, untrusted
from ...adapters.snapshots.entries import Listing
from ...adapters.snapshots.listing import SPECIAL, WantedPaths, list_tree, unseen
from ...command import decided
from ...errors import SprintlogError
from ...sprint.events import OF_MOMENT, IterationStarted, SnapshotTaken
from ...sprint.iterations.snapshots import TakeSnapshot, files_now
from ...sprint.state.knowledge import HeldSnapshot
from ...sprint.state.sprint import open_iteration
from ..port import Decide, Envelope, Service
from ..streams.catalogue import CODEC, sprint_stream
from .own_paths import for_people, kept_out
from .snapshot import kept_files, limits_of

WRAP_SECONDS_MAX = 1.0
CLOCK_TICK_NS = 20_000_000
"""The maximum delay in nanoseconds of the times that a kernel sets."""


def files_at_start(
    workspace: Service,
    sprint_id: str,
    *,
    envelope: Envelope,
    is_late: Callable[[], bool] = bool,
) -> str | None:
    """Return the snapshot of the files at the start of an iteration.

    This is the latest snapshot if the work tree still contains its files. Otherwise, or if
    another iteration is open, a new snapshot is taken and recorded, so that earlier and
    later changes remain separate. Return None if `is_late`, which is called after the files
    are read, returns true: the agent may have started to edit them.
    """
    workspace.finish_restores(workspace.sprint(sprint_id))
    sprint = workspace.sprint(sprint_id)
    last = files_now(sprint, tree=workspace.tree)
    goes_on = open_iteration(sprint.plan) is not None
    tree = "" if last is None or goes_on else _content_of(workspace, sprint_id, last)
    held = kept_files(workspace, sprint_id, at=envelope.get("at"), last=tree)
    with held as (taken, event_for):
        if is_late():
            return None
        if last is not None and taken.tree == tree:
            return last.snapshot
        event = event_for(sprint)
        if event.iteration:
            event = replace(event, purpose=OF_MOMENT)
        workspace.handle_with(
            sprint_id, lambda sprint, at: TakeSnapshot(event).decide(sprint, at), **envelope
        )
        return event.snapshot


def is_untouched(workspace: Service, *, since_ms: int) -> bool:
    """Return whether no file has changed since a time in milliseconds since 1970."""
    return _listing(workspace, since_ms, seconds_max=inf) is not None


def equals(workspace: Service, sprint_id: str, snapshot: str) -> bool:
    """Return whether the work tree still contains the files of a recorded snapshot."""
    known = workspace.sprint(sprint_id).knowledge.snapshots
    held = next((one for one in known if one.snapshot == snapshot), None)
    tree = "" if held is None else _content_of(workspace, sprint_id, held)
    with kept_files(workspace, sprint_id, last=tree) as (taken, _):
        return bool(taken.tree == tree)


def _content_of(workspace: Service, sprint_id: str, held: HeldSnapshot) -> str:
    """Return the id of a snapshot's content; an empty string if a redaction changed it."""
    stream, at = sprint_stream(sprint_id), held.version
    for recorded in workspace.log.read_stream(stream, after=at - 1, until=at):
        event = CODEC.decode(recorded)
        if isinstance(event, SnapshotTaken) and event.snapshot == held.snapshot:
            return event.tree
    return ""


def begun_with(command: Decide, files: str | None) -> Decide:
    """Return a decision that records the start snapshot in a command's iteration."""
    return lambda sprint, at: [
        replace(event, before=files) if isinstance(event, IterationStarted) else event
        for event in decided(command, sprint, at)
    ]


class ListedFiles:
    """The files of the work tree before a run, to detect changes without reading them.

    A file is unchanged if its mode, size, inode and change time are the same. If anything
    has changed since `since_ms`, the files before the run are unknown.
    """

    def __init__(self, workspace: Service, *, since_ms: int | None = None) -> None:
        self._workspace = workspace
        self._before = _listing(workspace, since_ms)

    def changed(self) -> bool | None:
        """Return whether any file has changed; None if that is unknown."""
        if (before := self._before) is None or (after := _listing(self._workspace)) is None:
            return None
        if (before.files, before.marks) != (after.files, after.marks):
            return True
        # The contents of a nested repository, for example, are not listed.
        return False if all(one.reason == SPECIAL for one in after.left_out) else None

    def altered(self, counts: Callable[[str], bool]) -> list[str]:
        """Return the paths that have changed since and `counts`, or that git tracks."""
        before, after = self._before, _listing(self._workspace)
        if before is None or after is None:
            return []
        found = [p for p, stat in before.files.items() if after.files.get(p) != stat]
        tracked = _tracked(self._workspace) if found else set()
        return sorted(p for p in found if tracked is None or p in tracked or counts(p))


def _tracked(workspace: Service) -> set[str] | None:
    """Return the paths that git tracks; None if git cannot answer."""
    root = workspace.location.root
    try:
        if (repository := repositories.repository_around(root)) is None:
            return set()
        above = root.resolve().relative_to(repository.top.resolve())
        with untrusted.borrowed(repository, workspace.environment) as git:
            told = git.read_tree("ls-files", "-z")
    except (SprintlogError, OSError, ValueError):
        return None
    prefix = "" if above == Path() else f"{above.as_posix()}/"
    paths = os.fsdecode(told).split("\0")
    return {path.removeprefix(prefix) for path in paths if path.startswith(prefix)}


def _listing(
    workspace: Service,
    since_ms: int | None = None,
    *,
    seconds_max: float = WRAP_SECONDS_MAX,
) -> Listing | None:
    """Return the work tree's files except ignored ones and sprintlog's; None if unknown.

    Return None as well if a file or the entries of a folder have changed since a time, or
    if the listing took too long to repeat it at the end of a wrapped command.
    """
    began = time.monotonic()
    root, ignored, problem = workspace.location.root, frozenset[str](), None
    try:
        if (repository := repositories.repository_around(root)) is not None:
            with untrusted.borrowed(repository, workspace.environment) as git:
                ignored, problem = unseen(git, root)
        log, patterns = workspace.location.folder.stat(), limits_of(workspace).patterns
        without = frozenset({(log.st_dev, log.st_ino)})
        own = kept_out(workspace) | for_people(workspace)
        found = list_tree(root, WantedPaths(ignored, patterns, without=without, own=own))
        if since_ms is not None:
            times = [status[2] for status in found.files.values()]
            times += [os.lstat(root / name).st_mtime_ns for name in ("", *found.folders)]
            is_slow = time.monotonic() - began > seconds_max
            if is_slow or max(times) >= since_ms * 1_000_000 - CLOCK_TICK_NS:
                return None
    except (SprintlogError, OSError):
        return None
    return found if problem is None else None
