"""Redactions that are killed at every file operation, with both journals."""

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

from tests.faults.redacting import prepare, sweep
from tests.faults.runner import Runner, fast_folder
from tests.faults.shim import Unavailable
from tests.faults.sweep import Case

from .criterion import Skip, Verdict

RUNNERS = 4
CASES_PER_TURN = 10
KILLS = ("kill-before", "kill-after", "kill-inside")
CHANGES = frozenset(
    (
        "write",
        "pwrite",
        "truncate",
        "rename",
        "exchange",
        "link",
        "unlink",
        "mkdir",
        "fsync",
    )
)


def killed(data: Path, seed: int, *, every: int = 1) -> Verdict:
    """Kill a redaction before each file operation, and after and inside each change."""
    with fast_folder() as folder, ExitStack() as stack:
        runners: SimpleQueue[Runner] = SimpleQueue()
        for _ in range(RUNNERS):
            runners.put(stack.enter_context(_runner()))
        first = runners.get()
        templates = [
            prepare(first, folder / mode, mode)
            for mode in ("write_ahead_log", "rollback_journal")
        ]
        runners.put(first)
        turns = []
        for template in templates:
            chosen = [
                Case(at, how)
                for at, name in enumerate(template.operations, start=1)
                if at % every == seed % every
                for how in (KILLS if name in CHANGES else KILLS[:1])
            ]
            starts = range(0, len(chosen), CASES_PER_TURN)
            turns += [(template, chosen[at : at + CASES_PER_TURN]) for at in starts]
        random.Random(seed).shuffle(turns)

        def play(number: int) -> list[str]:
            template, some = turns[number]
            runner = runners.get()
            try:
                place = folder / f"turn-{number}"
                place.mkdir()
                return [*sweep(runner, template, some, place)]
            finally:
                runners.put(runner)

        with ThreadPoolExecutor(RUNNERS) as pool:
            problems = [p for found in pool.map(play, range(len(turns))) for p in found]
    kills = sum(len(some) for _, some in turns)
    operations = sum(len(template.operations) for template in templates)
    counts = f"{kills} kills in {operations} file operations: {len(problems)} violations"
    return Verdict(not problems, counts, problems)


def _runner() -> Runner:
    try:
        return Runner()
    except Unavailable as reason:
        raise Skip(str(reason)) from reason
