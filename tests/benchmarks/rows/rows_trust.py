"""Rows about secrets: the complete text of a log is searched."""

import sqlite3
from itertools import count
from pathlib import Path

import msgspec

from sprintlog.engine.log.codec import encode
from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.sprint.events import NoteAdded
from sprintlog.projections.health.leaks import leaks
from sprintlog.projections.workspace import Workspace

from ..logs import Bench, append_all
from ..measure import Figure, side_by_side
from ..samples import START

_CHARS = 3_000
"""As much as an agent or a test prints at a time."""
_SOURCES = Path(msgspec.__file__).parent.parent


def scan(bench: Bench) -> Figure:
    """Measure the scan rate, compared with reading and decoding only."""
    folder = bench.new_folder("scan")
    with Workspace.init(folder, here=True) as workspace:
        said = _sources(bench.sizes.appends * _CHARS)
        notes = [said[at : at + _CHARS] for at in range(0, len(said), _CHARS)]
        events = (
            NewEvent("note-added", encode(NoteAdded(note)), START, "agent:x")
            for note in notes
        )
        append_all(workspace.log, events, version=0)
        database, size = workspace.location.database, sum(map(len, notes)) / 1e6
        sides = side_by_side(
            lambda: [*leaks(workspace)],
            lambda: _read(database, len(notes)),
            rounds=min(3, bench.sizes.rounds),
        )
    ours, theirs = size / sides.ours, size / sides.theirs
    against = "SQLite scan + msgspec decode"
    return Figure(ours, theirs, "MB/s", against, ours)


def _sources(chars: int) -> str:
    """Return the text of third-party sources, repeatedly."""
    files = sorted(_SOURCES.glob("*/*.py"))[:400]
    once = "\n".join(path.read_text("utf-8", "replace") for path in files)
    assert once
    return (once * (chars // len(once) + 1))[:chars]


def _read(database: Path, events: int) -> None:
    connection = sqlite3.connect(database)
    decode = msgspec.json.Decoder().decode
    found = count()
    for (payload,) in connection.execute("SELECT payload FROM events ORDER BY position"):
        decode(payload)
        next(found)
    connection.close()
    assert next(found) == events
