"""Logs to be damaged: as bytes, with their current and earlier contents."""

import os
import random
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.sprint.events import NoteAdded, PhaseCompleted
from sprintlog.engine.sprint.state.sprint import STATE_FORMAT, pack, unpack
from sprintlog.projections import Workspace
from tests.kept_states import keep_only

from . import children
from .ledger import make_sprints

DATABASE, WAL, HEAD = "log.db", "log.db-wal", "log.db-head"
SPRINTS = ["north", "south"]
DAYS = 5
FOLDER = ".sprintlog"
STREAMS = [f"sprint/{name}".encode() for name in SPRINTS]
STATE_FILES = [f"{name}/PROGRESS.yaml".encode() for name in SPRINTS]

Files = Mapping[str, bytes]
"""The files of a log's folder by name."""

# SQLite may quote damaged bytes in a message that Python then cannot decode.
_UNREADABLE = (sqlite3.Error, OverflowError, UnicodeDecodeError)


class Specimen(NamedTuple):
    """An intact log on the disk."""

    root: Path
    files: Files
    yesterdays: list[Files]
    """The same at earlier times, oldest first."""
    events: int
    """The page that leads to all pages of events."""
    indexes: list[int]
    """The pages on which the indexes of the events begin."""
    caches: list[int]
    """The pages on which saved states and digests begin."""


class Truth(NamedTuple):
    """The content of a database, read without the product's code."""

    events: list[Any]
    indexes: list[Any]
    """What each index says; nothing for one that cannot be read."""
    caches: list[Any]


_EVENTS = "SELECT * FROM events NOT INDEXED ORDER BY position"
_INDEXES = (
    "SELECT stream, version, position FROM events INDEXED BY sqlite_autoindex_events_1"
    " ORDER BY stream, version",
    "SELECT key, position FROM events INDEXED BY events_key"
    " WHERE key IS NOT NULL ORDER BY key",
)
_CACHES = (
    "SELECT * FROM checkpoints ORDER BY stream, version",
    "SELECT * FROM written ORDER BY path, digest",
    "SELECT * FROM statuses ORDER BY stream",
)


def make_specimen(root: Path, *, events: int, live: bool) -> Specimen:
    """Create a log in stages; a live one has its last events in the write-ahead log."""
    body = partial(_make, root)
    yesterdays = []
    for day in range(DAYS):
        ends = not live or day < DAYS - 1
        stage = partial(body, day, events // DAYS, ends)
        errors = root.parent / "errors"
        code, _ = children.run(stage, root=root.parent, errors=errors)
        if code != 0:
            raise AssertionError(f"the specimen was not made: {errors.read_text()[-600:]}")
        yesterdays.append(read_files(root))
    files = yesterdays.pop()
    return Specimen(root, files, yesterdays, *_pages(root, files))


def _pages(root: Path, files: Files) -> tuple[int, list[int], list[int]]:
    copy = root.with_name(f"{root.name}-pages")
    copy.mkdir()
    put(copy, files)
    with closing(sqlite3.connect(copy / DATABASE)) as connection:
        rows = connection.execute(
            "SELECT rootpage, name FROM sqlite_master WHERE rootpage > 0"
            " AND tbl_name IN ('events', 'checkpoints', 'written')"
        ).fetchall()
    places = {name: page for page, name in rows}
    caches = [places.pop("checkpoints"), places.pop("written")]
    return places.pop("events"), list(places.values()), caches


def read_files(root: Path) -> Files:
    """Return the log's files; SQLite creates its shared memory again."""
    names = (DATABASE, WAL, HEAD)
    paths = [root / FOLDER / name for name in names]
    return {path.name: path.read_bytes() for path in paths if path.exists()}


def put(folder: Path, files: Files) -> None:
    """Make these the only files in a log's folder."""
    for path in folder.iterdir():
        if path.is_file():
            path.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def read_truth(database: Path) -> Truth | None:
    """Return the contents of a database, or None if SQLite cannot read its events.

    Every access path is read separately: the table, and each index that readers use.
    """
    try:
        connection = sqlite3.connect(database, timeout=0)
        with closing(connection):
            connection.text_factory = bytes
            return Truth(
                connection.execute(_EVENTS).fetchall(),
                _read_all(connection, _INDEXES),
                _read_all(connection, _CACHES),
            )
    except _UNREADABLE:
        return None


def misleads(whole: Truth, truth: Truth) -> bool:
    """Return whether these caches would cause a wrong answer.

    A missing or unreadable saved state is computed again. Only the newest digest of each
    file counts, because every session ends by writing it.
    """
    states, before = _states(truth), _states(whole)
    wrong = any(state != before.get(place) for place, state in states.items())
    return wrong or _newest(truth) != _newest(whole)


def _states(truth: Truth) -> dict[Any, bytes]:
    """Return the saved states that a reader would use, as it would decode them."""
    found = {}
    for stream, version, form, state in truth.caches[0]:
        if form == STATE_FORMAT and stream in STREAMS:
            try:
                found[stream, version] = pack(unpack(state))
            except (msgspec.MsgspecError, ValueError):
                continue
    return found


def _newest(truth: Truth) -> list[Any]:
    rows = [row for row in truth.caches[1] if row[0] in STATE_FILES]
    newest = {path: max(row[2] for row in rows if row[0] == path) for path, *_ in rows}
    return sorted(row for row in rows if row[2] == newest[row[0]])


def _read_all(connection: sqlite3.Connection, queries: Sequence[str]) -> list[Any]:
    found = []
    for query in queries:
        try:
            found.append(connection.execute(query).fetchall())
        except _UNREADABLE:
            found.append([])
    return found


def _make(root: Path, day: int, events: int, ends: bool) -> int:
    """Record a day's events; a process that does not end cleanly leaves its journal."""
    if day == 0:
        make_sprints(root, SPRINTS)
    chance = random.Random(day)
    workspace = Workspace.open(root)
    for number in range(events):
        text = f"{day} {number} " + "word " * chance.randrange(60)
        event = NoteAdded(text) if number % 2 else PhaseCompleted(f"phase-{day % 4}", text)
        key = f"key-{day}-{number}" if number % 3 == 0 else None
        workspace.handle_with(
            chance.choice(SPRINTS),
            lambda sprint, at, event=event: [event],  # type: ignore[misc]
            key=key,
            key_digest=b"digest" if key else None,
            observed=True,
        )
    for name in SPRINTS:
        keep_only(workspace.repository, workspace.sprint(name))
        workspace.refresh(name)
    if not ends:
        os._exit(0)
    workspace.close()
    return 0
