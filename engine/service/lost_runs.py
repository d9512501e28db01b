"""Lost runs of the loop and of gates, whose process died without recording an end.

A killed process records nothing, so the next command that writes to the log records the
loss; read-only commands only report it.
"""

import os
from pathlib import Path

from ..adapters.processes import process
from ..adapters.processes.loop_lock import is_held, lock_of
from ..adapters.processes.process import host
from ..sprint.agent.actions import GATE
from ..sprint.agent.next import next_action
from ..sprint.events import GateStarted, RunStarted
from ..sprint.iterations.run_record import LoseRun
from ..sprint.phases.gate import find_gate
from ..sprint.phases.gate_checks import run_of
from ..sprint.state.sprint import Sprint
from .port import AROUND, Service, mention
from .streams.catalogue import sprint_stream

OWN_RUNS: set[str] = set()
"""The ids of the runs of this process, which may outlive a lost run."""
ALIVE, GONE, ELSEWHERE = "alive", "gone", "elsewhere"


def record_lost(service: Service, sprint: Sprint, *, holds_lock: bool = False) -> bool:
    """Record and report the latest run if it is lost; return whether it is lost.

    A caller that holds the run lock knows that the run's process has died, and reports the
    loss itself.
    """
    started = sprint.knowledge.loops.open
    if started is None:
        return False
    found = seen_from_here(service.location.folder, sprint.id, started)
    # On a shared log, the caller also holds the lease that the other machine lost.
    is_ours = holds_lock and (started.host == host() or service.location.is_served)
    if found != GONE and not is_ours:
        return False
    seen = time_of(service, sprint, sprint.version)
    lose = LoseRun(started.run, seen, _was_at_work(service, sprint))
    events = service.handle_with(sprint.id, lose, without=AROUND).events
    if events and not holds_lock:
        said = (
            f"the run of process {started.pid}, which began {started.since}, is gone "
            f"without an end: it is recorded as lost; its last event is of {seen}"
        )
        mention(service, said)
    return bool(events)


def spent_until(service: Service, sprint: Sprint, now: str) -> str:
    """Return until when the latest run counts: now, or its last event if it is lost."""
    started = sprint.knowledge.loops.open
    if started is None or (
        seen_from_here(service.location.folder, sprint.id, started) != GONE
    ):
        return now
    return time_of(service, sprint, sprint.version)


def seen_from_here(folder: Path, sprint_id: str, started: RunStarted) -> str:
    """Return the state of an unfinished run: alive, gone, or on another machine.

    The run is gone if its process has died and no process that it started holds its lock.
    Inside an agent's sandbox, the process may be invisible, but the lock is visible.
    """
    if started.host != host():
        return ELSEWHERE
    known = process.Process(started.pid, started.process_started, started.boot_id)
    # A process can outlive the run that it started.
    is_seen = started.pid != os.getpid() and process.is_alive(known)
    return ALIVE if is_seen or is_held(lock_of(folder, sprint_id)) else GONE


def is_alive(started: GateStarted) -> bool:
    """Return whether the process that started a gate run is still running it."""
    known = process.Process(started.pid, started.process_started, started.boot_id)
    if started.pid == os.getpid():
        return started.run in OWN_RUNS
    return process.is_alive(known)


def lost_run(sprint: Sprint, phase: str | None) -> str | None:
    """Return the gate run whose process died without recording an end, or None."""
    started = run_of(sprint.plan, find_gate(sprint, phase))
    return started.run if started is not None and not is_alive(started) else None


def _was_at_work(service: Service, sprint: Sprint) -> bool:
    """Return whether the log shows an agent at work or possibly repairing a gate."""
    action = next_action(sprint, now=service.now(), has_budgets=False)
    return action.resumed or (action.do == GATE and action.prompt is not None)


def time_of(service: Service, sprint: Sprint, version: int) -> str:
    """Return the time of a sprint's event at a version."""
    stream = sprint_stream(sprint.id)
    return next(iter(service.log.read_stream(stream, after=version - 1, until=version))).at
