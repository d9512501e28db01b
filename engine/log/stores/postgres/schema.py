"""The schema `sprintlog`: numbered steps in this package, applied once, known by digest."""

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, NamedTuple

import psycopg

from ....errors import NewerVersionError, RefusedError, SprintlogError, UnreadableError
from .address import Address
from .connection import ServerConnection

_LOCK = 0x73706C67
"""`splg`: whoever applies steps holds this advisory lock of the database."""
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
"""Who made what is there: what they put there would run with our rights."""
VERSION_MIN = 140000


class Migration(NamedTuple):
    """One step; a published one is never edited."""

    number: int
    name: str
    sql: str
    digest: str


@cache
def steps() -> tuple[Migration, ...]:
    """Return every step of this package, in order."""
    found = []
    for file in files(__package__).joinpath("migrations").iterdir():
        number, _, name = file.name.removesuffix(".sql").partition("_")
        if file.name.endswith(".sql"):
            content = file.read_bytes()
            digest = sha256(content).hexdigest()
            found.append(Migration(int(number), name, content.decode(), digest))
    return tuple(sorted(found))


def check_applied(applied: Sequence[tuple[int, str]]) -> None:
    """Raise unless a database has exactly the steps of this package."""
    ours = [(step.number, step.digest) for step in steps()]
    if [*applied] == ours:
        return
    last = max((number for number, _ in applied), default=0)
    if last > len(ours):
        raise NewerVersionError(
            f"the database has schema {last}, this sprintlog knows up to {len(ours)}: "
            "a newer sprintlog is required",
            hint="a newer sprintlog writes there: upgrade this one",
        )
    if [*applied] != ours[: len(applied)]:
        raise UnreadableError(
            "the schema sprintlog in the database was not made by this sprintlog",
            hint="`sprintlog copy FROM TO` from there with the version that made it, into "
            "a new database",
        )
    raise RefusedError(
        f"the database has schema {last}, this sprintlog needs {len(ours)}",
        hint="its owner says `sprintlog init --log ADDRESS`",
    )


def migrate(connection: ServerConnection) -> None:
    """Apply what is missing, all or nothing; nobody else does meanwhile."""
    check_server(connection)
    with connection.transaction():
        raw = connection.raw
        raw.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if (applied := _applied(raw)) == [(step.number, step.digest) for step in steps()]:
            return
        _check_owner(raw)
        if applied:
            try:
                check_applied(applied)
            except UnreadableError:
                raise
            except SprintlogError:
                # Only something is missing.
                pass
        else:
            raw.execute(_APPLIED)
        for step in steps()[len(applied) :]:
            raw.execute(step.sql.encode())
            raw.execute(
                "INSERT INTO sprintlog.migrations (number, name, digest)"
                " VALUES (%s, %s, %s)",
                (step.number, step.name, step.digest),
            )


def _check_owner(raw: psycopg.Connection[Any]) -> None:
    """Raise `RefusedError` where somebody else made the schema."""
    for (owner,) in raw.execute(_STRANGER):
        raise RefusedError(
            f"the schema sprintlog belongs to {owner}",
            hint=f"say it as {owner}, or use a database without that schema",
        )


def check_server(connection: ServerConnection) -> None:
    """Raise `RefusedError` for a server or a database that cannot hold a log."""
    ((version, encoding),) = connection.rows(
        "SELECT current_setting('server_version_num')::int,"
        " current_setting('server_encoding')"
    )
    if version < VERSION_MIN:
        raise RefusedError(
            f"PostgreSQL {version // 10000} is too old: a log needs {VERSION_MIN // 10000}"
        )
    if encoding != "UTF8":
        raise RefusedError(
            f"the database is in {encoding}: a log needs UTF8",
            hint="`createdb --encoding=UTF8 --template=template0 NAME` makes one",
        )


def check_settings(address: Address, *, fsync: str, full_page_writes: str) -> None:
    """Raise `RefusedError` for a server that forgets what it acknowledged."""
    wrong = [
        name
        for name, value in (("fsync", fsync), ("full_page_writes", full_page_writes))
        if value == "off"
    ]
    if wrong and not address.is_unsafe:
        raise RefusedError(
            f"{' and '.join(wrong)} is off: what this server acknowledges can be lost",
            hint="switch it on there; `&unsafe=yes` in the address takes it as it is",
        )


def _applied(raw: psycopg.Connection[Any]) -> list[tuple[int, str]]:
    ((there,),) = raw.execute("SELECT to_regclass('sprintlog.migrations')").fetchall()
    return [] if there is None else raw.execute(_KNOWN).fetchall()
