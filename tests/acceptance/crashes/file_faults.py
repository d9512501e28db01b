"""Every file operation of every writing command failed and killed, and small disks."""

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.files.endings import limited, signalled, unheard
from tests.faults.files.small_disk import live_through
from tests.faults.runner import Runner, fast_folder
from tests.faults.scenes import SCENES, Template, begin, prepare
from tests.faults.shim import Unavailable
from tests.faults.sweep import Case, cases, planted, sweep

from ..criterion import Skip, Verdict
from ..side_by_side import one_runner, runners

# SQLite waits ten seconds for a failing lock, so many runners wait in parallel.
RUNNERS = 24
CASES_PER_TURN = 25
SECONDS_TOGETHER = 10.0
TIMED_ALONE = 300
DISKS = 20
PLANTS = (("acknowledge_first", 0), ("plain_state_files", 2), ("digest_after_rename", 2))


def every_operation(data: Path, seed: int, *, every: int = 1) -> Verdict:
    """Fail every K-th file operation of each command in each way, in both journal modes."""
    with fast_folder() as folder, runners(RUNNERS) as team:
        templates = [
            prepare(team.first, scene, folder / mode / scene.name, (mode,))
            for mode in ("write_ahead_log", "rollback_journal")
            for scene in SCENES
        ]
        turns = [t for template in templates for t in _turns(template, every, seed)]
        random.Random(seed).shuffle(turns)
        problems = team.play(
            turns,
            folder,
            lambda runner, turn, place: sweep(
                runner, *turn, place, seconds_next=SECONDS_TOGETHER
            ),
        )
        problems += _timed(team.first, turns, folder, seed)
    count = sum(len(chosen) for _, chosen in turns)
    operations = sum(len(template.operations) for template in templates)
    counts = (
        f"{count} faults in {operations} file operations of {len(SCENES)} commands"
        f" (--every {every}), {TIMED_ALONE} more with the next command timed:"
        f" {len(problems)} violations"
    )
    return Verdict(not problems, counts, problems)


def planted_defects(data: Path, seed: int) -> Verdict:
    """Find each defect that is planted for the sweep."""
    problems = []
    with fast_folder() as folder, one_runner() as runner:
        for plant, scene in PLANTS:
            template = prepare(runner, SCENES[scene], folder / plant)
            if planted(runner, template, folder / plant, plant) is None:
                problems.append(f"{plant} was not found")
    return Verdict(not problems, f"{len(PLANTS)} planted defects", problems)


def small_disks(data: Path, seed: int) -> Verdict:
    """Test disks that fill up, and one that is read-only."""
    problems = []
    kinds = [*["filling"] * DISKS, "full", "readonly"]
    for number, kind in enumerate(kinds):
        with tempfile.TemporaryDirectory(prefix="sprintlog-disk-") as name:
            try:
                found = live_through(kind, Path(name), seed + number)
            except Unavailable as reason:
                raise Skip(str(reason)) from reason
        problems += [f"{kind}, seed {seed + number}: {problem}" for problem in found]
    return Verdict(not problems, f"{len(kinds)} disks", problems)


def endings(data: Path, seed: int) -> Verdict:
    """Close the reader of answers, send signals at random moments, and limit resources."""
    problems: list[str] = []
    with one_runner() as runner:
        for output in ("closed", "full", "unread"):
            with _begun(runner) as folder:
                problems += unheard(runner, folder, output)
        with _begun(runner) as folder:
            chance = random.Random(seed)
            problems += signalled(runner, folder, times=1000, chance=chance)
        for kind, values in (
            ("NOFILE", list(range(4, 24))),
            ("FSIZE", list(range(1024, 60_000, 1024))),
        ):
            with _begun(runner) as folder:
                problems += limited(runner, folder, kind, values)
    return Verdict(not problems, "9 lost answers, 1000 signals, 78 limits", problems)


def _timed(
    runner: Runner, turns: list[tuple[Template, list[Case]]], folder: Path, seed: int
) -> list[str]:
    """Return the results of some faults with nothing else running, for the timing."""
    chance = random.Random(seed)
    problems: list[str] = []
    brief = [
        (template, case)
        for template, chosen in turns
        for case in chosen
        if not case.how.endswith((":on", ":same"))
    ]
    for template, case in chance.choices(brief, k=TIMED_ALONE):
        problems += sweep(runner, template, [case], folder)
    return problems


def _turns(
    template: Template, every: int, seed: int
) -> Iterator[tuple[Template, list[Case]]]:
    everything = [c for c in cases(template) if c.at % every == seed % every]
    for start in range(0, len(everything), CASES_PER_TURN):
        yield template, everything[start : start + CASES_PER_TURN]


@contextmanager
def _begun(runner: Runner) -> Iterator[Path]:
    """Provide a folder with a log and a started sprint."""
    with fast_folder() as folder:
        begin(runner, folder)
        yield folder
