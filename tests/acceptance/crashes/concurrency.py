"""Concurrency: races for a stream, and state files that some processes edit."""

import tempfile
from pathlib import Path

from tests.faults.processes import drifting, racing

from ..criterion import Verdict

WRITERS = 8
RACERS = 16
ROUNDS = 100
RACE_SECONDS_MAX = 600.0
STILL_SECONDS = 300.0
EDITED_SECONDS = 60.0


def race(data: Path, seed: int) -> Verdict:
    """Check that with many writers every expectation holds and each event occurs once."""
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        limits = {"writers": RACERS, "rounds": ROUNDS}
        appended = racing.race_to_append(
            Path(name) / "append", **limits, seconds=RACE_SECONDS_MAX
        )
        acted = racing.race_to_act(Path(name) / "act", **limits, seconds=RACE_SECONDS_MAX)
    problems = appended.problems + acted.problems
    said = (
        f"{RACERS} writers: {appended.events + acted.events} events,"
        f" {appended.conflicts + acted.conflicts} conflicts,"
        f" {appended.duplicates + acted.duplicates} duplicates"
    )
    return Verdict(not problems, said, problems)


def no_false_drift(data: Path, seed: int) -> Verdict:
    """Writers that refresh one state file for minutes never detect an edit in it."""
    return _drift(seed, STILL_SECONDS, [])


def no_lost_edit(data: Path, seed: int) -> Verdict:
    """Edits by rename and in-place edits are all saved byte for byte and recorded."""
    ways = [drifting.ATOMIC, drifting.APPENDED, drifting.REWRITTEN]
    return _drift(seed, EDITED_SECONDS, ways)


def _drift(seed: int, seconds: float, how: list[str]) -> Verdict:
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        counts = drifting.drift(
            Path(name) / "log", writers=WRITERS, seconds=seconds, seed=seed, how=how
        )
    edits = ", ".join(
        f"{number} {way} ({counts.lost.get(way, 0)} lost)"
        for way, number in sorted(counts.edits.items())
    )
    said = (
        f"{WRITERS} writers for {seconds:.0f} s: {counts.events} events,"
        f" {counts.refreshes} refreshes, edits: {edits or 'none'}"
    )
    return Verdict(not counts.problems, said, counts.problems)
