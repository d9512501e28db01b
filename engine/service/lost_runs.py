"""Runs of the loop that are gone and left no end: found by their process, and recorded.

Whoever is killed records nothing, so the next one that records does. A reader only tells.
"""

import os
from pathlib import Path

from ..adapters.processes import process
from ..adapters.processes import process as processes
from ..adapters.processes.loop_lock import is_held, lock_of
from ..adapters.processes.process import host
from ..sprint.agent.actions import GATE
from ..sprint.agent.next import next_action
from ..sprint.events import GateStarted, RunStarted
from ..sprint.gates.checks import run_of
from ..sprint.gates.gate import find_gate
from ..sprint.runs.record import LoseRun
from ..sprint.state.sprint import Sprint
from .port import Service, Skippable, mention
from .streams.catalogue import sprint_stream

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


AROUND: set[Skippable] = {"finish_restores", "refuse_edits", "record_lost_run"}
"""What does not keep the end of a run from being recorded."""
ALIVE, GONE, ELSEWHERE = "alive", "gone", "elsewhere"


def seen_from_here(folder: Path, sprint_id: str, started: RunStarted) -> str:
    """Tell whether a run without an end is alive, gone, or on another machine.

    It is gone when its process is, and nothing that it started holds its lock. A process
    that is not seen may be beyond the walls that an agent was put into; its lock is seen.
    """
    if started.host != host():
        return ELSEWHERE
    known = processes.Process(started.pid, started.process_started, started.boot_id)
    # A process can live on without the run that it began.
    is_seen = started.pid != os.getpid() and processes.is_alive(known)
    return ALIVE if is_seen or is_held(lock_of(folder, sprint_id)) else GONE


def record_lost(service: Service, sprint: Sprint, *, holds_lock: bool = False) -> bool:
    """Record that the last run is gone, if it is, and say so; return whether it was.

    Who holds the lock of runs knows that nobody else does, and says it in its own way.
    """
    started = sprint.knowledge.loops.open
    if started is None:
        return False
    found = seen_from_here(service.location.folder, sprint.id, started)
    # Who works on a log of many machines holds the lease that the other one lost.
    is_ours = holds_lock and (started.host == host() or service.location.is_served)
    if found != GONE and not is_ours:
        return False
    seen = _time_of_head(service, sprint)
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
    """Return until when the last run spends time: if it is gone, its last event."""
    started = sprint.knowledge.loops.open
    if started is None or (
        seen_from_here(service.location.folder, sprint.id, started) != GONE
    ):
        return now
    return _time_of_head(service, sprint)


def _was_at_work(service: Service, sprint: Sprint) -> bool:
    """Tell whether by the log an agent was at work, or may have been at a repair."""
    action = next_action(sprint, now=service.now(), has_budgets=False)
    return action.resumed or (action.do == GATE and action.prompt is not None)


def _time_of_head(service: Service, sprint: Sprint) -> str:
    stream, version = sprint_stream(sprint.id), sprint.version
    events = service.log.read_stream(stream, after=version - 1, until=version)
    return next(iter(events)).at
