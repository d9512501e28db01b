"""The types of places that store text, and how text is found and removed there."""

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
from sprintlog.engine.service.streams.checkpoints import forget_readings
from sprintlog.engine.service.work_tree.own_paths import OUTPUT, kept_out, transcripts
from sprintlog.engine.service.work_tree.snapshot import shown, store_of

from ..sql import proof
from ..workspace import Workspace

_CHUNK = 1 << 20
FEW = 16
"""The maximum number of encodings searched for separately, without a regular expression."""
PIECE_CHARS, PIECES_MAX = 64, 64
"""The length and number of the pieces of a longer text that are searched for."""


class Why(Enum):
    """The reason why text cannot be removed from a place."""

    CHAINED = "`redact` erases the text of events"
    FOLLOWS = "it is computed from the events"
    KNOWS_OURS = "it distinguishes generated files from edited ones"
    NAMED = "an event names the snapshot; `redact` replaces it"
    IN_USE = (
        "another process is reading the log; it is cleared the next time the log is opened"
    )
    NOT_ALONE = "it also contains events that are stored nowhere else"
    NO_TEXT = "it contains no user text"


class Needle:
    """Strings to search for, in all the encodings in which they may be stored."""

    def __init__(self, *texts: str) -> None:
        if not texts or any(not text or "\n" in text for text in texts):
            raise InvalidInputError("must be one line of text", field="text")
        self.wholes = tuple(dict.fromkeys(f for text in texts for f in _forms(text)))
        """The texts verbatim, and as quoted in JSON and YAML."""
        pieces = (piece for text in texts for piece in _pieces(text))
        self.forms = tuple(dict.fromkeys(f for piece in pieces for f in _forms(piece)))
        """The same for their pieces, because long texts may be stored in parts."""
        self._any = re.compile(b"|".join(map(re.escape, self.forms)))

    def is_in(self, content: bytes) -> bool:
        """Return whether the bytes contain one of the strings."""
        if len(self.forms) <= FEW:
            return any(form in content for form in self.forms)
        return self._any.search(content) is not None

    def erased_from(self, content: bytes) -> bytes:
        """Erase the strings from the bytes; if parts remain, return only a marker."""
        for form in sorted(self.wholes, key=len, reverse=True):
            content = content.replace(form, ERASED.encode())
        return f"{ERASED}\n".encode() if self.is_in(content) else content

    def is_in_file(self, path: Path) -> bool:
        """Return whether a plain file's name or content contains one of the strings."""
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
    """The places from which text was erased, and those where it remains."""

    gone: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    why: Why | None = None
    """The reason why text remains; None if none remains."""


class KeptText(msgspec.Struct, frozen=True):
    """A type of place that stores text."""

    name: str
    files: tuple[str, ...] = ()
    """The patterns of the files, relative to the log's folder."""
    why: Why | None = None
    """The reason why text cannot be removed from here; None if it can."""
    tables: tuple[str, ...] = ()
    """The tables of the store that contain the text."""

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the locations of the text."""
        raise NotImplementedError

    def erase(self, workspace: Workspace, needle: Needle) -> Erased:
        """Erase the text if possible; caches are recreated without it."""
        found = self.scan(workspace, needle)
        left = self.let_go(workspace, found, needle) if found else []
        gone = tuple(place for place in found if place not in left)
        return Erased(gone, tuple(left), self.why if left else None)

    def let_go(self, workspace: Workspace, found: list[str], needle: Needle) -> list[str]:
        """Remove the text from the locations if possible; return those that remain."""
        return found


class Files(KeptText, frozen=True):
    """Files below the log's folder; those that contain the text can be removed."""

    lock: str | None = None
    """The lock for changing the files; without a lock, files cannot be removed."""
    is_compressed: bool = False

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the files that contain the text."""
        return [
            name
            for name, path in files_in(workspace.location.folder)
            if matches(name, self.files)
            and (needle.is_in_file(path) or (self.is_compressed and _packs(path, needle)))
        ]

    def let_go(self, workspace: Workspace, found: list[str], needle: Needle) -> list[str]:
        """Remove the files that contain the text."""
        if self.lock is None:
            return found
        with workspace.log.locks.hold(self.lock):
            for name in found:
                (workspace.location.folder / name).unlink(missing_ok=True)
        return []


class WaitingEvents(Files, frozen=True):
    """Spooled session events, in the log's folder or in the user's state folder."""

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the files that contain the text; files elsewhere have absolute paths."""
        places = spool_folders(workspace.location, workspace.environment)[1:]
        paths = (path for place in places if place.is_dir() for _, path in files_in(place))
        found = (path for path in paths if needle.is_in_file(path))
        return [*Files.scan(self, workspace, needle), *map(str, found)]


class Rows(KeptText, frozen=True):
    """Data derived by the store, which is deleted unless it must be preserved."""

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the rows that contain the text."""
        return [*workspace.log.holding(needle.forms, self.tables)]

    def let_go(self, workspace: Workspace, found: list[str], needle: Needle) -> list[str]:
        """Delete the data that can be recomputed."""
        if self.why is not None:
            return found
        for stream in workspace.log.streams():
            workspace.repository.checkpoints.forget(stream)
            forget_readings(workspace.log, stream)
        return []


class Events(KeptText, frozen=True):
    """The payloads and envelopes of events."""

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the events that contain the text in any field."""
        return [
            f"position {event.position}"
            for event in workspace.log.read()
            if any(map(needle.is_in, _parts(event)))
        ]


class Copy(Files, frozen=True, kw_only=True):
    """A database in the log's folder that is recreated by the next query."""

    lock: str

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the files and rows that contain the text."""
        found = Files.scan(self, workspace, needle)
        return [*found, *proof.rows_with(self._database(workspace), needle.forms)]

    def let_go(self, workspace: Workspace, found: list[str], needle: Needle) -> list[str]:
        """Delete the copy."""
        with workspace.log.locks.hold(self.lock):
            proof.remove(self._database(workspace))
        return []

    def _database(self, workspace: Workspace) -> Path:
        """Return the main database file, which determines the auxiliary files' names."""
        return workspace.location.folder / self.files[0].removesuffix("*")


class Snapshots(KeptText, frozen=True):
    """Files from the work tree that are stored in snapshots."""

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the snapshot files that contain the text, and unreferenced objects."""
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
        """Delete unreferenced objects; all other objects are referenced by events."""
        store = store_of(workspace)
        with store.lock():
            store.tidy()
        return self.scan(workspace, needle)


class Pages(Files, frozen=True):
    """The database files, including their unused space."""

    def let_go(self, workspace: Workspace, found: list[str], needle: Needle) -> list[str]:
        """Make the store rewrite its files, which removes deleted rows."""
        workspace.log.give_back()
        return self.scan(workspace, needle)


class TreeFiles(KeptText, frozen=True):
    """State files in the work tree, which contain the text as long as the events do."""

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the files that contain the text."""
        paths = {*kept_out(workspace)} - {HIDDEN, *_transcript_paths(workspace)}
        return _found_below(workspace, paths, needle)


class ResultFiles(KeptText, frozen=True):
    """A loop's result files in the work tree."""

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the files that contain the text."""
        return _found_below(workspace, {OUTPUT}, needle)

    def let_go(self, workspace: Workspace, found: list[str], needle: Needle) -> list[str]:
        """Remove the files with the text; `sprintlog restore` can recreate them."""
        remove_from_tree(workspace, found)
        return []


class Transcripts(ResultFiles, frozen=True):
    """The output of hooks, in the folders of their sprints."""

    def scan(self, workspace: Workspace, needle: Needle) -> list[str]:
        """Return the transcripts that contain the text."""
        return _found_below(workspace, _transcript_paths(workspace), needle)


def remove_from_tree(workspace: Workspace, paths: Sequence[str]) -> None:
    """Remove sprintlog's files from the work tree, without following links."""
    for path in paths:
        folder, _, name = path.rpartition("/")
        with (
            opened(workspace.location.root) as root,
            opened_below(root, folder) as descriptor,
        ):
            os.unlink(name, dir_fd=descriptor)


def _forms(text: str) -> Iterator[bytes]:
    """Yield the text verbatim, and as quoted in JSON, in JSON within JSON, and in YAML.

    Bytes that are not valid UTF-8 are also yielded in the escaped format used in records.
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
    """Yield the text or, if it is long, pieces distributed over its full length."""
    if len(text) <= 2 * PIECE_CHARS:
        yield text
        return
    last = len(text) - PIECE_CHARS
    for number in range(PIECES_MAX):
        start = last * number // (PIECES_MAX - 1)
        yield text[start : start + PIECE_CHARS]


def files_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the plain files below a folder, each preceded by its relative path."""
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
    """Return the plain files at or below the given paths that contain the text."""
    root = workspace.location.root
    found = []
    for path in map(root.joinpath, sorted(paths)):
        if path.is_dir() and not path.is_symlink():
            found += [one for _, one in files_in(path) if needle.is_in_file(one)]
        elif path.is_file() and not path.is_symlink() and needle.is_in_file(path):
            found.append(path)
    return [path.relative_to(root).as_posix() for path in found]


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Return whether a path below the log's folder matches any of the patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
