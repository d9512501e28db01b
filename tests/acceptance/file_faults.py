"""Every file operation of every writing command failed and killed, and small disks."""

import random
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

from tests.faults.endings import limited, signalled, unheard
from tests.faults.runner import Runner, fast_folder
from tests.faults.scenes import SCENES, Template, begin, prepare
from tests.faults.shim import Unavailable
from tests.faults.small_disk import live_through
from tests.faults.sweep import Case, cases, planted, sweep

from .criterion import Skip, Verdict

# SQLite by itself waits ten seconds for a lock that fails: many wait side by side.
RUNNERS = 24
CASES_PER_TURN = 25
SECONDS_TOGETHER = 10.0
TIMED_ALONE = 300
DISKS = 20
PLANTS = (
    ("acknowledge_first", 0),
    ("plain_state_files", 2),
    ("digest_after_rename", 2),
)


def every_operation(data: Path, seed: int, *, every: int = 1) -> Verdict:
    """Fail every K-th operation of each command in each way, with both journals."""
    with fast_folder() as folder, ExitStack() as stack:
        runners = _runners(stack)
        first = runners.get()
        templates = [
            prepare(first, scene, folder / mode / scene.name, (mode,))
            for mode in ("write_ahead_log", "rollback_journal")
            for scene in SCENES
        ]
        runners.put(first)
        turns = [t for template in templates for t in _turns(template, every, seed)]
        random.Random(seed).shuffle(turns)

        def play(number: int) -> list[str]:
            template, chosen = turns[number]
            runner = runners.get()
            try:
                place = folder / f"turn-{number}"
                place.mkdir()
                found = sweep(
                    runner, template, chosen, place, seconds_next=SECONDS_TOGETHER
                )
                return list(found)
            finally:
                runners.put(runner)

        with ThreadPoolExecutor(RUNNERS) as pool:
            problems = [p for found in pool.map(play, range(len(turns))) for p in found]
        problems += _timed(first, turns, folder, seed)
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
    with fast_folder() as folder, ExitStack() as stack:
        runner = stack.enter_context(_runner())
        for plant, scene in PLANTS:
            template = prepare(runner, SCENES[scene], folder / plant)
            if planted(runner, template, folder / plant, plant) is None:
                problems.append(f"{plant} was not found")
    return Verdict(not problems, f"{len(PLANTS)} planted defects", problems)


def small_disks(data: Path, seed: int) -> Verdict:
    """Live through disks that fill, and one that may not be written."""
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
    """Write answers nobody hears, send signals at random moments, limit a process."""
    problems: list[str] = []
    with _runner() as runner:
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
    """Return how some faults went with nothing else running: the second counts here."""
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


def _runner() -> Runner:
    try:
        return Runner()
    except Unavailable as reason:
        raise Skip(str(reason)) from reason


def _runners(stack: ExitStack) -> SimpleQueue[Runner]:
    queue: SimpleQueue[Runner] = SimpleQueue()
    for _ in range(RUNNERS):
        queue.put(stack.enter_context(_runner()))
    return queue


class _begun(ExitStack):  # noqa: N801 - used like a function
    """A folder with a log and a sprint that has started."""

    def __init__(self, runner: Runner) -> None:
        super().__init__()
        self._runner = runner

    def __enter__(self) -> Path:  # type: ignore[override]
        folder = self.enter_context(fast_folder())
        begin(self._runner, folder)
        return folder
