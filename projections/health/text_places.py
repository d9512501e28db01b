"""The kinds of places that keep text: how it is found there, and what can be let go."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import msgspec

from sprintlog.engine.adapters.folders import opened, opened_below
from sprintlog.engine.adapters.snapshots.without_text import inflated, objects_holding
from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import ERASED
from sprintlog.engine.log.stores.descriptors import read_whole
from sprintlog.engine.readable import as_json, readable
from sprintlog.engine.service.place.location import HIDDEN, spool_folders
from sprintlog.engine.service.streams.readings import forget_readings
from sprintlog.engine.service.work_tree.own_paths import OUTPUT, kept_out, transcripts
from sprintlog.engine.service.work_tree.snapshot import shown, store_of

from ..sql import proof
from ..workspace import Workspace

_CHUNK = 1 << 20
FEW = 16
"""So many forms are looked for one by one."""
PIECE_CHARS, PIECES_MAX = 64, 64
"""A longer text is known by pieces of this length, so many of them."""


class Why(Enum):
    """Why text cannot be let go of where it stands."""

    CHAINED = "`redact` erases the text of events"
    FOLLOWS = "it is computed from the events"
    KNOWS_OURS = "it distinguishes our files from edited ones"
    NAMED = "an event names the snapshot; `redact` replaces it"
    IN_USE = "another process reads the log: it is cleared at the next opening"
    NOT_ALONE = "it also contains events that are stored nowhere else"
    NO_TEXT = "it contains no text of users"


class Needle:
    """Texts that are looked for, in all the ways in which they are written down."""

    def __init__(self, *texts: str) -> None:
        if not texts or any(not text or "\n" in text for text in texts):
            raise InvalidInputError("give one line of text", field="text")
        self.wholes = tuple(dict.fromkeys(f for text in texts for f in _forms(text)))
        """The texts verbatim, and as JSON and YAML quote them."""
        pieces = (piece for text in texts for piece in _pieces(text))
        self.forms = tuple(dict.fromkeys(f for piece in pieces for f in _forms(piece)))
        """The same for their needles: long texts may be stored in parts."""
        self._any = re.compile(b"|".join(map(re.escape, self.forms)))

    def is_in(self, content: bytes) -> bool:
        """Return whether bytes hold the text."""
        if len(self.forms) <= FEW:
            return any(form in content for form in self.forms)
        return self._any.search(content) is not None

    def erased_from(self, content: bytes) -> bytes:
        """Return bytes without the texts; where parts of one are left, nothing else is."""
        for form in sorted(self.wholes, key=len, reverse=True):
            content = content.replace(form, ERASED.encode())
        return f"{ERASED}\n".encode() if self.is_in(content) else content

    def is_in_file(self, path: Path) -> bool:
        """Return whether a plain file holds the text, in its name or in its bytes."""
        if self.is_in(os.fsencode(path.name)):
            return True
        before = b""
        with proof.plain_file(path) as file:
            while chunk := file.read(_CHUNK):
                if self.is_in(before + chunk):
                    return True
                before = (before + chunk)[1 - max(map(len, self.forms)) :]
        return False


class Erased(NamedTuple):
    """What became of the places of a text."""

    gone: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    why: Why | None = None
    """Why something is left; None if nothing is."""


class KeptText(msgspec.Struct, frozen=True):
    """One kind of place that keeps text."""

    name: str
    files: tuple[str, ...] = ()
    """The patterns of its files below the log's folder."""
    why: Why | None = None
    """Why text stays in it, where that is so."""
    tables: tuple[str, ...] = ()
    """The parts of the store that are it."""

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return where the text stands."""
        raise NotImplementedError

    def erase(self, workspace: Workspace, needle: Needle) -> Erased:
        """Take the text away where that can be done; caches come back without it."""
        found = self.scan(workspace, needle)
        left = self.let_go(workspace, found, needle) if found else []
        gone = tuple(place for place in found if place not in left)
        return Erased(gone, tuple(left), self.why if left else None)

    def let_go(self, workspace: Workspace, found: list[str], needle: Needle) -> list[str]:
        """Take away what was found, if that can be done; return what stays."""
        return found


class Files(KeptText, frozen=True):
    """Files below the log's folder, of which those that hold the text can be removed."""

    lock: str | None = None
    """The lock under which they come and go; without one they cannot be removed."""
    is_compressed: bool = False

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the files that hold the text."""
        return [
            name
            for name, path in files_in(workspace.location.folder)
            if matches(name, self.files)
            and (needle.is_in_file(path) or (self.is_compressed and _packs(path, needle)))
        ]

    def let_go(self, workspace: Workspace, found: list[str], needle: Needle) -> list[str]:
        """Remove the files that hold the text."""
        if self.lock is None:
            return found
        with workspace.log.locks.hold(self.lock):
            for name in found:
                (workspace.location.folder / name).unlink(missing_ok=True)
        return []


class WaitingEvents(Files, frozen=True):
    """Queued events of sessions: in the log's folder, or in the user's."""

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the files that hold the text, those elsewhere by their whole paths."""
        found = (path for path in self._elsewhere(workspace) if needle.is_in_file(path))
        return [*Files.scan(self, workspace, needle), *map(str, found)]

    def _elsewhere(self, workspace: Workspace) -> Iterator[Path]:
        places = spool_folders(workspace.location, workspace.environment)[1:]
        return (path for place in places if place.is_dir() for _, path in files_in(place))


class Rows(KeptText, frozen=True):
    """The store's derived data; it is made again unless there is a reason to keep it."""

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the rows that hold the text."""
        return [*workspace.log.holding(needle.forms, self.tables)]

    def let_go(self, workspace: Workspace, found: list[str], needle: Needle) -> list[str]:
        """Delete data that can be made again."""
        if self.why is not None:
            return found
        for stream in workspace.log.streams():
            workspace.repository.checkpoints.forget(stream)
            forget_readings(workspace.log, stream)
        return []


class Events(KeptText, frozen=True):
    """The events themselves: payloads and envelopes."""

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the events that hold the text in any field."""
        return [
            f"position {event.position}"
            for event in workspace.log.read()
            if any(map(needle.is_in, _parts(event)))
        ]


class Copy(Files, frozen=True, kw_only=True):
    """A database in the log's folder that is made again on the next query."""

    lock: str

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the files, and the rows, that hold the text."""
        found = Files.scan(self, workspace, needle)
        return [*found, *proof.rows_with(self._database(workspace), needle.forms)]

    def let_go(self, workspace: Workspace, found: list[str], needle: Needle) -> list[str]:
        """Throw the copy away."""
        with workspace.log.locks.hold(self.lock):
            proof.remove(self._database(workspace))
        return []

    def _database(self, workspace: Workspace) -> Path:
        """Return the file that its auxiliary files are named after."""
        return workspace.location.folder / self.files[0].removesuffix("*")


class Snapshots(KeptText, frozen=True):
    """The files of the work tree at the ends of iterations."""

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the files of snapshots that contain the text, and unreferenced objects."""
        store = store_of(workspace)
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

    def let_go(self, workspace: Workspace, found: list[str], needle: Needle) -> list[str]:
        """Delete unreferenced objects; the others are named by events."""
        store = store_of(workspace)
        with store.lock():
            store.tidy()
        return self.scan(workspace, needle)


class Pages(Files, frozen=True):
    """The files of the database, also the space in them that nothing takes any more."""

    def let_go(self, workspace: Workspace, found: list[str], needle: Needle) -> list[str]:
        """Let the store rewrite its files, which drops deleted rows."""
        workspace.log.give_back()
        return self.scan(workspace, needle)


class TreeFiles(KeptText, frozen=True):
    """State files in the work tree, which stay: they follow from the events."""

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the files that hold the text."""
        paths = {*kept_out(workspace)} - {HIDDEN, *_transcript_paths(workspace)}
        return _found_below(workspace, paths, needle)


class ResultFiles(KeptText, frozen=True):
    """The result files of a loop in the work tree."""

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the files that hold the text."""
        return _found_below(workspace, {OUTPUT}, needle)

    def let_go(self, workspace: Workspace, found: list[str], needle: Needle) -> list[str]:
        """Remove those that hold it; `sprintlog restore` puts results there again."""
        remove_from_tree(workspace, found)
        return []


class Transcripts(ResultFiles, frozen=True):
    """What hooks printed, in the folders of their sprints."""

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the transcripts that hold the text."""
        return _found_below(workspace, _transcript_paths(workspace), needle)


def remove_from_tree(workspace: Workspace, paths: Sequence[str]) -> None:
    """Remove our files from the work tree without following links."""
    for path in paths:
        folder, _, name = path.rpartition("/")
        with (
            opened(workspace.location.root) as root,
            opened_below(root, folder) as descriptor,
        ):
            os.unlink(name, dir_fd=descriptor)


def _forms(text: str) -> Iterator[bytes]:
    """Yield a text verbatim, and as JSON, JSON within JSON, and YAML quote it.

    Bytes that are not UTF-8 are also spelt readably, as everything recorded spells them.
    """
    if (spelt := readable(text)) != text:
        quoted = as_json(text)[1:-1]
        yield from (text.encode(errors="surrogateescape"), quoted)
        yield msgspec.json.encode(quoted.decode())[1:-1]
        text = spelt
    quoted = msgspec.json.encode(text)[1:-1]
    yield from (text.encode(errors="surrogateescape"), quoted)
    yield msgspec.json.encode(quoted.decode())[1:-1]
    yield json.dumps(text)[1:-1].encode()
    yield text.replace("'", "''").encode(errors="surrogateescape")


def _pieces(text: str) -> Iterator[str]:
    """Yield what a text is known by: itself, or pieces of it from end to end."""
    if len(text) <= 2 * PIECE_CHARS:
        yield text
        return
    last = len(text) - PIECE_CHARS
    for number in range(PIECES_MAX):
        start = last * number // (PIECES_MAX - 1)
        yield text[start : start + PIECE_CHARS]


def files_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield every plain file below a folder, with its path from there."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(folder).as_posix(), path


def _parts(event: RecordedEvent) -> Iterator[bytes]:
    for field in msgspec.structs.astuple(event):
        if isinstance(field, str | bytes):
            yield field.encode() if isinstance(field, str) else field


def _packs(path: Path, needle: Needle) -> bool:
    return any(map(needle.is_in, inflated(read_whole(path))))


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
    """Return whether a path below the log's folder fits one of some patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
