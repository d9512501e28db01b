"""The events of an append are bound to one statement, and stored as they were placed."""

import pytest
from msgspec import structs

from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.sqlite import rows
from sprintlog.engine.log.stores.sqlite.rows import ROWS_PER_INSERT, insert
from sprintlog.engine.log.stores.sqlite.store import SqliteLog


def different(event: NewEvent, number: int) -> NewEvent:
    """Return an event that has as much of its own as one can have."""
    text = f"n{number}"
    return structs.replace(
        event,
        type=text,
        payload=b'{"n":%d}' % number,
        at=f"2026-01-15T09:00:{number % 60:02}Z",
        actor=f"agent:{text}",
        schema_version=number + 1,
        correlation_id=f"c{text}" if number % 2 else None,
        causation_id=f"d{text}" if number % 3 else None,
        observed=number % 2 == 0,
    )


@pytest.mark.parametrize("is_numbered", [False, True])
@pytest.mark.parametrize("count", [1, 2, ROWS_PER_INSERT, 2 * ROWS_PER_INSERT + 3])
@pytest.mark.parametrize("key", [None, "k"])
# Python 3.12 alone warns of values with numbers, which it is never given but here.
@pytest.mark.filterwarnings("ignore:Binding:DeprecationWarning")
def test_events_are_stored_as_they_were_placed(
    log: SqliteLog,
    new_event: NewEvent,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_numbered: bool,
    count: int,
    key: str | None,
) -> None:
    """However values are bound, what is read is what the append answered."""
    monkeypatch.setattr(rows, "_IS_NUMBERED", is_numbered)
    log.append("b", [new_event] * 2, expect=0)
    wanted = [different(new_event, number) for number in range(count)]
    digest = b"d" if key else None
    done = log.append("a", wanted, expect=Expect.NONE, key=key, key_digest=digest)
    assert [*log.read(after=2)] == [*done.events]
    kinds = log.connection.raw.execute(
        "SELECT DISTINCT typeof(position), typeof(version), typeof(remaining),"
        " typeof(stream), typeof(recorded_at), typeof(salt), typeof(payload) FROM events"
    )
    numbers, texts = ("integer",) * 3, ("text",) * 2
    assert kinds.fetchall() == [(*numbers, *texts, "blob", "text")]


def test_what_an_append_shares_is_bound_once(log: SqliteLog, new_event: NewEvent) -> None:
    """Of each further event only what it has of its own is bound."""
    done = log.append("a", [new_event] * 3, expect=0)
    one, two, three = (len(insert(done.events[:count])[1]) for count in (1, 2, 3))
    shared = 5 if rows._IS_NUMBERED else 0
    assert (three - two, two - one) == (one - shared, one - shared)
