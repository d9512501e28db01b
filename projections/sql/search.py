"""Full-text search in the journal, with an index derived from the log.

A search updates the index, so recording does not wait for it. The index is a separate
database, because the schema of the log is compared whenever the log is opened, and the
schema of a full-text index depends on the version of SQLite.
"""

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.journal.events import EntryRecorded, LearningAdded
from sprintlog.engine.journal.state import JOURNAL
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.service.workspace import ServiceWorkspace

from ..runner import Mark, catch_up
from .proof import BUSY_SECONDS, prove, proven, remove

if TYPE_CHECKING:
    from sqlite_utils import Database

SEARCH = "search.db"
LOCK = "search.lock"
FORMAT = 1
"""Increase this number when an older index must not be used anymore."""
LEARNING, OBSERVATION, SUMMARY = KINDS = ("learning", "observation", "summary")

_WORD = re.compile(r"[^\W_]+")


class Hit(msgspec.Struct, frozen=True):
    """A journal text that contains every word of the search query."""

    kind: str
    id: str
    """The id of the learning or entry."""
    number: int
    """The number of the observation in the entry, from 1; 0 for other texts."""
    prd_id: str
    title: str
    text: str


def search(
    workspace: ServiceWorkspace, query: str, *, kind: str | None = None, limit: int = 20
) -> list[Hit]:
    """Return the journal texts that contain every word of a query, best match first.

    An index that is missing, damaged or from another log is rebuilt.
    """
    # Individually quoted words have no special meaning in a query.
    words = _WORD.findall(query)
    if not words:
        raise RefusedError("words: required", field="words")
    path = workspace.location.folder / SEARCH
    try:
        with workspace.log.locks.hold(LOCK):
            if proven(path) is None:
                remove(path)
            try:
                return _search(workspace, path, words, kind, limit)
            except sqlite3.DatabaseError:
                remove(path)
                return _search(workspace, path, words, kind, limit)
    except (sqlite3.DatabaseError, OSError):
        # In a read-only folder, the index is built in memory.
        return _search(workspace, None, words, kind, limit)


def forget(workspace: ServiceWorkspace) -> None:
    """Delete the index; the next search creates a new one."""
    with suppress(OSError):
        remove(workspace.location.folder / SEARCH)


def _search(
    workspace: ServiceWorkspace,
    path: Path | None,
    words: list[str],
    kind: str | None,
    limit: int,
) -> list[Hit]:
    # Imported here: the import takes longer than a complete recording command.
    from sqlite_utils import Database

    if path is not None and not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    name = ":memory:" if path is None else str(path)
    with closing(
        sqlite3.connect(name, timeout=BUSY_SECONDS, isolation_level=None)
    ) as connection:
        database = Database(connection, execute_plugins=False)
        connection.execute("BEGIN IMMEDIATE")
        try:
            changed = catch_up(workspace.log, SearchIndex(database))
            connection.execute("COMMIT")
        except BaseException:
            connection.rollback()
            raise
        if changed and path is not None:
            prove(path)
        rows = connection.execute(
            "SELECT t.kind, t.id, t.number, t.prd_id, t.title, t.text FROM texts t"
            " JOIN texts_fts f ON f.rowid = t.rowid"
            " WHERE texts_fts MATCH ? AND (? IS NULL OR t.kind = ?)"
            " ORDER BY f.rank, t.rowid LIMIT ?",
            (" ".join(f'"{word}"' for word in words), kind, kind, limit),
        ).fetchall()
        return [Hit(*row) for row in rows]


class SearchIndex:
    """A projection that indexes the journal's text for searches."""

    name, version, stream = SEARCH, FORMAT, JOURNAL

    def __init__(self, database: "Database") -> None:
        self._database = database

    def mark(self) -> Mark | None:
        """Return the journal version that the index represents."""
        if "known" not in self._database.table_names():
            return None
        found = list(self._database.query("SELECT format, version, hash FROM known"))
        return Mark(*found[0].values()) if found else Mark(FORMAT, 0, b"")

    def begin(self) -> None:
        """Drop the tables, and create them again."""
        for name in ("texts_fts", "texts", "known"):
            self._database.execute(f"DROP TABLE IF EXISTS {name}")
        texts = self._database.table("texts").create(Hit.__annotations__)
        texts.enable_fts(["title", "text"], create_triggers=True)
        self._database.table("known").create({"format": int, "version": int, "hash": bytes})

    def evolve(self, events: Iterable[RecordedEvent]) -> None:
        """Add the searchable text of new events."""
        added = [msgspec.structs.asdict(hit) for event in events for hit in _said(event)]
        if added:
            self._database.table("texts").insert_all(added)

    def keep(self, mark: Mark) -> None:
        """Store the mark; the caller commits the transaction."""
        self._database.execute("DELETE FROM known")
        known = {"format": mark.rules, "version": mark.place, "hash": mark.hash}
        self._database.table("known").insert(known)


def _said(recorded: RecordedEvent) -> Iterator[Hit]:
    """Yield the searchable text of an event, one entry at a time."""
    event = None if recorded.payload is None else CODEC.decode(recorded)
    if isinstance(event, LearningAdded):
        x = event.learning
        yield Hit(LEARNING, x.id, 0, x.source_prd_id, x.content, x.context)
    elif isinstance(event, EntryRecorded):
        entry = event.entry
        if entry.summary:
            yield Hit(SUMMARY, entry.id, 0, entry.prd_id, entry.summary, "")
        for number, o in enumerate(entry.observations, 1):
            yield Hit(OBSERVATION, entry.id, number, entry.prd_id, o.title, o.description)
