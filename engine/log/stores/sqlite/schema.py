"""The SQL of the database's tables, used to create them and to verify existing ones."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ....errors import RESCUE, NewerVersionError, UnreadableError

APPLICATION_ID = 0x73706C67
"""`splg`, the application id in the database's header, by which `file` recognizes a log."""
_HEADER = "SELECT * FROM pragma_application_id, pragma_user_version"
SHOWN_MAX = 3
_OF_LITESTREAM = ("_litestream_lock", "_litestream_seq")
"""The tables that Litestream creates in a database that it replicates."""

EVENTS = (
    # Explicit positions: an implicit rowid or a sequence would leave gaps.
    """CREATE TABLE events (
  position INTEGER PRIMARY KEY CHECK (position > 0),
  stream TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version > 0),
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  schema_version INTEGER NOT NULL,
  at TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  actor TEXT NOT NULL,
  correlation_id TEXT NOT NULL,
  causation_id TEXT NOT NULL,
  key TEXT,
  key_digest BLOB,
  remaining INTEGER NOT NULL CHECK (remaining >= 0),
  observed INTEGER NOT NULL CHECK (observed IN (0, 1)),
  salt BLOB,
  payload TEXT,
  payload_digest BLOB NOT NULL CHECK (length(payload_digest) = 32),
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  UNIQUE (stream, version)
)""",
    "CREATE UNIQUE INDEX events_key ON events (key) WHERE key IS NOT NULL",
    # Only the next position is allowed. This also stops REPLACE if a connection has turned
    # recursive_triggers off, so that the implied deletion would not fire a trigger.
    """CREATE TRIGGER events_are_appended BEFORE INSERT ON events
WHEN NEW.position IS NOT 1 + coalesce((SELECT max(position) FROM events), 0)
  OR NEW.version IS NOT
    1 + coalesce((SELECT max(version) FROM events WHERE stream = NEW.stream), 0)
  OR (NEW.key IS NOT NULL AND EXISTS (SELECT 1 FROM events WHERE key = NEW.key))
BEGIN
  SELECT raise(ABORT, 'events are only appended: position, version or key is taken');
END""",
    """CREATE TRIGGER events_never_change BEFORE UPDATE ON events
BEGIN
  SELECT raise(ABORT, 'events are never changed');
END""",
    """CREATE TRIGGER events_never_go BEFORE DELETE ON events
BEGIN
  SELECT raise(ABORT, 'events are never deleted');
END""",
)

NEVER_CHANGE = "events_never_change"
"""The trigger that an erasure drops within its transaction (ADR 0058)."""

# Their contents may be deleted; without `written`, files of older versions count as edited.
CACHES = (
    """CREATE TABLE checkpoints (
  stream TEXT NOT NULL,
  version INTEGER NOT NULL,
  format INTEGER NOT NULL,
  state BLOB NOT NULL,
  PRIMARY KEY (stream, version)
) WITHOUT ROWID""",
    """CREATE TABLE written (
  path TEXT NOT NULL,
  digest BLOB NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (path, digest)
) WITHOUT ROWID""",
    """CREATE TABLE statuses (
  stream TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  status TEXT NOT NULL
) WITHOUT ROWID""",
)

# Without rowids, rows are found by comparing keys, for which SQLite reads complete rows: a
# state of several megabytes would be read three times per command.
CHECKPOINTS = (
    "DROP TABLE checkpoints",
    """CREATE TABLE checkpoints (
  stream TEXT NOT NULL,
  version INTEGER NOT NULL,
  format INTEGER NOT NULL,
  state BLOB NOT NULL,
  PRIMARY KEY (stream, version)
)""",
)

MIGRATIONS = (("events", EVENTS), ("caches", CACHES), ("checkpoints", CHECKPOINTS))
"""The name and statements of each migration, in order; published ones never change."""

# sqlite-utils keeps its list of applied steps here. We create the table, so that its
# text does not depend on the version of sqlite-utils at hand.
_APPLIED = (
    """CREATE TABLE _sqlite_migrations (
  id INTEGER PRIMARY KEY,
  migration_set TEXT,
  name TEXT,
  applied_at TEXT
)""",
    """CREATE UNIQUE INDEX idx__sqlite_migrations_migration_set_name
ON _sqlite_migrations (migration_set, name)""",
)


def text_of(name: str) -> str:
    """Return the statement that creates a table, trigger or index of a log."""
    return _OURS[name]


def stand_in(connection: sqlite3.Connection) -> None:
    """Create the tables that an older schema lacks, as empty temporary tables."""
    made = _made(connection)
    for name, text in _OURS.items():
        if name not in made and text.startswith("CREATE TABLE"):
            connection.execute(text.replace("TABLE", "TEMP TABLE", 1))


def migrate(connection: sqlite3.Connection) -> None:
    """Apply all pending migration steps or none."""
    stand_ins = "SELECT name FROM temp.sqlite_master WHERE type = 'table'"
    for (name,) in connection.execute(stand_ins).fetchall():
        connection.execute(f"DROP TABLE temp.{name}")
    # Imported here: importing sqlite-utils takes longer than a complete recording command.
    from sqlite_utils import Database, Migrations

    steps = Migrations("sprintlog")
    for version, (name, statements) in enumerate(MIGRATIONS, start=1):

        def step(
            database: Database,
            statements: tuple[str, ...] = statements,
            version: int = version,
        ) -> None:
            for statement in statements:
                database.conn.execute(statement)
            database.conn.execute(f"PRAGMA user_version = {version}")

        steps(name=name)(step)
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not _made(connection):
            for statement in _APPLIED:
                connection.execute(statement)
        steps.apply(Database(connection, execute_plugins=False))
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def check_schema(connection: sqlite3.Connection) -> bool:
    """Return whether migrations are pending.

    Raise `UnreadableError` for a foreign schema.
    """
    header = application_id, version = connection.execute(_HEADER).fetchone()
    made = _made(connection)
    if made == _OURS and header == (APPLICATION_ID, len(MIGRATIONS)):
        return False
    texts = [_made_by(steps) for steps in range(len(MIGRATIONS) + 1)]
    if made in texts[1:] and header != (APPLICATION_ID, texts.index(made)):
        raise UnreadableError("the header of the log's database is damaged", hint=RESCUE)
    if not made:
        raise UnreadableError("the database is empty and contains no log", hint=RESCUE)
    if application_id != APPLICATION_ID:
        raise UnreadableError(
            "the database belongs to another program and is not a log",
            hint=f"put the log back in its place; if it is lost, {RESCUE}",
        )
    if version > len(MIGRATIONS):
        raise NewerVersionError(
            f"the log has schema version {version}, but this sprintlog supports only "
            f"versions up to {len(MIGRATIONS)}",
            hint="upgrade sprintlog",
        )
    if problem := _difference(made, texts[version]):
        raise UnreadableError(
            f"the log's tables or triggers differ from those of this sprintlog: {problem}",
            hint="if another version of sprintlog created the log, run `sprintlog store "
            "export` there and `sprintlog store import FILE` here; keep your own "
            f"tables in another database; if the log is damaged, {RESCUE}",
        )
    return bool(version < len(MIGRATIONS))


def tables_of_litestream(connection: sqlite3.Connection) -> list[str]:
    """Return the names of Litestream's tables, which exist if it has replicated the log."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master")
    return sorted(name for kind, name, sql in rows if _is_litestreams(kind, name, sql))


def _is_litestreams(kind: str, name: str, sql: str | None) -> bool:
    # A virtual table runs its own code, and a trigger would run on our data.
    is_plain = kind == "table" and str(sql).startswith("CREATE TABLE ")
    return is_plain and name in _OF_LITESTREAM


def _difference(made: dict[str, str], names: dict[str, str]) -> str:
    """Return a description of the difference between a schema and the expected one."""
    said = [f"{name} is missing" for name in sorted(names.keys() - made.keys())]
    said += [f"{name} is not ours" for name in sorted(made.keys() - names.keys())]
    said += [f"{n} is another" for n in sorted(names) if made.get(n, names[n]) != names[n]]
    return ", ".join(said[:SHOWN_MAX]) + (" and more" if len(said) > SHOWN_MAX else "")


def _name_in(statement: str) -> str:
    return statement.replace("UNIQUE ", "", 1).split()[2].removesuffix("(")


def _made(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the SQL of a database's objects by name, except SQLite's and Litestream's."""
    # Automatic indexes have no SQL; ANALYZE creates the sqlite_stat tables.
    rows = connection.execute(
        "SELECT type, name, sql FROM sqlite_master"
        " WHERE sql IS NOT NULL AND name NOT GLOB 'sqlite_stat[0-9]'"
    )
    return {
        str(name): sql
        for kind, name, sql in rows
        if name not in _OF_LITESTREAM or not _is_litestreams(kind, name, sql)
    }


def _made_by(steps: int) -> dict[str, str]:
    """Return the SQL of a log after the given number of migrations, by object name."""
    made = {_name_in(text): text for text in _APPLIED}
    for _, texts in MIGRATIONS[:steps]:
        for text in texts:
            made[_name_in(text)] = text
            if text.startswith("DROP "):
                del made[_name_in(text)]
    return made


_OURS = _made_by(len(MIGRATIONS))
"""The SQL of the current schema, by name."""


Ask = Callable[[str, Sequence[Any]], Iterable[Any]]
"""A function that runs a statement with its parameters and returns its rows."""


PARAMETERS_MAX = 500
"""The maximum number of parameters: SQLite limits a condition's depth to 1,000."""


def tables_of(ask: Ask) -> list[str]:
    """Return the names of the ordinary tables."""
    rows = ask(
        "SELECT name FROM sqlite_master WHERE type = 'table'"
        " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        " AND sql NOT LIKE 'CREATE VIRTUAL %' ORDER BY name",
        (),
    )
    return [str(name) for (name,) in rows]


def rows_holding(ask: Ask, forms: Sequence[bytes], tables: Iterable[str]) -> Iterator[str]:
    """Yield each row that contains a given byte string: its table and first columns."""
    for table in tables:
        columns = [f'"{name}"' for _, name, *_ in ask(f'PRAGMA table_info("{table}")', ())]
        first = ", ".join(columns[:2])
        found: dict[str, None] = {}
        step = max(PARAMETERS_MAX // len(columns), 1)
        for start in range(0, len(forms), step):
            some = forms[start : start + step]
            holds = " OR ".join(
                f"instr(CAST({column} AS BLOB), ?)" for _ in some for column in columns
            )
            given = [form for form in some for _ in columns]
            rows = ask(f'SELECT {first} FROM "{table}" WHERE {holds}', given)
            found |= dict.fromkeys(" ".join(map(str, (table, *row))) for row in rows)
        yield from found
