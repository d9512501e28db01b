"""Which runs of gates are under way: those of a process that is gone are lost."""

import os

from ..adapters.processes import process
from ..sprint.events import GateStarted
from ..sprint.gates.checks import run_of
from ..sprint.gates.gate import find_gate
from ..sprint.state.sprint import Sprint

OWN_RUNS: set[str] = set()
"""The runs of this process: it may live on when one of them was lost."""


def is_alive(started: GateStarted) -> bool:
    """Tell whether the process that began a run is still at it."""
    known = process.Process(started.pid, started.process_started, started.boot_id)
    if started.pid == os.getpid():
        return started.run in OWN_RUNS
    return process.is_alive(known)


def lost_run(sprint: Sprint, phase: str | None) -> str | None:
    """Return the run of a gate that is under way by the log, and whose process is gone."""
    started = run_of(sprint.plan, find_gate(sprint, phase))
    return started.run if started is not None and not is_alive(started) else None
