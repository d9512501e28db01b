"""Salvage on a failing disk, and a killed salvage: a complete new log or none."""

from ..runner import Runner, fast_folder
from .salvage_sweep import sweep_salvage


def test_a_failing_disk_costs_the_new_log_at_most(runner: Runner) -> None:
    """Whatever operation fails or is killed, the old log stays and can be salvaged."""
    with fast_folder() as folder:
        _, problems = sweep_salvage(runner, folder, size=60, seed=17)
    assert not problems, "\n".join(problems)
