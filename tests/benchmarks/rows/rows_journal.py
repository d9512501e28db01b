"""Rows about the journal: an entry recorded, and its file written, against rewriting it."""

import json
import os
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from sprintlog.engine.journal.foreign import take_document
from sprintlog.engine.journal.parts import Context, Entry, Observation
from sprintlog.engine.journal.rules import RecordEntry
from sprintlog.engine.journal.state import Journal
from sprintlog.engine.log.append import APPEND_EVENTS_MAX
from sprintlog.engine.log.event import Event
from sprintlog.projections.workspace import Workspace
from tests.kept_states import keep_only

from ..logs import Bench
from ..measure import OURS, WALL, Figure, duration, side_by_side, speed_up

_AT = "2026-02-01T10:00:00Z"
_SHORT = 10
_ENTRIES = 20
"""How many are recorded in one round."""


def flat(bench: Bench) -> Figure:
    """Measure an entry recorded in a long journal against one in a short journal."""
    with (
        _journal(bench, "flat", bench.sizes.appends) as long,
        _journal(bench, "flat-short", _SHORT) as short,
    ):
        sides = side_by_side(
            lambda: _record(long, _ENTRIES),
            lambda: _record(short, _ENTRIES),
            rounds=4 * bench.sizes.rounds,
            units=(_ENTRIES, _ENTRIES),
            by=WALL,
        )
    return duration(sides, f"{OURS}the same in a journal of {_SHORT}")


def recorded(bench: Bench) -> Figure:
    """Measure an entry recorded in a long journal against rewriting its file."""
    with _journal(bench, "recorded", bench.sizes.appends) as workspace:
        old = _OldWay(bench, "recorded-old", workspace)
        sides = side_by_side(
            lambda: _record(workspace, _ENTRIES),
            old.append,
            rounds=bench.sizes.rounds,
            units=(_ENTRIES, 1),
            by=WALL,
        )
    return speed_up(sides, "json.load, append, json.dump, fsync, rename")


def written(bench: Bench) -> Figure:
    """Measure an entry recorded and the file written, resident, against rewriting it."""
    with _journal(bench, "written", bench.sizes.appends) as workspace:
        old = _OldWay(bench, "written-old", workspace)

        def ours() -> None:
            _record(workspace, 1)
            workspace.refresh_journal()

        sides = side_by_side(ours, old.append, rounds=2 * bench.sizes.rounds, by=WALL)
        made = (workspace.location.root / ".ralph" / "progress.json").read_bytes()
        assert len(json.loads(made)["entries"]) > bench.sizes.appends
    return speed_up(sides, "json.load, append, json.dump, fsync, rename")


def entry(number: int) -> Entry:
    """Return an entry as large as those of the specification's example."""
    return Entry(
        prd_id=f"prd-{number % 500}",
        status=("completed", "failed", "blocked", "partial")[number % 4],
        duration_seconds=600 + number,
        summary="Sign-in by password, with tokens that are renewed when they are old",
        observations=(
            Observation(
                type="finding",
                title="Tokens are renewed elsewhere",
                description="The client renews tokens itself; ours must look the same.",
                file="internal/client/tokens.py",
                category="architecture",
                severity="medium",
                action_taken="documented",
            ),
            Observation(type="completion", title="The way in was there", severity="info"),
        ),
        files_modified=("internal/handlers/sign_in.py", "internal/services/tokens.py"),
        git_commits=("a1b2c3d",),
        context=Context(retry_count=number % 3, dependencies_completed=("user-model",)),
    )


class _OldWay:
    """progress.json as maintained by the specification's functions: read, add, write."""

    def __init__(self, bench: Bench, name: str, workspace: Workspace) -> None:
        self._path = bench.new_folder(name) / "progress.json"
        workspace.refresh_journal()
        file = workspace.location.root / ".ralph" / "progress.json"
        self._path.write_bytes(file.read_bytes())
        self._entry: Any = json.loads(self._path.read_bytes())["entries"][-1]

    def append(self) -> None:
        """Add one entry."""
        with self._path.open(encoding="utf-8") as file:
            document = json.load(file)
        document["entries"].append(self._entry)
        draft = Path(f"{self._path}.tmp")
        with draft.open("w", encoding="utf-8") as file:
            json.dump(document, file, indent=2, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)


_numbers = count()


def _record(workspace: Workspace, entries: int) -> None:
    for _ in range(entries):
        _act(workspace, next(_numbers))


def _act(workspace: Workspace, number: int) -> None:
    made = entry(number)
    workspace.handle_on_journal(
        lambda journal, at: RecordEntry(entry=made).decide(journal, at)
    )


def _journal(bench: Bench, name: str, entries: int) -> Workspace:
    """Return a workspace whose journal contains a number of entries."""
    workspace = Workspace.init(bench.new_folder(name), here=True)
    shaped = [_as_written(number) for number in range(entries)]
    document = {"version": "1.0", "created_at": _AT, "entries": shaped}

    def take(journal: Journal, at: str) -> list[Event]:
        ours = workspace.documents.current(journal.id)
        return take_document(ours, document).events[:APPEND_EVENTS_MAX]

    while workspace.handle_on_journal(take).events:
        pass
    keep_only(workspace.journals, workspace.journal())
    return workspace


def _as_written(number: int) -> Any:
    data: Any = msgspec.to_builtins(entry(number))
    iteration = 1 + number // 500
    return {
        **data,
        "id": f"{data['prd_id']}-{iteration}",
        "iteration": iteration,
        "timestamp": _AT,
    }
