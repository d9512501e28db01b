"""No one can change an event, neither a writer nor the owner."""

from typing import Any

import psycopg
import pytest
from psycopg import errors as codes

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.envelope import Span
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.postgres.store import PostgresLog

from .conftest import Open, note
from .server import Server

CHANGES = [
    "UPDATE sprintlog.events SET payload = '{}'",
    "UPDATE sprintlog.events SET salt = NULL, payload = NULL",
    "DELETE FROM sprintlog.events",
    "TRUNCATE sprintlog.events",
    "DELETE FROM sprintlog.logs",
    "TRUNCATE sprintlog.logs",
]


@pytest.fixture
def role(raw: psycopg.Connection[Any]) -> str:
    """Provide a role that may only write logs."""
    for name in ("worker", "looker"):
        if not raw.execute("SELECT FROM pg_roles WHERE rolname = %s", (name,)).fetchall():
            raw.execute(f"CREATE ROLE {name} LOGIN")
    raw.execute("GRANT sprintlog_writer TO worker")
    raw.execute("GRANT sprintlog_reader TO looker")
    return "worker"


@pytest.mark.parametrize("statement", CHANGES)
@pytest.mark.parametrize("replica", [False, True])
def test_the_owner_changes_nothing(
    log: PostgresLog, raw: psycopg.Connection[Any], statement: str, replica: bool
) -> None:
    """Triggers that are always enabled refuse it, even with the role of a replica."""
    log.append("a", [note()], expect=0)
    before = list(log.read())
    if replica:
        raw.execute("SET session_replication_role = replica")
    with pytest.raises(codes.RestrictViolation):
        raw.execute(statement)
    assert list(log.read()) == before


@pytest.mark.parametrize(
    "statement", [*CHANGES, "INSERT INTO sprintlog.events DEFAULT VALUES"]
)
def test_a_writer_may_only_call_and_read(
    log: PostgresLog, pg: Server, role: str, statement: str
) -> None:
    """The writer's role has no right to change a table."""
    with (
        psycopg.connect(pg.url(user=role), autocommit=True) as writer,
        pytest.raises(codes.InsufficientPrivilege),
    ):
        writer.execute(statement)


def test_a_writer_records_erases_and_takes_over(
    log: PostgresLog, pg: Server, role: str, reopen: Open
) -> None:
    """The writer's role can perform all operations of a store, including creating a log."""
    with_role = reopen(url=pg.url(log.address.log, user=role))
    with_role.append("a", [note(1), note(2)], expect=0, key="k", key_digest=bytes(32))
    with_role.erase([Span("a", 2, 2)], stream="erasures", said=note(3))
    assert [event.payload is None for event in log.read()] == [False, True, False]
    assert list(check_chain(log.read())) == []


def test_a_reader_reads_and_records_nothing(
    log: PostgresLog, pg: Server, role: str, reopen: Open
) -> None:
    """The reader's role sees tables and views, and can call no recording function."""
    log.append("a", [note()], expect=0)
    looker = reopen(url=pg.url(log.address.log, user="looker"))
    assert list(looker.read()) == list(log.read())
    with pytest.raises(RefusedError, match="permission denied"):
        looker.append("a", [note()], expect=Expect.ANY)


def test_an_erasure_changes_nothing_else(
    log: PostgresLog, raw: psycopg.Connection[Any]
) -> None:
    """Even an erasure can remove only the payload and the salt."""
    log.append("a", [note()], expect=0)
    raw.execute("SET sprintlog.erasing = 'on'")
    with pytest.raises(codes.RestrictViolation):
        raw.execute("UPDATE sprintlog.events SET payload = NULL, salt = NULL, type = 'x'")
    with pytest.raises(codes.RestrictViolation):
        raw.execute("DELETE FROM sprintlog.events")


def test_what_is_missing_is_told(log: PostgresLog, raw: psycopg.Connection[Any]) -> None:
    """A trigger that is off is a problem of the store."""
    log.append("a", [note()], expect=0)
    raw.execute("ALTER TABLE sprintlog.events DISABLE TRIGGER events_never_go")
    try:
        assert ["events_never_go" in one for one in log.problems()] == [True]
    finally:
        raw.execute("ALTER TABLE sprintlog.events ENABLE ALWAYS TRIGGER events_never_go")
    assert [*log.problems()] == []
