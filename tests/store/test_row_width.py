"""How many bytes an event takes in the database beside its payload (ADR 0036)."""

import sqlite3

import msgspec

from sprintlog.engine.log.envelope import NewEvent, RecordedEvent
from sprintlog.engine.log.stores.sqlite.store import SqliteLog

ENVELOPE_BYTES_MAX = 274
"""Of an event with names as long as here, whatever its payload."""
_LENGTHS = " + ".join(
    f"length(CAST({name} AS BLOB))"
    for name, kind in RecordedEvent.__annotations__.items()
    if name not in ("payload", "key", "key_digest") and kind not in (int, bool)
)


def test_an_envelope_takes_no_more_bytes(
    log: SqliteLog, raw: sqlite3.Connection, new_event: NewEvent
) -> None:
    """Texts and bytes of a row are as long as the decision about its columns says."""
    for size in (8, 300):
        payload = b'{"a":"' + b"a" * (size - 8) + b'"}'
        wanted = msgspec.structs.replace(
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
