"""Gate runs: each start is recorded before the script starts, and each result after it.

No lock is held while the script runs, so the script can use sprintlog itself. If the
process is killed, the recorded run has no end, which the next run detects.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import NamedTuple, Unpack

from ...adapters.processes import process, programs
from ...errors import SprintlogError
from ...log.envelope import RecordedEvent
from ...sprint.events import GateStarted
from ...sprint.phases.gate import GateResult, gate_of
from ...sprint.phases.gate_checks import CheckGate, InterruptGate, StartGate
from ...sprint.state.sprint import Sprint
from .. import lost_runs, port
from ..streams.catalogue import CODEC
from ..workspace import ServiceWorkspace


class GateRun(NamedTuple):
    """The result of a gate run."""

    outcome: port.Outcome
    """The check and its consequences; no events if the gate had already passed."""
    started: list[RecordedEvent]
    """The events recorded before the script started."""
    refreshed: port.Refreshed | None = None
    """The status of the state file when the script started."""


def run_gate(
    workspace: ServiceWorkspace,
    sprint_id: str,
    *,
    environment: Mapping[str, str],
    phase: str | None = None,
    timeout_seconds: float | None = None,
    pass_on: Iterable[str] = (),
    interruptible: Callable[[], AbstractContextManager[None]] = nullcontext,
    **envelope: Unpack[port.Envelope],
) -> GateRun:
    """Run a gate's script in the work tree, and record the result.

    The script's environment consists of the variables in `gate_script.ENVIRONMENT` and
    those in `pass_on`. If the idempotency key is already recorded, return the recorded
    result without running the script. An interrupted run is recorded as such, and the
    exception is raised again. Signals may only take effect within `interruptible`, so that
    a known verdict is always recorded.
    """
    key, digest = envelope.pop("key", None), envelope.pop("key_digest", None)
    expect = envelope.pop("expect", None)
    handle_with = partial(workspace.handle_with, sprint_id, **envelope)
    if key is not None and workspace.log.find_key(key):
        return GateRun(handle_with(lambda *_: [], key=key, key_digest=digest), [])
    run = os.urandom(8).hex()
    lost_runs.OWN_RUNS.add(run)
    try:
        this = process.process()
        start = StartGate(run, *this, phase=phase, timeout_seconds=timeout_seconds)
        began = handle_with(start, expect=expect)
        if not began.events:
            return GateRun(began, [])
        started = CODEC.decode(began.events[-1])
        assert isinstance(started, GateStarted)
        # The script may have edited the state file: its result is recorded anyway.
        handle_with = partial(
            handle_with,
            without={"refuse_edits"},
            correlation_id=began.events[-1].correlation_id,
            causation_id=began.events[-1].id,
        )
        try:
            refreshed = workspace.refresh(sprint_id)
            with interruptible():
                result = _run(workspace, began.sprint, started, environment, pass_on)
            checked = CheckGate(started.phase, started.run, result)
            ended = handle_with(checked, key=key, key_digest=digest)
        except BaseException as error:
            # The original error matters more than this record; if recording fails, the next
            # run detects that this run is lost.
            why = str(error) or type(error).__name__
            with suppress(SprintlogError):
                handle_with(InterruptGate(started.phase, started.run, why))
            with suppress(SprintlogError):
                workspace.refresh(sprint_id)
            raise
        return GateRun(ended, began.events, refreshed)
    finally:
        lost_runs.OWN_RUNS.discard(run)


def _run(
    workspace: ServiceWorkspace,
    sprint: Sprint,
    started: GateStarted,
    environment: Mapping[str, str],
    pass_on: Iterable[str],
) -> GateResult:
    node = sprint.plan.tree.find(started.phase)
    script = gate_of(node).script if node is not None else None
    assert script is not None
    own = {
        "SPRINT_ID": sprint.id,
        "PHASE_ID": started.phase,
        "ATTEMPT_NUMBER": started.attempt,
        "SPRINTLOG_ACTOR": "agent:gate",
    }
    return programs.run_script(
        script,
        folder=workspace.location.root,
        environment=programs.environment_of(environment, extra=pass_on, **own),
        timeout_seconds=started.timeout_ms / 1000,
    )
