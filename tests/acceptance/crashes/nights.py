"""Nights of loops that judge themselves: killed at any moment, and ten thousand long."""

import random
import tempfile
from collections import Counter
from pathlib import Path

from tests.faults.loops import long_loop, nights

from ..criterion import Skip, Verdict

KILLS, KILLS_A_NIGHT = 500, 20
ITERATIONS = 10_000
KIB_MORE_MAX = 8 * 1_024
"""Less than a KiB an iteration: a few bytes of each are kept, in copies that come and go.
A prompt, an output or an event of each would be more."""


def killed(data: Path, seed: int) -> Verdict:
    """Check that a night with killed runs ends the same and pays nothing twice."""
    rng, kills, count = random.Random(seed), 0, 0
    problems: list[str] = []
    steps: Counter[str] = Counter()
    calm = {kind: _night(kind, rng, kills=0) for kind in nights.NIGHTS}
    cut = 0
    while kills < KILLS and not problems:
        kind = nights.NIGHTS[count % len(nights.NIGHTS)]
        night = _night(kind, rng, kills=min(KILLS_A_NIGHT, KILLS - kills))
        count, kills = count + 1, kills + len(night.kills)
        cut += sum(kill.cut for kill in night.kills)
        steps.update(kill.step for kill in night.kills)
        problems += [f"{kind} {count}: {x}" for x in nights.unlike(calm[kind], night)]
        problems += [] if night.kills else ["a night ended before it was killed once"]
        if problems:
            problems += [f"killed {kill.step}" for kill in night.kills]
    spread = "; ".join(f"{step} {steps[step]}" for step in sorted(steps))
    counts = f"{kills} kills over {count} nights, {cut} runs of agents cut short; {spread}"
    return Verdict(not problems, counts, problems)


def _night(kind: str, rng: random.Random, *, kills: int) -> nights.Night:
    with tempfile.TemporaryDirectory() as name:
        return nights.bring_to_end(nights.prepare(Path(name), kind), rng, kills=kills)


def long(data: Path, seed: int) -> Verdict:
    """Check that `run` uses no more resources at the end of a loop than at its start."""
    if not Path("/proc/self/status").exists():
        raise Skip("memory and descriptors are read in /proc")
    with tempfile.TemporaryDirectory() as name:
        tree = long_loop.prepare(Path(name), ITERATIONS)
        found = long_loop.live(tree, ITERATIONS)
        early, late = long_loop.growth(found.samples, ITERATIONS)
        cost = long_loop.spent(tree)["cost_usd"]
    problems = [] if found.code == 20 else [f"it ended with {found.code}: {found.said}"]
    if late.kib - early.kib > KIB_MORE_MAX:
        problems.append(f"memory grew by {late.kib - early.kib} KiB")
    if (late.files, late.threads) > (early.files, early.threads):
        problems.append(f"{late} holds more than {early}")
    if cost != ITERATIONS * float(long_loop.COST):
        problems.append(f"{cost} dollars are not the sum of the costs")
    counts = (
        f"{ITERATIONS:,} iterations, {len(found.samples):,} looks; {early.kib:,} KiB and "
        f"{early.files} files in the second tenth, {late.kib:,} KiB and {late.files} files "
        "in the last"
    )
    return Verdict(not problems, counts, problems)
