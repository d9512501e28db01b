"""However a command ended, the next one updates every state file from the log."""

import random

import pytest

from ..runner import Runner, fast_folder
from .settling import begin, unsettled

SEEDS = range(4)
ROUNDS = 12


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_next_command_leaves_the_files_as_the_log_has_them(
    seed: int, runner: Runner
) -> None:
    """After a signal, a refusal or an external pause the next command repairs all files."""
    with Runner() as other, fast_folder() as folder:
        begin(runner, folder)
        chance = random.Random(seed)
        assert list(unsettled(runner, other, folder, rounds=ROUNDS, chance=chance)) == []
