"""Random lives of sprints: next, hints, rollbacks and state files follow their laws."""

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.faults.files import settling
from tests.faults.runner import Runner, fast_folder, shared
from tests.properties.living import WORDS, live_to_the_end
from tests.properties.planted_rules import IN_LOOPS, PLANTED, find, find_in_loops

from .criterion import Verdict

ROOT = Path(__file__).resolve().parent.parent.parent
LIVES = 20_000
SEEN_MIN = 200
FOLDERS, ROUNDS = 60, 20
LIVES_PER_PLANT = 20_000


def lead_on(data: Path, seed: int) -> Verdict:
    """From 20,000 states, `next` and its hints lead to an end or a person."""
    problems: list[str] = []
    census: Counter[str] = Counter()
    for number in range(LIVES):
        try:
            live_to_the_end(random.Random(f"{seed}/{number}"), census=census)
        except Exception as error:  # noqa: BLE001 - every failure is reported
            problems.append(f"life {seed}/{number}: {type(error).__name__}: {error}")
    rare = [f"{word}: {census[word]}" for word in sorted(WORDS) if census[word] < SEEN_MIN]
    problems += [f"seen too rarely: {word}" for word in rare]
    seen = ", ".join(f"{word} {census[word]}" for word in sorted(WORDS))
    return Verdict(not problems, f"{LIVES} lives; seen in so many: {seen}", problems)


def go_back(data: Path, seed: int) -> Verdict:
    """Check that rollbacks never discard a verified iteration as good as the best."""
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "--long", "-p", "no:cacheprovider",
            f"--hypothesis-seed={seed}",
            "tests/properties/iterations/test_rollback_target_laws.py",
        ],
        cwd=ROOT,
        env={**os.environ, "SPRINTLOG_EXAMPLES": "334"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr
    counts = f"{334 * 60} histories for each law: {last}"
    return Verdict(done.returncode == 0, counts, done.stdout.splitlines()[-30:])


def settle(data: Path, seed: int) -> Verdict:
    """However commands end, the next one brings the state files up to date with the log."""
    problems: list[str] = []
    with Runner() as other:
        for number in range(FOLDERS):
            chance = random.Random(f"{seed}/{number}")
            with fast_folder() as folder:
                settling.begin(shared(), folder)
                problems += settling.unsettled(
                    shared(), other, folder, rounds=ROUNDS, chance=chance
                )
    return Verdict(not problems, f"{FOLDERS * ROUNDS} endings", problems)


def planted_defects(data: Path, seed: int) -> Verdict:
    """Check that each defect planted in the rules is detected."""
    found = {name: find(name, seed=seed, lives=LIVES_PER_PLANT) for name in PLANTED}
    missed = [f"not found: {name}" for name, after in found.items() if after is None]
    missed += [f"not found: {name}" for name in IN_LOOPS if not find_in_loops(name)]
    counts = ", ".join(f"{name} after {after}" for name, after in found.items())
    counts = f"{len(PLANTED) + len(IN_LOOPS)} planted: {counts}; {', '.join(IN_LOOPS)}"
    return Verdict(not missed, counts, missed)
