"""Full-text search in the journal and in iterations, with an index derived from the log.

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
from typing import TYPE_CHECKING, Any

import msgspec

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.journal.events import EntryRecorded, LearningAdded
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_of
from sprintlog.engine.service.workspace import ServiceWorkspace
from sprintlog.engine.sessions import events as s
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.state.times import parse

from ..runner import Mark, catch_up
from .proof import BUSY_SECONDS, prove, proven, remove

if TYPE_CHECKING:
    from sqlite_utils import Database

SEARCH = "search.db"
LOCK = "search.lock"
FORMAT = 2
"""Increase this number when an older index must not be used anymore."""
LEARNING, OBSERVATION, SUMMARY = KINDS = ("learning", "observation", "summary")
TEXT_CHARS_MAX = 20_000
"""The maximum length of the text of an iteration that is indexed."""

_WORD, _MARKS = re.compile(r"[^\W_]+"), re.compile("[\x02\x03]")


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


class _Row(Hit, frozen=True):
    """A row of the index.

    Without an `id`, `prd_id` and `number` are a sprint and an iteration. Rows
    whose kind is the type of an event have no text: they are an iteration's bounds.
    """

    work: str = ""
    """The correlation id, by which the text of a session is part of an iteration."""
    at: int = 0
    """In milliseconds."""


Rows = list[tuple[Any, ...]]
Found = tuple[str, str, list[int], list[str]]
"""The kind of a result, its sprint, its iterations (0: outside iterations), and the text
around the words, in pieces: every second piece is a found word."""


def search(
    workspace: ServiceWorkspace, query: str, *, kind: str | None = None, limit: int = 20
) -> list[Hit]:
    """Return the journal texts that contain every word of a query, best match first.

    An index that is missing, damaged or from another log is rebuilt.
    """
    asked = (
        "SELECT t.kind, t.id, t.number, t.prd_id, t.title, t.text FROM texts t"
        " JOIN texts_fts f ON f.rowid = t.rowid WHERE texts_fts MATCH ? AND t.id != ''"
        " AND ? IN (t.kind, '') ORDER BY f.rank, t.rowid LIMIT ?"
    )
    return [Hit(*row) for row in _rows(workspace, query, asked, kind or "", limit)]


def search_sprints(workspace: ServiceWorkspace, query: str, limit: int) -> list[Found]:
    """Return the texts of sprints and of the journal that contain every word of a query."""
    return [
        (kind, sprint, sorted(map(int, n.split(","))), _MARKS.split(" ".join(x.split())))
        for kind, sprint, n, x in _rows(workspace, query, _IN_SPRINTS, limit)
    ]


def _rows(workspace: ServiceWorkspace, query: str, asked: str, *given: object) -> Rows:
    """Return the rows that a statement selects from the updated index."""
    # Individually quoted words have no special meaning in a query.
    words = [f'"{word}"' for word in _WORD.findall(query)]
    if not words:
        raise RefusedError("words: required", field="words")
    values = (" ".join(words), *given)
    path = workspace.location.folder / SEARCH
    try:
        with workspace.log.locks.hold(LOCK):
            if proven(path) is None:
                remove(path)
            try:
                return _search(workspace, path, asked, values)
            except sqlite3.DatabaseError:
                remove(path)
                return _search(workspace, path, asked, values)
    except (sqlite3.DatabaseError, OSError):
        # In a read-only folder, the index is built in memory.
        return _search(workspace, None, asked, values)


def forget(workspace: ServiceWorkspace) -> None:
    """Delete the index; the next search creates a new one."""
    with suppress(OSError):
        remove(workspace.location.folder / SEARCH)


_IN_SPRINTS = """
WITH found AS (
  SELECT t.*, f.rank AS place, snippet(texts_fts, -1, char(2), char(3), '…', 24) AS excerpt
  FROM texts t JOIN texts_fts f ON f.rowid = t.rowid
  WHERE texts_fts MATCH ? ORDER BY f.rank, t.rowid LIMIT 1000)
SELECT t.kind, ifnull(i.prd_id, t.prd_id) AS sprint,
  group_concat(DISTINCT ifnull(i.number, iif(t.id = '', t.number, 0))), t.excerpt
FROM found t LEFT JOIN texts i ON i.rowid = (SELECT b.rowid FROM texts b
  WHERE t.prd_id = '' AND b.work = t.work AND b.at <= t.at + 2000 AND (
    b.kind = 'iteration-started' OR b.kind = 'iteration-ended' AND b.at < t.at - 2000)
  ORDER BY b.at DESC, b.rowid DESC LIMIT 1)
WHERE t.id || t.prd_id != '' OR i.kind = 'iteration-started'
GROUP BY t.kind, sprint, t.excerpt ORDER BY min(t.place) LIMIT ?
"""
"""Hooks record the events of a session up to 2 seconds outside its iteration."""


def _search(
    workspace: ServiceWorkspace, path: Path | None, asked: str, values: tuple[object, ...]
) -> Rows:
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
        return connection.execute(asked, values).fetchall()


class SearchIndex:
    """A projection that indexes the log's text for searches."""

    version, stream = FORMAT, None

    def __init__(self, database: "Database") -> None:
        self._database = database

    def mark(self) -> Mark | None:
        """Return the position that the index represents."""
        if "known" not in self._database.table_names():
            return None
        found = list(self._database.query("SELECT format, version, hash FROM known"))
        return Mark(*found[0].values()) if found else Mark(FORMAT, 0, b"")

    def begin(self) -> None:
        """Drop the tables, and create them again."""
        for name in ("texts_fts", "texts", "known"):
            self._database.execute(f"DROP TABLE IF EXISTS {name}")
        columns = Hit.__annotations__ | _Row.__annotations__
        texts = self._database.table("texts").create(columns)
        texts.create_index(["work", "at"])
        texts.enable_fts(["title", "text"], create_triggers=True)
        self._database.table("known").create({"format": int, "version": int, "hash": bytes})

    def evolve(self, events: Iterable[RecordedEvent]) -> None:
        """Add the searchable text of new events."""
        added = (msgspec.structs.asdict(row) for event in events for row in _said(event))
        self._database.table("texts").insert_all(added)

    def keep(self, mark: Mark) -> None:
        """Store the mark; the caller commits the transaction."""
        self._database.execute("DELETE FROM known")
        known = {"format": mark.rules, "version": mark.place, "hash": mark.hash}
        self._database.table("known").insert(known)


def _said(recorded: RecordedEvent) -> Iterator[_Row]:
    """Yield the searchable text of an event, one entry at a time."""
    event = None if recorded.payload is None else CODEC.decode(recorded)
    sprint, work = sprint_of(recorded.stream) or "", recorded.correlation_id or ""

    def row(kind: str, title: str, number: int = 0) -> _Row:
        at = round(parse(recorded.at).timestamp() * 1000)
        return _Row(kind, "", number, sprint, title, "", work, at)

    match event:
        case LearningAdded(learning=x):
            yield _Row(LEARNING, x.id, 0, x.source_prd_id, x.content, x.context)
        case EntryRecorded(entry=e):
            if e.summary:
                yield _Row(SUMMARY, e.id, 0, e.prd_id, e.summary, "")
            for n, o in enumerate(e.observations, 1):
                yield _Row(OBSERVATION, e.id, n, e.prd_id, o.title, o.description)
        case f.SprintCompiled(document=plan):
            yield from (row("prompt", x) for x in _prompts(plan))
        case f.IterationStarted(number=n) | f.IterationEnded(number=n):
            yield row(event.type, "", n)
        case f.AgentRan(output=output, iteration=n) if output:
            # Imported here: only searches and views of iterations decode agents' output.
            from sprintlog.engine.adapters.agents.output import read_answer

            said = read_answer(output.encode()).text or output
            yield row("answer", said[:TEXT_CHARS_MAX], n or 0)
        case s.PromptGiven(text=str(text)):
            yield row("prompt", text)
        case s.TurnEnded(text=str(text)):
            yield row("answer", text)
        case s.ToolCalled(files=files) if files:
            yield from (row("file", one.path) for one in files)


def _prompts(part: dict[str, Any] | list[Any]) -> Iterator[str]:
    """Yield the goal and the prompts in a part of a plan."""
    for name, value in part.items() if isinstance(part, dict) else enumerate(part):
        if name in ("goal", "prompt", "on-fail-prompt") and isinstance(value, str):
            yield value[:TEXT_CHARS_MAX]
        elif isinstance(value, dict | list):
            yield from _prompts(value)
