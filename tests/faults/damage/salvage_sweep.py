"""Salvage on a failing disk, and salvage that is killed: one file operation at a time."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from ...copies import copy_tree
from ..runner import Done, Runner
from ..scenes import Scene, prepare
from ..specimens import DATABASE, FOLDER
from ..sweep import Case, judge_ending, sample
from .salvaging import Rows, digest, read_rows

SCENE = Scene("salvage", ("doctor", "--salvage", "new", "--json"))


def sweep_salvage(
    runner: Runner, folder: Path, *, size: int, seed: int
) -> tuple[int, list[str]]:
    """Apply some faults to salvages; return their number, and the problems."""
    template = prepare(runner, SCENE, folder)
    whole = read_rows(folder / "clean" / "new" / DATABASE)
    chosen = sample(template, size=size, chance=random.Random(seed))
    problems = []
    for case in chosen:
        place = folder / "case"
        shutil.rmtree(place, ignore_errors=True)
        copy_tree(template.folder, place)
        before = digest(place / FOLDER)
        done = runner.run(place, *SCENE.arguments, fault=case._asdict())
        problems += [f"{case}: {problem}" for problem in _judged(place, case, done, whole)]
        if digest(place / FOLDER) != before:
            problems.append(f"{case}: the old log was changed")
        again = runner.run(place, "doctor", "--salvage", "again", "--json")
        if again.code != 0 or not again.json["whole"]:
            problems.append(f"{case}: not salvaged afterwards: {again}")
    return len(chosen), problems


def _judged(place: Path, case: Case, done: Done, whole: Rows) -> Iterator[str]:
    """Yield the problems of a salvage's exit status and results."""
    if done.code == 4 and done.out and not done.err:
        # Data that the disk did not return is reported as missing.
        if done.json["whole"] or not done.json["unread_pages"]:
            yield f"not whole, but {done.out}"
    else:
        yield from judge_ending(done)
    if (place / "new").exists():
        rows = read_rows(place / "new" / DATABASE)
        if rows != whole[: len(rows)] or (done.code == 0 and rows != whole):
            yield f"{len(rows)} of {len(whole)} events are in the new log"
    elif done.code == 0:
        yield "there is no new log"
    killed = done.code is not None and done.code < 0
    if not killed and not case.how.endswith(":on") and list(place.glob(".new.*")):
        yield "a draft was left"
