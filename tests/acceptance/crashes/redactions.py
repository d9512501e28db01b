"""Redactions killed at every file operation, in both journal modes."""

import random
from pathlib import Path

from tests.faults.files.redacting import prepare, sweep
from tests.faults.runner import fast_folder
from tests.faults.sweep import Case

from ..criterion import Verdict
from ..side_by_side import runners

RUNNERS = 4
CASES_PER_TURN = 10
KILLS = ("kill-before", "kill-inside")
"""A kill after an operation leaves the disk in the state before the next one."""


def killed(data: Path, seed: int, *, every: int = 1) -> Verdict:
    """Kill a redaction before each file operation, and inside each write."""
    with fast_folder() as folder, runners(RUNNERS) as team:
        templates = [
            prepare(team.first, folder / mode, mode)
            for mode in ("write_ahead_log", "rollback_journal")
        ]
        turns = []
        for template in templates:
            chosen = [
                Case(at, how)
                for at, name in enumerate(template.operations, start=1)
                if at % every == seed % every
                for how in KILLS[: 1 + name.endswith("write")]
            ]
            starts = range(0, len(chosen), CASES_PER_TURN)
            turns += [(template, chosen[at : at + CASES_PER_TURN]) for at in starts]
        random.Random(seed).shuffle(turns)
        problems = team.play(
            turns, folder, lambda runner, turn, place: sweep(runner, *turn, place)
        )
    kills = sum(len(some) for _, some in turns)
    operations = sum(len(template.operations) for template in templates)
    counts = f"{kills} kills in {operations} file operations: {len(problems)} violations"
    return Verdict(not problems, counts, problems)
