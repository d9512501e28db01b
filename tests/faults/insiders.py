"""What somebody with write access to a log's folder can do to it, and what finds it.

Each attack changes the database as its owner could: triggers left out, hashes computed
anew, the head file written to fit.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from sprintlog.engine.log import chain
from sprintlog.engine.log.envelope import Head, RecordedEvent

FIELDS = ", ".join(RecordedEvent.__struct_fields__)
Row = list[Any]
_at = RecordedEvent.__struct_fields__.index
PAYLOAD, DIGEST, HASH, SALT = map(_at, ("payload", "payload_digest", "hash", "salt"))
POSITION, VERSION = map(_at, ("position", "version"))


def rows_of(database: Path) -> list[Row]:
    """Return every event of a log as it is stored."""
    with closing(sqlite3.connect(database)) as raw:
        return [[*row] for row in raw.execute(f"SELECT {FIELDS} FROM events ORDER BY 1")]


def write(database: Path, rows: list[Row]) -> None:
    """Put other events in the place of all."""
    with closing(sqlite3.connect(database)) as raw:
        found = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        triggers = raw.execute(found).fetchall()
        for name, _ in triggers:
            raw.execute(f"DROP TRIGGER {name}")
        raw.execute("DELETE FROM events")
        raw.execute("DELETE FROM checkpoints")
        marks = ", ".join("?" * len(RecordedEvent.__struct_fields__))
        raw.executemany(f"INSERT INTO events ({FIELDS}) VALUES ({marks})", rows)
        for _, sql in triggers:
            raw.execute(sql)
        raw.commit()


def chained(rows: list[Row]) -> list[Row]:
    """Return events with positions, digests and hashes that fit one another."""
    previous, made, versions = chain.GENESIS, [], dict[str, int]()
    for number, row in enumerate(rows, start=1):
        new = list(row)
        new[POSITION] = number
        stream = new[1]
        new[VERSION] = versions[stream] = versions.get(stream, 0) + 1
        if new[PAYLOAD] is not None:
            new[DIGEST] = chain.payload_digest(new[SALT], new[PAYLOAD].encode())
        event = chain.recorded(tuple(new))
        new[HASH] = previous = chain.event_hash(previous, chain.header(event), new[DIGEST])
        made.append(new)
    return made


def changed(rows: list[Row]) -> list[Row]:
    """Let an event say something else."""
    rows[3][PAYLOAD] = rows[3][PAYLOAD].replace("note 2", "note X")
    return rows


def removed(rows: list[Row]) -> list[Row]:
    """Take one out of the middle."""
    return [*rows[:4], *rows[5:]]


def added(rows: list[Row]) -> list[Row]:
    """Put one in that nobody recorded, as a copy under another id."""
    forged = list(rows[5])
    forged[3] = forged[3][:-4] + "0000"
    made = [*rows[:5], forged, *map(list, rows[5:])]
    for number, row in enumerate(made[5:], start=6):
        row[POSITION] = row[VERSION] = number
    return made


def swapped(rows: list[Row]) -> list[Row]:
    """Put two in the other order."""
    one, other = rows[4], rows[5]
    for place in (POSITION, VERSION):
        one[place], other[place] = other[place], one[place]
    rows[4], rows[5] = other, one
    return rows


def cut(rows: list[Row]) -> list[Row]:
    """Take away the end."""
    return rows[:-3]


EDITS: dict[str, Callable[[list[Row]], list[Row]]] = {
    "changed": changed,
    "removed": removed,
    "added": added,
    "swapped": swapped,
    "end cut off": cut,
}
ATTACKS = [
    *((name, False) for name in EDITS),
    *((f"{name}, hashes made to fit", True) for name in EDITS),
]


def attack(folder: Path, name: str, *, fits: bool) -> None:
    """Do it to the log of a folder; with `fits` the chain and the head file are made to."""
    database = folder / "log.db"
    rows = EDITS[name.partition(",")[0]](rows_of(database))
    rows = chained(rows) if fits else rows
    write(database, rows)
    if fits:
        last = rows[-1]
        from sprintlog.engine.log.stores.head_file import HeadFile

        kept = HeadFile(folder / "log.db-head")
        (folder / "log.db-head").unlink(missing_ok=True)
        kept.write(Head(last[POSITION], last[HASH]))
        kept.close()
