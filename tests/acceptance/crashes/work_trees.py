"""Random histories of work trees, most in one process, some with real ones and SIGKILL."""

import multiprocessing
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.faults.runner import fast_folder
from tests.properties.trees.histories import failure
from tests.properties.trees.processes import Processes
from tests.properties.trees.world import World, remove_template

from ..commands import clean_environment
from ..criterion import Verdict

HISTORIES = 1_000
WITH_PROCESSES = 50
AT_ONCE = 5
"""So many histories are played on one copy of the repository."""


def random_histories(data: Path, seed: int) -> Verdict:
    """Play random histories; after each step the six rules of the model hold."""
    begins = range(0, HISTORIES, AT_ONCE)
    with (
        fast_folder() as folder,
        ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool,
    ):
        turns = [
            pool.submit(_play, seed + begin, folder / str(begin), begin < WITH_PROCESSES)
            for begin in begins
        ]
        problems = [problem for turn in turns for problem in turn.result()]
    counts = (
        f"{HISTORIES} histories, {WITH_PROCESSES} of them with real processes and kill -9:"
        f" {len(problems)} contradict the model"
    )
    return Verdict(not problems, counts, problems)


def _play(first: int, folder: Path, is_real: bool) -> list[str]:
    """Replay some histories in this process; return those that contradict the model."""
    folder.mkdir()
    kept = clean_environment()
    os.environ.clear()
    os.environ.update(kept | {"HOME": str(folder / "home"), "GIT_CONFIG_NOSYSTEM": "1"})
    os.environ["SPRINTLOG_DEBUG"] = "1"
    tempfile.tempdir = str(folder)
    # With real processes, each query is many times as expensive.
    World.is_thorough = not is_real
    make = Processes if is_real else World
    try:
        found = [
            failure(seed, folder / "world", make) for seed in range(first, first + AT_ONCE)
        ]
    finally:
        remove_template()
        tempfile.tempdir = None
    return [str(one) for one in found if one is not None]
