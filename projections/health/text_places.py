"""The kinds of places that keep text: how it is found there, and what can be let go."""

import os
from collections.abc import Iterator, Sequence
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from sprintlog.engine.adapters.folders import opened, opened_below
from sprintlog.engine.adapters.snapshots.object_search import inflated, objects_holding
from sprintlog.engine.adapters.snapshots.store import STORE
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.stores.descriptors import read_whole
from sprintlog.engine.service.place.location import HIDDEN
from sprintlog.engine.service.work_tree.own_paths import OUTPUT, kept_out, transcripts
from sprintlog.engine.service.work_tree.snapshot import FOLDER as SNAPSHOTS
from sprintlog.engine.service.work_tree.snapshot import shown, store_of

from ..sql import proof
from ..workspace import Workspace
from .needle import Needle, files_in


class Why(Enum):
    """Why text cannot be let go of where it stands."""

    CHAINED = "events are never changed: the store cannot take the text out of one yet"
    FOLLOWS = "it follows from the events, and is as they are"
    KNOWS_OURS = "it tells our files from those that somebody edited"
    NAMED = "an event names the snapshot; `sprintlog iteration prune` lets old ones go"
    NOT_VACUUMED = "the store cannot make the room of deleted rows empty yet"
    TREES_OWN = "it is a file of the work tree, like those that people make"
    NOT_ALONE = "other events that are nowhere else stand beside it"
    NO_TEXT = "nobody's words get there"


class Erased(NamedTuple):
    """What became of the places of a text."""

    gone: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    why: Why | None = None
    """Why something is left; None where nothing is."""


def _left(found: Sequence[str], why: Why | None) -> Erased:
    """Return that nothing became of these places."""
    return Erased((), tuple(found), why if found else None)


class KeptText(Protocol):
    """One kind of place that keeps text."""

    @property
    def name(self) -> str:
        """Return what it is called."""

    @property
    def files(self) -> tuple[str, ...]:
        """Return the patterns of its files below the log's folder."""

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return where the text stands."""

    def erase(self, workspace: Workspace, needle: Needle) -> Erased:
        """Take the text away where that can be done; caches come back without it."""


class Files(NamedTuple):
    """Files below the log's folder, of which those that hold the text can be removed."""

    name: str
    files: tuple[str, ...]
    lock: str | None = None
    """The lock under which they come and go."""
    why: Why | None = None
    """Why they cannot be removed, where that is so."""
    is_compressed: bool = False

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the files that hold the text."""
        return [name for name, _ in self._found(workspace, needle)]

    def erase(self, workspace: Workspace, needle: Needle) -> Erased:
        """Remove the files that hold the text."""
        found = self._found(workspace, needle)
        names = tuple(name for name, _ in found)
        if not found or self.lock is None:
            return _left(names, self.why)
        with workspace.log.locks.hold(self.lock):
            for _, path in found:
                path.unlink(missing_ok=True)
        return Erased(names)

    def _found(self, workspace: Workspace, needle: Needle) -> list[tuple[str, Path]]:
        return [
            (name, path)
            for name, path in files_in(workspace.location.folder)
            if matches(name, self.files)
            and (needle.is_in_file(path) or (self.is_compressed and _packs(path, needle)))
        ]


class Rows(NamedTuple):
    """What the store keeps beside the events."""

    name: str
    tables: tuple[str, ...]
    why: Why | None = None
    """Why rows stay; None for those that are made anew when they are missed."""
    files: tuple[str, ...] = ()

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the rows that hold the text."""
        return [*workspace.log.holding(needle.forms, self.tables)]

    def erase(self, workspace: Workspace, needle: Needle) -> Erased:
        """Throw away what can be made anew."""
        found = self.scan(workspace, needle)
        if self.why is not None:
            return _left(found, self.why)
        for stream in workspace.log.streams() if found else ():
            workspace.reader.checkpoints.forget(stream)
        return Erased(tuple(found))


class Events(NamedTuple):
    """The events themselves: payloads, and what stands around them."""

    name: str = "events"
    files: tuple[str, ...] = ()
    tables: tuple[str, ...] = ("events",)

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the events that hold the text in any field."""
        return [
            f"position {event.position}"
            for event in workspace.log.read()
            if any(map(needle.is_in, _parts(event)))
        ]

    def erase(self, workspace: Workspace, needle: Needle) -> Erased:
        """Leave them: what is in the chain cannot be taken out yet."""
        return _left(self.scan(workspace, needle), Why.CHAINED)


class Copy(NamedTuple):
    """A database beside the log that is made anew when somebody asks it."""

    name: str
    database: str
    lock: str

    @property
    def files(self) -> tuple[str, ...]:
        """Return the patterns of its files."""
        return (f"{self.database}*",)

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the files, and the rows, that hold the text."""
        folder = workspace.location.folder
        found = Files(self.name, self.files).scan(workspace, needle)
        found += proof.rows_with(folder / self.database, needle.forms)
        return found

    def erase(self, workspace: Workspace, needle: Needle) -> Erased:
        """Throw the copy away."""
        found = tuple(self.scan(workspace, needle))
        folder = workspace.location.folder
        if found:
            with workspace.log.locks.hold(self.lock):
                proof.remove(folder / self.database)
        return Erased(found)


class Snapshots(NamedTuple):
    """The files of the work tree as they were at the ends of iterations."""

    name: str = "snapshots"
    files: tuple[str, ...] = (f"{SNAPSHOTS}/{STORE}/*", f"{SNAPSHOTS}/store.new/*")

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the files of snapshots that hold the text, and what is of none."""
        store = store_of(workspace, workspace.environment)
        if not store.exists:
            return []
        oids = {*objects_holding(store.git, needle.forms)}
        found = {
            f"snapshot {commit[:12]}: {shown(path)}": entry.oid
            for commit in (store.snapshots() if oids else ())
            for path, entry in store.read(commit).files.items()
            if entry.oid in oids
        }
        return [*found, *(f"object {oid}" for oid in sorted(oids - {*found.values()}))]

    def erase(self, workspace: Workspace, needle: Needle) -> Erased:
        """Let go of what no snapshot holds any more; the others are named by events."""
        store = store_of(workspace, workspace.environment)
        if not (found := self.scan(workspace, needle)):
            return Erased()
        with store.lock():
            store.tidy()
        left = self.scan(workspace, needle)
        gone = tuple(place for place in found if place not in left)
        return Erased(gone, tuple(left), Why.NAMED if left else None)


class TreeFiles(NamedTuple):
    """Files of ours in the work tree, which stay: they follow, or are of the tree."""

    name: str
    why: Why
    files: tuple[str, ...] = ()

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the files that hold the text."""
        paths = {OUTPUT} if self.why is Why.TREES_OWN else _state_paths(workspace)
        return _found_below(workspace, paths, needle)

    def erase(self, workspace: Workspace, needle: Needle) -> Erased:
        """Leave them, and say why."""
        return _left(self.scan(workspace, needle), self.why)


class Transcripts(NamedTuple):
    """What hooks printed, in the folders of their sprints."""

    name: str = "transcripts"
    files: tuple[str, ...] = ()

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the transcripts that hold the text."""
        return _found_below(workspace, _transcript_paths(workspace), needle)

    def erase(self, workspace: Workspace, needle: Needle) -> Erased:
        """Remove those that hold it; nobody could write them again."""
        found = self.scan(workspace, needle)
        for path in found:
            folder, _, name = path.rpartition("/")
            with (
                opened(workspace.location.root) as root,
                opened_below(root, folder) as descriptor,
            ):
                os.unlink(name, dir_fd=descriptor)
        return Erased(tuple(found))


def _parts(event: RecordedEvent) -> Iterator[bytes]:
    for field in msgspec.structs.astuple(event):
        if isinstance(field, str | bytes):
            yield field.encode() if isinstance(field, str) else field


def _packs(path: Path, needle: Needle) -> bool:
    return any(map(needle.is_in, inflated(read_whole(path))))


def _state_paths(workspace: Workspace) -> set[str]:
    """Return the files and folders that follow from the log, in this work tree."""
    return {*kept_out(workspace)} - {HIDDEN, *_transcript_paths(workspace)}


def _transcript_paths(workspace: Workspace) -> set[str]:
    sprints = (workspace.sprint(name) for name in workspace.sprints())
    return {path for sprint in sprints for path in transcripts(workspace, sprint)}


def _found_below(workspace: Workspace, paths: set[str], needle: Needle) -> list[str]:
    """Return which plain files of the work tree, at or below some paths, hold a text."""
    root = workspace.location.root
    found = []
    for path in map(root.joinpath, sorted(paths)):
        if path.is_dir() and not path.is_symlink():
            found += [one for _, one in files_in(path) if needle.is_in_file(one)]
        elif path.is_file() and not path.is_symlink() and needle.is_in_file(path):
            found.append(path)
    return [path.relative_to(root).as_posix() for path in found]


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Tell whether a path below the log's folder fits one of some patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
