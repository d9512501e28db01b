"""The schema `sprintlog` on the server: its migrations, settings and checks."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, NamedTuple

import psycopg

from sprintlog import errors

from .address import Address
from .connection import ServerConnection

_LOCK = 0x73706C67
"""`splg`: the database's advisory lock for migrations."""
_APPLIED = """CREATE SCHEMA IF NOT EXISTS sprintlog;
CREATE TABLE IF NOT EXISTS sprintlog.migrations (
  number integer PRIMARY KEY,
  name text NOT NULL,
  digest text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);
GRANT USAGE ON SCHEMA sprintlog TO PUBLIC;
GRANT SELECT ON sprintlog.migrations TO PUBLIC"""
_KNOWN = "SELECT number, digest FROM sprintlog.migrations ORDER BY number"
_STRANGER = """SELECT owner::regrole::text FROM (
  SELECT nspowner AS owner FROM pg_namespace WHERE nspname = 'sprintlog'
  UNION ALL
  SELECT relowner FROM pg_class WHERE oid = to_regclass('sprintlog.migrations')
) made
WHERE owner <> (SELECT oid FROM pg_roles WHERE rolname = current_user)
AND ((SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
  OR NOT pg_has_role(owner, 'USAGE'))"""
"""The owner of existing objects, whose code would run with this role's permissions."""
VERSION_MIN = 140000


class Migration(NamedTuple):
    """A migration step; published steps are never edited."""

    number: int
    name: str
    sql: str
    digest: str


@cache
def steps() -> tuple[Migration, ...]:
    """Return all of this package's migration steps, in order."""
    found = []
    for file in files(__package__).joinpath("migrations").iterdir():
        number, _, name = file.name.removesuffix(".sql").partition("_")
        if file.name.endswith(".sql"):
            content = file.read_bytes()
            digest = sha256(content).hexdigest()
            found.append(Migration(int(number), name, content.decode(), digest))
    return tuple(sorted(found))


def check_applied(applied: Sequence[tuple[int, str]]) -> None:
    """Raise `SprintlogError` unless a database has exactly this package's migrations."""
    ours = [(step.number, step.digest) for step in steps()]
    if [*applied] == ours:
        return
    last = max((number for number, _ in applied), default=0)
    if last > len(ours):
        raise errors.NewerVersionError(
            f"the database has schema version {last}, but this sprintlog supports only "
            f"versions up to {len(ours)}",
            hint="upgrade sprintlog",
        )
    if [*applied] != ours[: len(applied)]:
        raise errors.UnreadableError(
            "the database's schema sprintlog was not created by this sprintlog",
            hint="with the version of sprintlog that created the schema, run `sprintlog "
            "store copy FROM TO` to copy the log into a new database",
        )
    raise errors.RefusedError(
        f"the database has schema version {last}, but this sprintlog requires {len(ours)}",
        hint="ask the database's owner to run `sprintlog init --log ADDRESS`",
    )


def migrate(connection: ServerConnection) -> None:
    """Apply all missing migrations or none, and block concurrent migrations."""
    check_server(connection)
    with connection.transaction():
        raw = connection.raw
        raw.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if (applied := _applied(raw)) == [(step.number, step.digest) for step in steps()]:
            return
        for (owner,) in raw.execute(_STRANGER):
            raise errors.RefusedError(
                f"the schema sprintlog belongs to {owner}",
                hint=f"run the command as {owner}, or use a database without that schema",
            )
        if applied:
            # Refused if steps are only missing.
            with suppress(errors.RefusedError):
                check_applied(applied)
        else:
            raw.execute(_APPLIED)
        for step in steps()[len(applied) :]:
            raw.execute(step.sql.encode())
            raw.execute(
                "INSERT INTO sprintlog.migrations (number, name, digest)"
                " VALUES (%s, %s, %s)",
                (step.number, step.name, step.digest),
            )


def check_server(connection: ServerConnection) -> None:
    """Raise `RefusedError` if the server or the database cannot store a log."""
    ((version, encoding),) = connection.rows(
        "SELECT current_setting('server_version_num')::int,"
        " current_setting('server_encoding')"
    )
    if version < VERSION_MIN:
        raise errors.RefusedError(
            f"PostgreSQL {version // 10000} is too old: a log requires at least "
            f"{VERSION_MIN // 10000}"
        )
    if encoding != "UTF8":
        raise errors.RefusedError(
            f"the database's encoding is {encoding}: a log requires UTF8",
            hint="run `createdb --encoding=UTF8 --template=template0 NAME` to create a "
            "suitable database",
        )


def check_settings(address: Address, found: dict[str, str]) -> None:
    """Raise `RefusedError` if the server's settings risk losing acknowledged events."""
    if (wrong := _switched_off(found)) and not address.is_unsafe:
        raise errors.RefusedError(
            f"this server can lose acknowledged events: {' and '.join(wrong)} must be on",
            hint="turn the setting on, or add `&unsafe=yes` to the address",
        )


def _applied(raw: psycopg.Connection[Any]) -> list[tuple[int, str]]:
    ((there,),) = raw.execute("SELECT to_regclass('sprintlog.migrations')").fetchall()
    return [] if there is None else raw.execute(_KNOWN).fetchall()


_TRIGGERS = {
    "events_never_change": "events",
    "events_never_go": "events",
    "logs_never_go": "logs",
}
_OUR_TRIGGERS = """SELECT t.tgname::text, c.relname::text
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = 'sprintlog'::regnamespace AND t.tgenabled = 'A'
  AND NOT t.tgisinternal"""
_INVALID = """SELECT c.relname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relnamespace = 'sprintlog'::regnamespace AND NOT (i.indisvalid AND i.indisready)"""
_UNIQUE = """SELECT c.relname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relnamespace = 'sprintlog'::regnamespace AND i.indisunique"""
_SETTINGS = (
    *("fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names"),
    *("wal_level", "archive_mode", "data_checksums"),
)
UNSEEN = "unknown"
"""The state of a standby that is not visible to the role."""
_STANDBYS = f"""SELECT coalesce(application_name, ''), coalesce(sync_state, '{UNSEEN}')
FROM pg_stat_replication"""


def problems(connection: ServerConnection) -> Iterator[str]:
    """Yield the problems with the log's storage on the server."""
    on = dict(connection.rows(_OUR_TRIGGERS))
    for name, table in _TRIGGERS.items():
        if on.get(name) != table:
            yield f"the trigger {name} of {table} is missing, or is not always on"
    for (name,) in connection.rows(_INVALID):
        yield f"the index {name} is not valid: `REINDEX` makes it again"
    unique = {name for (name,) in connection.rows(_UNIQUE)}
    for name in sorted(
        {"events_pkey", "events_version", "events_id", "events_key"} - unique
    ):
        yield f"the unique index {name} is missing"


def settings(connection: ServerConnection) -> dict[str, str]:
    """Return the server settings that affect the durability of acknowledged events."""
    asked = ", ".join(f"current_setting('{name}', true)" for name in _SETTINGS)
    (values,) = connection.rows(f"SELECT {asked}")
    return {n: v for n, v in zip(_SETTINGS, values, strict=True) if v is not None}


def standbys(connection: ServerConnection) -> list[tuple[str, str]]:
    """Return the name and state of each standby that is visible to this role."""
    return [(str(name), str(state)) for name, state in connection.rows(_STANDBYS)]


def forgets(found: dict[str, str]) -> str | None:
    """Return how the settings could cause the loss of acknowledged events, or None."""
    lost = _switched_off(found)
    return f"{' and '.join(lost)} off: acknowledged events can be lost" if lost else None


def _switched_off(found: dict[str, str]) -> list[str]:
    return [name for name in ("fsync", "full_page_writes") if found.get(name) == "off"]


def waited_for(known: list[tuple[str, str]]) -> list[str]:
    """Return the names of the standbys that an append waits for."""
    return [name or "unnamed" for name, state in known if state in ("sync", "quorum")]


def unwaited(known: list[tuple[str, str]]) -> str | None:
    """Return the risk posed by asynchronous standbys, or None.

    The result is also None if the role cannot see the state of a standby.
    """
    if not known or waited_for(known) or any(state == UNSEEN for _, state in known):
        return None
    return f"standby servers: {len(known)}, none synchronous, so a failover can lose events"


def risks(connection: ServerConnection) -> Iterator[str]:
    """Yield the ways in which the server could lose an acknowledged event."""
    for risk in (forgets(settings(connection)), unwaited(standbys(connection))):
        if risk is not None:
            yield f"{risk} (`sprintlog doctor` explains)"


class ServerFacts(NamedTuple):
    """Information about the connection's role and the server's clock."""

    role: str
    is_owner: bool
    clock: float
    """The server's time in seconds since 1970."""


def facts(connection: ServerConnection) -> ServerFacts:
    """Return the connection's role, its ownership of the schema, and the server's time."""
    (row,) = connection.rows(
        "SELECT current_user::text, pg_has_role(n.nspowner, 'MEMBER'),"
        " extract(epoch FROM clock_timestamp())::float8"
        " FROM pg_namespace n WHERE n.nspname = 'sprintlog'"
    )
    return ServerFacts(*row)
