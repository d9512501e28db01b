"""However the events of an append are bound, they are stored in their places."""

import sqlite3

import pytest
from msgspec import structs

from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.envelope import NewEvent, RecordedEvent
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.sqlite import rows
from sprintlog.engine.log.stores.sqlite.rows import (
    BATCH_BYTES,
    ROWS_PER_INSERT,
    insert_many,
)
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from tests import needs

ENVELOPE_BYTES_MAX = 274
"""Of an event with names as long as here, whatever its payload."""
_LENGTHS = " + ".join(
    f"length(CAST({name} AS BLOB))"
    for name, kind in RecordedEvent.__annotations__.items()
    if name not in ("payload", "key", "key_digest") and kind not in (int, bool)
)


def different(event: NewEvent, number: int) -> NewEvent:
    """Return an event with distinct values in all columns."""
    text = f"n{number}" + "é日" * (number % 4)
    return structs.replace(
        event,
        type=text,
        payload=b'{"n":"%s"}' % (text.encode() * (number % 7)),
        at=f"2026-01-15T09:00:{number % 60:02}{'.25' * (number % 2)}Z",
        actor=f"agent:{text}",
        schema_version=number + 1,
        correlation_id=f"c{text}" if number % 2 else None,
        causation_id=f"d{text}" if number % 3 else None,
        observed=number % 2 == 0,
    )


@pytest.mark.parametrize("has_json", [False, True])
@pytest.mark.parametrize("count", [1, 2, ROWS_PER_INSERT, 2 * ROWS_PER_INSERT + 3])
@pytest.mark.parametrize("key", [None, "k"])
def test_events_are_stored_as_they_were_placed(
    log: SqliteLog,
    new_event: NewEvent,
    monkeypatch: pytest.MonkeyPatch,
    *,
    has_json: bool,
    count: int,
    key: str | None,
) -> None:
    """However values are bound, the rows read equal the append's answer."""
    monkeypatch.setattr(rows, "_HAS_JSON", has_json)
    monkeypatch.setattr(rows, "BATCH_BYTES", 200)
    log.append("b", [new_event] * 2, expect=0)
    wanted = [different(new_event, number) for number in range(count)]
    digest = b"d" if key else None
    done = log.append("a", wanted, expect=Expect.NONE, key=key, key_digest=digest)
    assert [*log.read(after=2)] == [*done.events]
    kinds = log.connection.raw.execute(
        "SELECT DISTINCT typeof(position), typeof(version), typeof(remaining),"
        " typeof(schema_version), typeof(observed), typeof(stream), typeof(recorded_at),"
        " typeof(id), typeof(type), typeof(at), typeof(payload), typeof(salt),"
        " typeof(payload_digest), typeof(hash) FROM events"
    )
    assert kinds.fetchall() == [("integer",) * 5 + ("text",) * 6 + ("blob",) * 3]
    assert [*check_chain(log.read())] == []


def test_what_a_batch_shares_is_bound_once(log: SqliteLog, new_event: NewEvent) -> None:
    """A large batch is one statement with no more values than a small one."""
    if not rows._HAS_JSON:
        needs.skip("SQLite with json_each", "use a Python with a newer SQLite")
    done = log.append("a", [new_event] * 300, expect=0)
    few, many = ([*insert_many(done.events[:count])] for count in (2, 300))
    assert [len(values) for _, values in few] == [len(values) for _, values in many]
    assert few[0][0] == many[0][0]


def test_batch_of_large_events_is_bound_in_parts(
    log: SqliteLog, new_event: NewEvent
) -> None:
    """Joined values to be bound never grow much larger than one event may be."""
    if not rows._HAS_JSON:
        needs.skip("SQLite with json_each", "use a Python with a newer SQLite")
    large = structs.replace(new_event, payload=b'{"n":"%s"}' % (b"n" * (BATCH_BYTES // 2)))
    wanted = [*[new_event] * 70, *[large] * 3]
    done = log.append("a", wanted, expect=0)
    assert [len(v["payload"]) < 2 * BATCH_BYTES for _, v in insert_many(done.events)] == [
        True,
        True,
    ]
    assert [*log.read()] == [*done.events]


def test_an_envelope_takes_no_more_bytes(
    log: SqliteLog, raw: sqlite3.Connection, new_event: NewEvent
) -> None:
    """The texts and bytes of a row are as long as specified for its columns."""
    for size in (8, 300):
        payload = b'{"a":"' + b"a" * (size - 8) + b'"}'
        wanted = structs.replace(
            new_event,
            type="phase-completed",
            at="2026-01-15T09:00:00.000Z",
            actor="agent:bench",
            payload=payload,
        )
        version = log.version("sprint/bench")
        log.append("sprint/bench", [wanted], expect=version)
    found = raw.execute(f"SELECT {_LENGTHS} FROM events").fetchall()
    assert found == [(found[0][0],)] * 2
    assert found[0][0] <= ENVELOPE_BYTES_MAX
