"""Snapshots over many iterations, and restores that are cut short at every operation."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.adapters.trees import (
    Picture,
    change,
    environment,
    extracted,
    fill,
    picture,
    put,
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
    """Restore each of many iterations, in place and into a folder, in any order."""
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


KILLED_LARGE = ((5_000, 200), (60_000, 5))
"""How many files a rollback replaces, and how often it is killed."""
MOMENTS = 4
"""A rollback is killed up to this many times before it is finished."""


def killed_at_random(
    data: Path, seed: int, sizes: tuple[tuple[int, int], ...] = KILLED_LARGE
) -> Verdict:
    """Kill rollbacks of many files at random moments; each is then finished."""
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        for files, kills in sizes:
            root = Path(name) / str(files)
            root.mkdir()
            problems += _killed_rollbacks(root, files, kills, random.Random(seed))
    counts = ", ".join(f"{kills} kills with {files:,} files" for files, kills in sizes)
    return Verdict(not problems, f"{counts}: {len(problems)} violations", problems)


def _killed_rollbacks(
    root: Path, files: int, kills: int, chance: random.Random
) -> Iterator[str]:
    """Yield the problems after killing rollbacks from one iteration to another."""

    def start(*arguments: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "sprintlog.cli", *arguments]
        return subprocess.Popen(
            command, cwd=root, env=environment(), stdout=-3, stderr=-3, process_group=0
        )

    def fill_with(word: str) -> dict[str, bytes]:
        content = {f"{n % 100}/{n}": f"{word} {n}\n".encode() * 40 for n in range(files)}
        for path, written in content.items():
            put(root / path, written)
        return content

    def on_disk() -> dict[str, bytes]:
        found = (p for p in root.glob("*/*") if p.parts[-2] != ".sprintlog")
        return {p.relative_to(root).as_posix(): p.read_bytes() for p in found}

    for typed in ("init --here", "sprint create s --goal g", "sprint start"):
        start(*typed.split()).wait()
    contents = []
    for word in ("one", "two"):
        contents.append(fill_with(word))
        start("iteration", "start").wait()
        start("iteration", "end", "--snapshot").wait()
    began = time.monotonic()
    start("rollback", "iter:1", "--files", "--yes").wait()
    took, at, done = time.monotonic() - began, 0, 0
    while done < kills:
        at = 1 - at
        for _ in range(min(MOMENTS, kills - done)):
            running = start("rollback", f"iter:{at + 1}", "--files", "--yes")
            time.sleep(chance.uniform(0, took))
            # The second process ends with the first one, also if only that is killed.
            (os.kill if done % 2 else os.killpg)(running.pid, signal.SIGKILL)
            running.wait()
            time.sleep(0.1)
            done += 1
            if on_disk().keys() - contents[0].keys() - _drafts(on_disk()):
                yield f"{files} files: they differ after kill {done}"
        ended = start("rollback", f"iter:{at + 1}", "--files", "--yes").wait()
        if ended != 0 or on_disk() != contents[at]:
            yield f"{files} files: after kill {done} it ends with {ended}, or files differ"
    if (ended := start("verify", "--full").wait()) != 0:
        yield f"{files} files: `verify --full` ends with {ended}"


def _drafts(found: dict[str, bytes]) -> set[str]:
    return {path for path in found if path.partition("/")[2].startswith(".sprintlog-")}
