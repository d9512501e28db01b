"""The reference loop, killed at any moment and started again."""

import random
import tempfile
from pathlib import Path

from tests.faults.loops import goal_looping, looping

from ..criterion import Verdict

KILLS, KILLS_A_SPRINT = 500, 50
GOAL_KILLS = 200


def killed(data: Path, seed: int) -> Verdict:
    """However often `run` is killed, the sprint ends as without kills."""
    rng, kills, sprints = random.Random(seed), 0, 0
    problems: list[str] = []
    calm = _life(rng, kills=0)
    while kills < KILLS and not problems:
        life = _life(rng, kills=min(KILLS_A_SPRINT, KILLS - kills))
        kills, sprints = kills + life.kills, sprints + 1
        if life.document != calm.document:
            problems.append(f"sprint {sprints}: {life.document} is not {calm.document}")
        if not life.kills:
            problems.append("a sprint ended before it was killed once")
    counts = f"{kills} kills over {sprints} sprints of {looping.PHASES + 2} phases"
    return Verdict(not problems, counts, problems)


def killed_goal(data: Path, seed: int) -> Verdict:
    """However often `run` is killed, a goal is reached with the same figures."""
    rng, kills, goals = random.Random(seed), 0, 0
    problems: list[str] = []
    calm = _goal(rng, kills=0)
    while kills < GOAL_KILLS and not problems:
        found = _goal(rng, kills=min(KILLS_A_SPRINT, GOAL_KILLS - kills))
        kills, goals = kills + found.life.kills, goals + 1
        if found.life.document != calm.life.document:
            problems.append(f"goal {goals}: {found.life.document} is another document")
        if found.figures != calm.figures:
            problems.append(f"goal {goals}: {found.figures} is not {calm.figures}")
        if not found.life.kills:
            problems.append("a goal was reached before its loop was killed once")
    counts = f"{kills} kills over {goals} goals of {goal_looping.ITERATIONS} iterations"
    return Verdict(not problems, counts, problems)


def _goal(rng: random.Random, *, kills: int) -> goal_looping.Goal:
    with tempfile.TemporaryDirectory() as name:
        goal_looping.prepare(Path(name))
        return goal_looping.bring_to_end(Path(name), rng, kills=kills)


def _life(rng: random.Random, *, kills: int) -> looping.Life:
    with tempfile.TemporaryDirectory() as name:
        looping.prepare(Path(name))
        return looping.bring_to_end(Path(name), rng, kills=kills)
