"""How SQLite accesses the database: by seeking to a row, never by scanning all rows."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import structs

from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect, Page
from sprintlog.engine.log.stores.sqlite.queries import ROWS_PER_READ
from sprintlog.engine.log.stores.sqlite.store import SqliteLog

from .steps import steps_of

WALKS = {
    "FROM events ORDER BY position DESC": "it ends at the first row",
    "WHERE id = ": "only people ask for ids, so they have no index",
    "FROM names": "only the names are scanned",
}
"""What goes through a whole table, and why that may be."""
SORTS = ("SELECT digest, version FROM written", "FROM names")
"""Sorting after the search: the digests of one path, the names."""


def ask_all(log: SqliteLog, event: NewEvent) -> None:
    """Call everything of a store that runs statements on its tables."""
    log.append("a", [event] * 2, expect=Expect.ANY, key="k", key_digest=b"d")
    log.append("a", [event], expect=Expect.ANY)
    head = log.head()
    for found in (log.find_key("k"), log.find_id("none"), log.streams(), log.holds(head)):
        assert found is not False
    for after in (0, 1):
        for rows in (log.read, log.pages):
            assert list(rows(after=after))
        assert list(log.read_stream("a", after=after))
        for only in (None, event.type):
            assert list(log.scan("a", after=after, only=only))
    log.check_acknowledged()
    log.checkpoints.save("a", 1, b"", format_=1)
    log.checkpoints.versions("a", format_=1)
    log.checkpoints.load("a", 1, format_=1)
    log.checkpoints.save("a", 1, bytes(2**20), format_=1)
    log.checkpoints.load("a", 1, format_=1)
    log.checkpoints.keep_status("a", 1, "s")
    log.checkpoints.status("a", 1)
    log.checkpoints.forget("a")
    log.digests.know("p", b"", version=1)
    log.digests.since("p", b"")
    log.digests.written("p")
    log.digests.newest("p", until=1)
    log.digests.below("p")
    log.digests.forget("p")


def statements(log: SqliteLog, event: NewEvent) -> list[str]:
    """Return each statement that a store runs on its tables."""
    said: list[str] = []
    trace = log.connection.raw.set_trace_callback
    # Each form of a scan: of a small stream in a large log, and of a large stream. The last
    # case is a page after events that have much in common.
    for stream, count in (("b", 100), ("a", 2 * ROWS_PER_READ), ("a", 4 * ROWS_PER_READ)):
        # Not traced, because SQLite would output every inserted row.
        log.append(stream, [event] * count, expect=Expect.ANY)
        trace(said.append)
        ask_all(log, event)
        trace(None)
    asked = (text for text in said if text.startswith(("SELECT", "WITH", "DELETE", "\n")))
    return [*{re.sub(r"\d+", "0", text): text for text in asked}.values()]


@pytest.mark.parametrize("is_analysed", [False, True])
def test_every_statement_goes_to_its_rows(
    log: SqliteLog, new_event: NewEvent, *, is_analysed: bool
) -> None:
    """Only documented statements scan or sort; statistics do not change that."""
    asked = statements(log, new_event)
    assert len(asked) > 20
    assert any("actor = " in text for text in asked)
    if is_analysed:
        log.connection.raw.execute("ANALYZE")
    for text in asked:
        plan = log.connection.raw.execute(f"EXPLAIN QUERY PLAN {text}").fetchall()
        for *_, step in plan:
            if step.startswith("SCAN") and "CONSTANT" not in step:
                assert any(word in text for word in WALKS), (text, step)
            if step.startswith("USE TEMP B-TREE"):
                assert any(word in text for word in SORTS), (text, step)


def test_no_statement_has_two_lower_bounds(log: SqliteLog, new_event: NewEvent) -> None:
    """SQLite seeks to the first bound and scans to the second, which its plan hides."""
    for text in statements(log, new_event):
        bounds = re.findall(r"(\w+) >=? ", text)
        assert len(bounds) == len({*bounds}), text


Pages = Callable[[SqliteLog], Iterator[Page | list[Any]]]
READERS: dict[str, Pages] = {
    "scan of a small part": lambda log: log.scan("a"),
    "scan from somewhere": lambda log: log.scan("a", after=10),
    "scan of one type": lambda log: log.scan("a", only=NewEvent.__name__),
    "scan of most of a log": lambda log: log.scan("b", after=10),
    "the log": lambda log: log.pages(),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_late_page_costs_what_an_early_one_does(
    log: SqliteLog, new_event: NewEvent, reader: Pages
) -> None:
    """However far a reader has come, it seeks directly to its next rows."""
    named = structs.replace(new_event, type=NewEvent.__name__)
    for version in range(0, 8 * ROWS_PER_READ, 64):
        log.append("a", [named] * 64, expect=version)
        log.append("b", [named] * 128, expect=2 * version)
    costs: list[int] = []
    with steps_of(log.connection.raw) as steps:
        for page in reader(log):
            rows = page.rows if isinstance(page, Page) else page
            if len(rows) == ROWS_PER_READ:
                costs.append(steps[0])
            steps[0] = 0
    assert len(costs) >= 7
    # The first page also reads the end of the log. Rows outside the assumed range are read
    # twice, wherever they are.
    half = len(costs) // 2
    assert max(costs[half:]) <= 1.1 * max(costs[1 : half + 1])


def test_a_stream_is_read_at_the_same_cost_everywhere(
    log: SqliteLog, new_event: NewEvent
) -> None:
    """Reading events by version costs the same at the end of a stream as at its start."""
    log.append("a", [new_event] * 8 * ROWS_PER_READ, expect=0)
    costs = []
    with steps_of(log.connection.raw) as steps:
        for after in range(0, 8 * ROWS_PER_READ, ROWS_PER_READ):
            steps[0] = 0
            assert list(log.read_stream("a", after=after, until=after + ROWS_PER_READ))
            costs.append(steps[0])
    assert max(costs) <= 1.1 * min(costs)
