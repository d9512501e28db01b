"""Sprintlog's own paths in a work tree, which are not agents' work and never restored.

State files are derived from the log, so no snapshot contains them. PROGRESS.yaml refers to
the output of hooks, even after a rollback, and that output cannot be generated again.

A page or an export that a user wrote into the work tree is not an agent's work either, as
long as the file is unchanged; an agent's edits to it are work.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from ... import hashes
from ...adapters import folders, replace
from ...errors import SprintlogError
from ...journal.events import PLACE
from ...sprint.events import HookTaskSpawned
from ...sprint.iterations.hook_tasks import tasks_of
from ...sprint.state.document_fields import hooks_of
from ...sprint.state.sprint import Sprint
from ..place.location import CHECKSUM_SUFFIX, HIDDEN, LOOPS
from ..port import Service

OUTPUT = ".aiwg/output"
"""The default folder for a loop's result, relative to the work tree's root."""
_FOR_PEOPLE = "/for people/"
"""The prefix of the keys of pages and exports; no state file's key starts with it."""
FILE_BYTES_MAX = 64 * 1024 * 1024
"""The maximum size of a file that is checked again; snapshots omit larger files."""


def kept_out(workspace: Service) -> frozenset[str]:
    """Return the files and folders excluded from snapshots in all work trees of the log."""
    own = {HIDDEN, LOOPS, *_written(workspace.journal().place or PLACE)}
    for name in workspace.sprints():
        sprint = workspace.sprint(name)
        if sprint.plan.place is not None:
            path = sprint.plan.place.path
            own |= {*_written(path), *_written(path + CHECKSUM_SUFFIX)}
            own |= {*transcripts(workspace, sprint)}
    return frozenset(own)


def own_paths(workspace: Service) -> frozenset[str]:
    """Return all paths that are not an agent's work, including the copy of the result."""
    return kept_out(workspace) | {OUTPUT}


def for_people(workspace: Service) -> frozenset[str]:
    """Return the unchanged pages and exports that were written for people."""
    begin = _FOR_PEOPLE + workspace.location.worktree
    known = {key: _path_of(key, begin) for key in workspace.log.digests.below(begin)}
    return frozenset(
        path
        for key, path in known.items()
        if (digest := _digest(workspace, path)) is not None
        and workspace.log.digests.since(key, digest) is not None
    )


def know_for_people(workspace: Service, file: Path) -> None:
    """Record a page or export that was just written, if it is in the work tree."""
    root = workspace.location.root.resolve()
    # Snapshots do not follow links.
    place = file.parent.resolve() / file.name
    if not place.is_relative_to(root):
        return
    path = place.relative_to(root).as_posix()
    if (digest := _digest(workspace, path)) is None:
        return
    # Without a writable log there are no snapshots.
    with suppress(SprintlogError):
        key = _key_of(path, _FOR_PEOPLE + workspace.location.worktree)
        workspace.log.digests.forget(key)
        workspace.log.digests.know(key, digest, version=0)


def _key_of(path: str, begin: str) -> str:
    """Return the key for a path, with the bytes of its name encoded as text."""
    return f"{begin}/{os.fsencode(path).decode('latin-1')}"


def _path_of(key: str, begin: str) -> str:
    return os.fsdecode(key.removeprefix(f"{begin}/").encode("latin-1"))


def _digest(workspace: Service, path: str) -> bytes | None:
    """Return the digest of a plain file not reached through a link, otherwise None."""
    folder, _, name = path.rpartition("/")
    with (
        suppress(OSError),
        folders.opened(workspace.location.root) as root,
        folders.opened_below(root, folder) as inner,
    ):
        content = folders.read_plain(name, at_most=FILE_BYTES_MAX + 1, folder=inner)
        if len(content) <= FILE_BYTES_MAX:
            return hashes.sha256(content).digest()
    return None


def _written(path: str) -> Iterator[str]:
    """Yield a path that is replaced atomically, and the paths of possible leftovers."""
    place = PurePosixPath(path)
    yield from (path, *(str(place.with_name(p.name)) for p in replace.unfinished(place)))


def transcripts(workspace: Service, sprint: Sprint) -> Iterator[str]:
    """Yield the paths of hook output in the sprint's folder."""
    document, place = sprint.plan.document, sprint.plan.place
    if place is None:
        return
    folder = PurePosixPath(place.path).parent
    named = [task.get("transcript") for task in tasks_of(document).values()]
    # Only hooks justify reading all events.
    if named or hooks_of(document):
        spawned = workspace.repository.events(sprint.id, HookTaskSpawned)
        named += [event.transcript for event in spawned]
    yield from (str(folder / name) for name in named if isinstance(name, str) and name)
