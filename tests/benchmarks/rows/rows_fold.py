"""Rows about reading: the fold, its memory, replay, the chain, and opening a log."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain as chained
from pathlib import Path
from typing import Any

import msgspec

from sprintlog.engine.log.chain import START as GENESIS
from sprintlog.engine.log.chain import check_rows
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.sprint.events import EVENTS
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.health.verify import verify
from sprintlog.projections.history.blame import blame as blamed
from sprintlog.projections.history.blame_lines import blame_lines as lines_of
from sprintlog.projections.workspace import Workspace
from tests.kept_states import keep_only

from ..logs import TAIL, Bench, make_loop
from ..measure import (
    OURS,
    PROCESSOR_BY_PAIRS,
    WALL,
    Figure,
    duration,
    rate,
    side_by_side,
    speed_up,
)
from ..samples import PHASES, SPRINT, address, loop_events

OPENINGS = 10
_REPLAYS = 5
"""A replay takes hundredths of a second: of many, some are undisturbed."""
_flat = chained.from_iterable
_ROOT = Path(__file__).resolve().parents[3]
_FOLDED = ("version", "at", "type", "payload")
_ALL = RecordedEvent.__struct_fields__
_BASELINE = "SQLite scan + msgspec decode"
_SCAN_OF_ALL = "scan of all columns + msgspec decode"


def scan_and_decode(database: Path, events: int, columns: Sequence[str] = _FOLDED) -> None:
    """Read columns of every event and decode the payloads: the minimum.

    A fold requires four columns. A verification requires all of them, because the chain
    covers all; against a scan of four, the ratio would depend on the width of an event.
    """
    decoders = {event.type: msgspec.json.Decoder(event).decode for event in EVENTS}
    type_, payload = columns.index("type"), columns.index("payload")
    connection = sqlite3.connect(database)
    cursor = connection.execute(
        f"SELECT {', '.join(columns)} FROM events ORDER BY position"
    )
    count = 0
    while rows := cursor.fetchmany(512):
        for row in rows:
            decoders[row[type_]](row[payload])
        count += len(rows)
    connection.close()
    assert count == events


def fold(bench: Bench) -> Figure:
    """Measure the fold of the large log, without any checkpoint."""
    events = bench.sizes.fold
    with Workspace.open(bench.large) as workspace:
        database = workspace.location.database
        sides = side_by_side(
            lambda: _complete(workspace.repository.from_nothing(SPRINT), events),
            lambda: scan_and_decode(database, events),
            rounds=bench.sizes.rounds,
            by=PROCESSOR_BY_PAIRS,
            units=(events, events),
        )
    return rate(sides, _BASELINE)


def memory(bench: Bench) -> Figure:
    """Measure the memory growth of a separate process that folds the large log."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.rows.fold_memory", str(bench.large)],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    before, after = map(float, done.stdout.split())
    grown = max(after - before, 0.001)
    return Figure(after, before, "MiB", "the process before the fold", grown)


def replay(bench: Bench) -> Figure:
    """Measure one stream folded against the library's repository with its defaults."""
    from .eventsourcing_side import VERSION, Replay

    return _replay(bench, "replay", Replay, f"eventsourcing {VERSION} get, its default")


def replay_msgspec(bench: Bench) -> Figure:
    """Measure one stream folded against the library's repository, events being structs."""
    from .eventsourcing_structs import VERSION, Replay

    return _replay(bench, "replay-msgspec", Replay, f"eventsourcing {VERSION} get, msgspec")


def _replay(bench: Bench, name: str, library: Any, against: str) -> Figure:
    events = bench.sizes.replay
    make_loop(bench.new_folder(name), events)
    folder = bench.new_folder(f"{name}-theirs")
    phases = [address(index) for index in range(PHASES)]
    theirs = library(folder / "theirs.db", phases, loop_events(events - 1))
    with Workspace.open(bench.folder / name) as workspace:
        sides = side_by_side(
            lambda: _complete(workspace.repository.from_nothing(SPRINT), events),
            theirs.get,
            rounds=_REPLAYS * bench.sizes.rounds,
            units=(events, events),
        )
    theirs.close()
    return rate(sides, against)


def chain(bench: Bench) -> Figure:
    """Measure the check of the whole chain."""
    events = bench.sizes.fold
    with Workspace.open(bench.large) as workspace:
        database = workspace.location.database
        sides = side_by_side(
            lambda: _sound(list(check_rows(_flat(workspace.log.pages()), after=GENESIS))),
            lambda: scan_and_decode(database, events, _ALL),
            rounds=_rounds(bench),
            by=PROCESSOR_BY_PAIRS,
            units=(events, events),
        )
    return rate(sides, _SCAN_OF_ALL)


def whole_verification(bench: Bench) -> Figure:
    """Measure a complete `sprintlog verify`."""
    events = bench.sizes.fold
    with Workspace.open(bench.large) as workspace:
        workspace.refresh(SPRINT)
        database = workspace.location.database
        sides = side_by_side(
            lambda: _sound(verify(workspace).findings),
            lambda: scan_and_decode(database, events, _ALL),
            rounds=bench.sizes.rounds,
            by=PROCESSOR_BY_PAIRS,
            units=(events, events),
        )
    return rate(sides, _SCAN_OF_ALL)


def cold_open(bench: Bench) -> Figure:
    """Measure opening the large log by checkpoint and tail against a full rebuild."""
    events = bench.sizes.fold

    def open_each() -> None:
        for _ in range(OPENINGS):
            with Workspace.open(bench.large) as workspace:
                _complete(workspace.sprint(SPRINT), events)

    def rebuild() -> None:
        with Workspace.open(bench.large) as workspace:
            _complete(workspace.repository.from_nothing(SPRINT), events)

    with Workspace.open(bench.large) as workspace:
        kept = workspace.repository.checkpoints.versions(
            workspace.log.streams().popitem()[0]
        )
        assert events - TAIL in kept, kept
    sides = side_by_side(
        open_each, rebuild, rounds=_rounds(bench), by=WALL, units=(OPENINGS, 1)
    )
    return speed_up(sides, f"{OURS}full rebuild of {events:,} events")


def blame(bench: Bench) -> Figure:
    """Measure the blame of a field that never changed, without any checkpoint."""
    events = bench.sizes.blame
    with _uncached(bench) as workspace:
        sides = side_by_side(
            lambda: _set_at(workspace, f"phases[{address(PHASES // 2)}].prompt", 1),
            lambda: _complete(workspace.repository.from_nothing(SPRINT), events),
            rounds=bench.sizes.rounds,
        )
    return duration(sides, f"{OURS}one fold of {events:,} events")


def blame_derived(bench: Bench) -> Figure:
    """Measure the blame of a figure that nearly every event changes, in the same way."""
    events = bench.sizes.blame
    with _uncached(bench) as workspace:
        sides = side_by_side(
            lambda: _set_at(workspace, "stats.elapsed", events),
            lambda: _complete(workspace.repository.from_nothing(SPRINT), events),
            rounds=bench.sizes.rounds,
        )
    return duration(sides, f"{OURS}one fold of {events:,} events")


def blame_recent(bench: Bench) -> Figure:
    """Measure the blame of a recent change, with a checkpoint 100 events before the end."""
    events = bench.sizes.blame
    with Workspace.open(bench.past) as workspace:
        sides = side_by_side(
            lambda: _set_at(workspace, "current.phase", None),
            lambda: _complete(workspace.repository.from_nothing(SPRINT), events),
            rounds=bench.sizes.rounds,
        )
    return duration(sides, f"{OURS}one fold of {events:,} events")


def blame_lines(bench: Bench) -> Figure:
    """Measure the blame of each line of the file."""
    events = bench.sizes.blame
    with Workspace.open(bench.past) as workspace:
        sides = side_by_side(
            lambda: list(lines_of(workspace, workspace.sprint(SPRINT))),
            lambda: _complete(workspace.repository.from_nothing(SPRINT), events),
            rounds=_rounds(bench),
        )
    return duration(sides, f"{OURS}one fold of {events:,} events")


def _set_at(workspace: Workspace, field: str, version: int | None) -> None:
    (found,) = blamed(workspace, SPRINT, [field])
    assert version in (None, found.event.version), found


@contextmanager
def _uncached(bench: Bench) -> Iterator[Workspace]:
    """Open the log whose history is queried, without its checkpoint."""
    with Workspace.open(bench.past) as workspace:
        workspace.repository.checkpoints.forget(sprint_stream(SPRINT))
        try:
            yield workspace
        finally:
            last = workspace.log.version(sprint_stream(SPRINT)) - TAIL
            keep_only(workspace.repository, workspace.repository.at_version(SPRINT, last))


def _rounds(bench: Bench) -> int:
    return max(2, bench.sizes.rounds // 2 + 1)


def _complete(sprint: Sprint, version: int) -> None:
    assert sprint.version == version, (sprint.version, version)


def _sound(problems: Sequence[object]) -> None:
    assert not problems, problems[:3]
