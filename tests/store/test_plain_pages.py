"""Pages of a log whose events have much in common are read with fewer columns."""

from collections.abc import Callable

import pytest
from msgspec import structs

from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.sqlite.queries import ROWS_PER_READ
from sprintlog.engine.log.stores.sqlite.rows import READ
from sprintlog.engine.log.stores.sqlite.store import SqliteLog

PAGES = 4
CHANGES: dict[str, Callable[[NewEvent], NewEvent]] = {
    "nothing": lambda event: event,
    "the actor": lambda event: structs.replace(event, actor="operator:b"),
    "the shape": lambda event: structs.replace(event, schema_version=2),
    "observed": lambda event: structs.replace(event, observed=True),
    "the cause": lambda event: structs.replace(event, causation_id="c", correlation_id="d"),
}


def fill(
    log: SqliteLog, event: NewEvent, other: NewEvent, *, key: str | None = None
) -> None:
    """Append pages of similar events, with a different one on the third page."""
    size = ROWS_PER_READ
    log.append("a", [event] * (2 * size + 7), expect=0)
    log.append("a", [other], expect=Expect.ANY, key=key, key_digest=b"d" if key else None)
    log.append("a", [event] * ((PAGES - 2) * size + 9), expect=Expect.ANY)


def asked_for(log: SqliteLog) -> tuple[list[object], list[str]]:
    """Return all rows read by pages, and the number of statements."""
    said: list[str] = []
    log.connection.raw.set_trace_callback(said.append)
    rows: list[object] = [row for page in log.pages() for row in page]
    log.connection.raw.set_trace_callback(None)
    return rows, [text for text in said if "payload" in text]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_pages_hold_the_rows_as_they_are_stored(
    log: SqliteLog, new_event: NewEvent, change: Callable[[NewEvent], NewEvent]
) -> None:
    """Whatever distinct values an event has, each row equals that of the table."""
    fill(log, new_event, change(new_event))
    stored = log.connection.raw.execute(f"SELECT {READ} FROM events ORDER BY position")
    assert asked_for(log)[0] == stored.fetchall()


def test_pages_hold_keys_and_events_of_other_streams(
    log: SqliteLog, new_event: NewEvent
) -> None:
    """An event with a key, and one of another stream, are at their positions."""
    fill(log, new_event, new_event, key="k")
    log.append("b", [new_event] * 3, expect=0)
    log.append("a", [new_event] * 3, expect=Expect.ANY)
    stored = log.connection.raw.execute(f"SELECT {READ} FROM events ORDER BY position")
    assert asked_for(log)[0] == stored.fetchall()


def test_what_is_alike_is_handed_over_once(log: SqliteLog, new_event: NewEvent) -> None:
    """After a page of events that are alike, their stream is not asked for again."""
    log.append("a", [new_event] * (PAGES * ROWS_PER_READ), expect=0)
    _, asked = asked_for(log)
    assert [text.startswith("SELECT position") for text in asked] == [
        True,
        False,
        False,
        False,
    ]


def test_no_page_of_a_mixed_log_is_read_twice(log: SqliteLog, new_event: NewEvent) -> None:
    """If events differ on every page, each page requires one statement."""
    other = structs.replace(new_event, actor="operator:b")
    log.append("a", [new_event, other] * (PAGES * ROWS_PER_READ // 2), expect=0)
    assert len(asked_for(log)[1]) == PAGES
