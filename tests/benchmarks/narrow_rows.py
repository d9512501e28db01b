"""The savings and the read costs of narrower rows: the figures of ADR 0035.

`python -m tests.benchmarks.narrow_rows` creates tables of the same events in several
formats. Every format reproduces the same envelope; the log uses none of them.
"""

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import datetime
from functools import cache
from hashlib import sha256
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

import msgspec

from sprintlog.engine.log.append import Stamping, instant, place
from sprintlog.engine.log.chain import START as GENESIS
from sprintlog.engine.log.chain import check_rows
from sprintlog.engine.log.envelope import Head, NewEvent, RecordedEvent
from sprintlog.engine.log.stores.sqlite.rows import READ, events_of

from .measure import side_by_side
from .rows.rows_log import the_draft
from .samples import STREAM, loop_events, new_events

EVENTS, ROUNDS, PAGE_ROWS, APPEND = 30_000, 7, 512, 5_000
COLUMNS = RecordedEvent.__struct_fields__
IDS = ("first", "id", "recorded")
NAMES = ("stream", "type", "actor")
FORMS = ((), ("first",), IDS, (*IDS, *NAMES), (*IDS, "at", "check", *NAMES))

Row = list[Any]
Narrow = Callable[[Row], None]
_AT = {name: number for number, name in enumerate(COLUMNS)}
_ALL = f"SELECT {READ} FROM events WHERE position > ? ORDER BY position LIMIT ?"
_SCAN = (
    "SELECT position, version, at, type, schema_version, payload FROM events"
    " WHERE position > ? ORDER BY position LIMIT ?"
)


def rows_of(drafts: Iterable[NewEvent], *, batch: int) -> list[Row]:
    """Return events as current rows, with the given number in each append."""
    head, version = GENESIS, 0
    now = 1_768_467_600_000
    rows: list[Row] = []
    left = iter(drafts)
    while wanted := list(islice(left, batch)):
        now += 37
        at = instant(now - 2)
        placed = place(
            STREAM,
            [msgspec.structs.replace(draft, at=at) for draft in wanted],
            head,
            version,
            Stamping(lambda now=now: now, os.urandom).stamp(len(wanted)),  # type: ignore[misc]
            None,
            None,
        )
        rows += map(list, map(msgspec.structs.astuple, placed))
        head, version = Head(rows[-1][0], rows[-1][-1]), rows[-1][2]
    for row in rows:
        row[_AT["payload"]] = row[_AT["payload"]].decode()
    return rows


def narrowed(rows: list[Row], form: Iterable[str], names: list[str]) -> list[Row]:
    """Return rows in a format; texts that became numbers are positions in `names`."""
    narrow = {
        "first": _first_as_distance,
        "id": _change("id", lambda text: bytes.fromhex(text.replace("-", ""))),
        "recorded": _change("recorded_at", lambda text: None),
        "at": _change("at", _milliseconds),
        "check": _change("payload_digest", lambda digest: int.from_bytes(digest[:3])),
    }
    narrow |= {name: _change(name, lambda text: _number(text, names)) for name in NAMES}
    found = [list(row) for row in rows]
    for row in found:
        for word in form:
            narrow[word](row)
    return found


def _change(name: str, how: Callable[[Any], Any]) -> Narrow:
    def narrow(row: Row) -> None:
        row[_AT[name]] = how(row[_AT[name]])

    return narrow


def _first_as_distance(row: Row) -> None:
    """Return the distance to the append's first id; empty if it is the event's id."""
    own = row[_AT["id"]]
    for name in ("correlation_id", "causation_id"):
        row[_AT[name]] = int(own[-12:], 16) - int(row[_AT[name]][-12:], 16) or None


@cache
def _milliseconds(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def _number(text: str, names: list[str]) -> int:
    if text not in names:
        names.append(text)
    return names.index(text)


def table(path: Path, rows: list[Row]) -> sqlite3.Connection:
    """Return a table of the rows, with the index that streams are read by."""
    connection = sqlite3.connect(path, isolation_level=None)
    columns = ", ".join(COLUMNS).replace("position", "position INTEGER PRIMARY KEY", 1)
    marks = ", ".join("?" * len(COLUMNS))
    connection.execute(f"CREATE TABLE events ({columns}, UNIQUE (stream, version))")
    connection.execute("BEGIN")
    connection.executemany(f"INSERT INTO events VALUES ({marks})", rows)
    connection.execute("COMMIT")
    return connection


def sizes(folder: Path, events: int = EVENTS) -> Iterator[str]:
    """Yield lines with the bytes per event in each format."""
    large = list(repeat(the_draft(), events))
    samples = {
        "300 B, one an append": rows_of(large, batch=1),
        f"300 B, {APPEND:,} an append": rows_of(large, batch=APPEND),
        "a loop, one an append": rows_of(new_events(loop_events(events)), batch=1),
    }
    for name, rows in samples.items():
        payload = sum(len(row[_AT["payload"]].encode()) for row in rows) / len(rows)
        yield f"{name}, payload {payload:.0f} B"
        for number, form in enumerate(FORMS):
            path = folder / f"{name[:1]}{len(name)}-{number}.db"
            table(path, narrowed(rows, form, [])).close()
            size = path.stat().st_size / len(rows)
            yield f"  {size:6.0f} B {size / payload:5.2f} x  {', '.join(form) or 'today'}"


def _uuid(content: bytes) -> str:
    h = content.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def readings(folder: Path, events: int = EVENTS) -> Iterator[str]:
    """Yield lines with the processor time of reading current and narrow rows."""
    rows = rows_of(repeat(the_draft(), events), batch=1)
    names: list[str] = []
    narrow_rows = narrowed(rows, FORMS[-1], names)

    def whole(page: list[Any]) -> list[Any]:
        found = []
        for a, b, c, d, e, f, g, _, i, j, k, m, n, o, p, q, r, _, s in page:
            own, recorded = _uuid(d), instant(int.from_bytes(d[:6]))
            assert j is None
            assert k is None
            digest = sha256(q + r).digest()
            begin = (a, names[b], c, own, names[e], f, instant(g), recorded, names[i])
            found.append((*begin, own, own, m, n, o, p, q, r, digest, s))
        return found

    def folded(page: list[Any]) -> list[Any]:
        return [(v, instant(at), names[t], s, p, n) for n, v, at, t, s, p in page]

    def as_is(page: list[Any]) -> list[Any]:
        return page

    with (
        closing(table(folder / "today.db", rows)) as today,
        closing(table(folder / "narrow.db", narrow_rows)) as narrow,
    ):

        def pages(source: sqlite3.Connection, sql: str) -> Iterator[list[Any]]:
            after = 0
            while page := source.execute(sql, (after, PAGE_ROWS)).fetchall():
                after = page[-1][0]
                yield page if source is today else (folded if sql is _SCAN else whole)(page)

        kinds: dict[str, Callable[[sqlite3.Connection], object]] = {
            "what a fold reads": lambda c: sum(map(len, map(as_is, pages(c, _SCAN)))),
            "whole events": lambda c: sum(map(len, map(events_of, pages(c, _ALL)))),
            "the chain": lambda c: _sound(chain.from_iterable(pages(c, _ALL))),
        }
        for kind, read in kinds.items():
            sides = side_by_side(
                lambda read=read: read(narrow),  # type: ignore[misc]
                lambda read=read: read(today),  # type: ignore[misc]
                rounds=ROUNDS,
                units=(events, events),
            )
            yield (
                f"{kind}: {sides.theirs * 1e6:.1f} µs today, {sides.ours * 1e6:.1f} narrow,"
                f" {sides.ratio:.2f} x, median of pairs {sides.pairs or 0:.2f} x"
            )


def _sound(rows: Iterable[Any]) -> None:
    assert not list(check_rows(rows))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="sprintlog-bench-") as name:
        for line in chain(sizes(Path(name)), readings(Path(name))):
            print(line, flush=True)
