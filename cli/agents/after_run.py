"""What `run` and `wrap` do once the agent's process has ended: compare its sessions."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from sprintlog.engine.adapters.transcripts.hook_calls import HookPlace
from sprintlog.engine.adapters.transcripts.told import StreamCalls
from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.service.agent_sessions.reconcile import OneRun, take_calls
from sprintlog.engine.service.agent_sessions.run_ended import AgentRunEnded, hooked_sessions
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.sessions.names import session_of
from sprintlog.engine.sessions.work import work_in
from sprintlog.projections.workspace import Workspace

from ..output import counted
from .reconciliation import lines_of_answer, reconcile_session

BYTES_MAX = 32 * 1024 * 1024
"""A longer transcript would keep a loop waiting: it is read where somebody asks."""
SECONDS = 5.0
"""How long calls of one session are recorded; of a transcript, `session reconcile` takes
what is left."""
ALL_SECONDS = 10.0
"""No session is begun to be compared later than so long after the first."""
PATIENCE_SECONDS = 0.5
"""How long hooks of an agent that was killed may still run."""


def compare_sessions(
    workspace: Workspace, run: AgentRunEnded, tell: Callable[[str], None], *, actor: str
) -> None:
    """Record what the hooks of a run missed, and tell where that is anything.

    Whatever fails here is of no consequence for the run.
    """
    try:
        for line in _compared(workspace, run, actor=actor):
            tell(line)
    except Exception as error:  # noqa: BLE001 (what an agent keeps may be anything)
        tell(f"its sessions were not compared: {type(error).__name__}: {error}")


def compare_lost(
    workspace: Workspace, sprint_id: str, tell: Callable[[str], None], *, actor: str
) -> None:
    """Compare the sessions of the last run of a sprint, which was killed.

    To be called by who holds the lock of runs: all that it started is gone, too.
    """
    began = workspace.sprint(sprint_id).knowledge.loops.version
    if not began:
        return
    stream = sprint_stream(sprint_id)
    for run in workspace.log.read_stream(stream, after=began - 1, until=began):
        work = run.correlation_id or ""
        is_only = work != work_in(os.environ)
        ended = AgentRunEnded(work, run.position, is_only, None, StreamCalls())
        compare_sessions(workspace, ended, tell, actor=actor)


def _compared(workspace: Workspace, run: AgentRunEnded, *, actor: str) -> Iterator[str]:
    hooked = hooked_sessions(workspace.log, run)
    until = time.monotonic() + ALL_SECONDS
    for number, (stream, is_over) in enumerate(hooked):
        if time.monotonic() > until:
            left = counted(len(hooked) - number, "session")
            yield f"{left} not compared: `sprintlog session reconcile` does it"
            break
        # What cannot be read is said to those who ask for it.
        with suppress(SprintlogError):
            answer = reconcile_session(
                workspace,
                session_of(stream),
                None,
                is_over=is_over,
                actor=actor,
                work=run.work,
                bytes_max=BYTES_MAX,
                seconds=SECONDS,
                patience=PATIENCE_SECONDS,
            )
            if answer.recorded:
                yield from lines_of_answer(answer)
    told = {stream for stream, _ in hooked}
    place = HookPlace(str(workspace.location.root), os.environ.get("HOME", ""))
    for stream, calls in run.calls.sessions(run.agent, place).items():
        taken = take_calls(
            workspace.log,
            stream,
            calls,
            is_over=True,
            now=workspace.now(),
            run=OneRun(run.work, run.since),
            seconds=SECONDS,
        )
        if taken.recorded and stream in told:
            line = f"hooks saw {taken.seen} of {counted(len(calls), 'tool call')}"
            yield f"{line}; {taken.taken} taken from the stream"
        if taken.left:
            yield f"{counted(taken.left, 'tool call')} of the stream not recorded in time"
