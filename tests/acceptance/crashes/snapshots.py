"""Snapshots over many iterations, and restores that are cut short at every operation."""

import random
import tempfile
from pathlib import Path

from tests.adapters.trees import (
    Picture,
    change,
    extracted,
    fill,
    picture,
    put_back,
    store_in,
    taken,
)
from tests.faults.files.bringing_back import cases, prepare, sweep
from tests.faults.runner import fast_folder
from tests.faults.shim import Unavailable

from ..criterion import Skip, Verdict
from ..side_by_side import runners

ITERATIONS = 50
CHANGES = 25
RUNNERS = 4
CASES_PER_TURN = 20


def every_iteration(data: Path, seed: int) -> Verdict:
    """Bring each of many iterations back, in place and into a folder, in any order."""
    chance = random.Random(seed)
    problems = []
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        root, store = Path(name) / "tree", store_in(Path(name))
        root.mkdir()
        fill(root)
        kept: list[tuple[int, str, Picture]] = []
        for number in range(ITERATIONS):
            for _ in range(CHANGES):
                change(root, chance)
            kept.append((number, taken(store, root).commit, picture(root)))
        with store.lock():
            store.tidy()
        chance.shuffle(kept)
        for number, commit, before in kept:
            if extracted(store, commit, Path(name) / f"new-{number}") != before:
                problems.append(f"iteration {number} is another one in a folder")
            put_back(store, root, commit)
            if picture(root) != before:
                problems.append(f"iteration {number} is another one in place")
        files = sum(len(before) for _, _, before in kept)
    counts = f"{ITERATIONS} iterations, {files} files, links and folders, both ways"
    return Verdict(not problems, counts, problems)


def killed(data: Path, seed: int) -> Verdict:
    """Fail and kill a rollback with files at each of its file operations."""
    with fast_folder() as folder, runners(RUNNERS) as team:
        try:
            ground = prepare(team.first, folder)
        except Unavailable as reason:
            raise Skip(str(reason)) from reason
        every = cases(ground)
        random.Random(seed).shuffle(every)
        turns = [
            every[at : at + CASES_PER_TURN] for at in range(0, len(every), CASES_PER_TURN)
        ]
        problems = team.play(
            turns, folder, lambda runner, turn, place: sweep(runner, ground, turn, place)
        )
    counts = (
        f"{len(every)} kills and failures in {len(ground.operations)} file operations of "
        f"a rollback with files: {len(problems)} violations"
    )
    return Verdict(not problems, counts, problems)
