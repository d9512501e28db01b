"""Nights of loops that judge themselves: killed at any moment, and ten thousand long."""

import random
import tempfile
from collections import Counter
from pathlib import Path

from tests.faults import nights

from .criterion import Verdict

KILLS, KILLS_A_NIGHT = 500, 20


def killed(data: Path, seed: int) -> Verdict:
    """However often `run` is killed in a night, it ends the same and pays nothing twice."""
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
