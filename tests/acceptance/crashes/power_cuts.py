"""Thousands of possible disks after a power failure, each opened and continued."""

import random
from pathlib import Path

from tests.faults.files.cuts import cut, record
from tests.faults.runner import fast_folder

from ..criterion import Verdict
from ..side_by_side import one_runner

MODES = ("write_ahead_log", "rollback_journal")
IMAGES = 800
IMAGES_FROM_INIT = 200
PLANTS = (
    ("write_ahead_log", "synchronous_off", False),
    ("rollback_journal", "synchronous_off", False),
    ("rollback_journal", "journal_gone_unsynced", False),
    ("write_ahead_log", "acknowledge_first", False),
    ("write_ahead_log", "folders_unsynced", True),
)


def images(data: Path, seed: int) -> Verdict:
    """Search for acknowledged events in every disk image, in both journal modes."""
    chance, count = random.Random(seed), 0
    problems: list[str] = []
    with one_runner() as runner, fast_folder() as folder:
        for mode in MODES:
            recording = record(runner, folder / mode, [mode])
            for size, from_init in ((IMAGES, False), (IMAGES_FROM_INIT, True)):
                count += size
                place = folder / mode
                found = cut(
                    runner,
                    recording,
                    place,
                    images=size,
                    chance=chance,
                    from_init=from_init,
                )
                problems += [f"{mode}: {problem}" for problem in found]
    counts = f"{count} images, {len(problems)} violations"
    return Verdict(not problems, counts, problems)


def planted_defects(data: Path, seed: int) -> Verdict:
    """Find each defect that is planted for the images."""
    problems = []
    with one_runner() as runner, fast_folder() as folder:
        for mode, plant, near in PLANTS:
            place = folder / f"{mode} {plant}"
            recording = record(runner, place, [mode, plant])
            options = {"from_init": near, "near_init": near}
            chance = random.Random(seed)
            found = cut(runner, recording, place, images=400, chance=chance, **options)
            if next(found, None) is None:
                problems.append(f"{plant} was not found with {mode}")
    return Verdict(not problems, f"{len(PLANTS)} planted defects", problems)
