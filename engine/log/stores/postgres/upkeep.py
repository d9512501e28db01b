"""What is asked of a server by those who look after a log."""

from collections.abc import Iterator
from typing import NamedTuple

from .connection import ServerConnection

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
"""What a standby is for a role that may not see it."""
_STANDBYS = f"""SELECT coalesce(application_name, ''), coalesce(sync_state, '{UNSEEN}')
FROM pg_stat_replication"""


def problems(connection: ServerConnection) -> Iterator[str]:
    """Yield what is wrong with how the server keeps a log."""
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
    """Return the server's settings that say what an acknowledged event survives."""
    asked = ", ".join(f"current_setting('{name}', true)" for name in _SETTINGS)
    (values,) = connection.rows(f"SELECT {asked}")
    return {n: v for n, v in zip(_SETTINGS, values, strict=True) if v is not None}


def standbys(connection: ServerConnection) -> list[tuple[str, str]]:
    """Return the standbys that this role hears of: name, and whether one waits for it."""
    return [(str(name), str(state)) for name, state in connection.rows(_STANDBYS)]


def forgets(found: dict[str, str]) -> str | None:
    """Return how settings let a server forget what it acknowledged; None without that."""
    lost = [name for name in ("fsync", "full_page_writes") if found.get(name) == "off"]
    return f"{' and '.join(lost)} off: what was acknowledged can be lost" if lost else None


def waited_for(known: list[tuple[str, str]]) -> list[str]:
    """Return the names of the standbys that an append waits for."""
    return [name or "unnamed" for name, state in known if state in ("sync", "quorum")]


def unwaited(known: list[tuple[str, str]]) -> str | None:
    """Return what standbys cost that nobody waits for; None without such ones.

    Whoever may not see what they are about says nothing of them.
    """
    if not known or waited_for(known) or any(state == UNSEEN for _, state in known):
        return None
    return f"{len(known)} standby servers, none is waited for: a failover can lose the end"


def risks(connection: ServerConnection) -> Iterator[str]:
    """Yield how an event can be lost that the server acknowledged."""
    for risk in (forgets(settings(connection)), unwaited(standbys(connection))):
        if risk is not None:
            yield f"{risk} (`sprintlog doctor` says what to do)"


class ServerFacts(NamedTuple):
    """What there is to know of a role and of the server's clock."""

    role: str
    is_owner: bool
    clock: float
    """Seconds since 1970."""


def facts(connection: ServerConnection) -> ServerFacts:
    """Return who this is for the server, and what time it has."""
    (row,) = connection.rows(
        "SELECT current_user::text, pg_has_role(n.nspowner, 'MEMBER'),"
        " extract(epoch FROM clock_timestamp())::float8"
        " FROM pg_namespace n WHERE n.nspname = 'sprintlog'"
    )
    return ServerFacts(*row)
