"""What `wrap` records: in a process of its own, beside the command."""

import os
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

from sprintlog.engine.adapters.agents.activity import Activity
from sprintlog.engine.adapters.agents.output import Hearing, with_errors
from sprintlog.engine.adapters.git.state import RepositoryState, repository_state
from sprintlog.engine.adapters.processes.output import Output
from sprintlog.engine.adapters.transcripts.stream import StreamCalls
from sprintlog.engine.command import Command
from sprintlog.engine.errors import NotFoundError, RefusedError, SprintlogError
from sprintlog.engine.service import wrap
from sprintlog.engine.service.agent_sessions.run_ended import AgentRunEnded
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.sprint.agent.answers import Answer
from sprintlog.engine.sprint.events import Place
from sprintlog.engine.sprint.iterations.loop import open_iteration
from sprintlog.engine.sprint.iterations.measurement import MeasureIteration
from sprintlog.engine.sprint.iterations.wrapped import EndWrapped
from sprintlog.engine.sprint.state.times import from_milliseconds
from sprintlog.projections.workspace import Decide, Workspace, wall_clock

from .. import settings
from ..context import environment, here, log_place, open_workspace
from ..settings import off_by
from ..settings.person import safe_list
from .frames import (
    ENDED,
    FRAME,
    MEASURE_SECONDS,
    MISSED,
    WITHIN,
    HeldCommand,
    WrapRequest,
    read_missed,
    read_result,
    work_of,
)

Tell = Callable[[str], None]
BEFORE_MAX = 128
OTHERS_SECONDS = 10.0
"""How long it may take until a log is made, or an iteration around this one recorded."""


class Heard:
    """What the command printed, and how it ended."""

    def __init__(self) -> None:
        self.output, self.errors = Output(), Output()
        self.calls = StreamCalls()
        self._hearing = Hearing(also=self.calls.take)
        self.problem: Exception | None = None
        """Why what it printed was not understood."""
        self.ended: tuple[int, int] | None = None
        """Exit code and duration; None when whoever waited for it was killed."""

    def read(self, frames: BinaryIO) -> None:
        """Read until nothing more comes."""
        while head := _exactly(frames, FRAME.size):
            kind, size = FRAME.unpack(head)
            content = _exactly(frames, size)
            if kind == ENDED:
                self.ended = read_result(content)
            elif kind == MISSED:
                out, errors = read_missed(content)
                self.output.miss(out)
                self.errors.miss(errors)
            elif kind == 1:
                self.output.feed(content)
                self._understand(content)
            else:
                self.errors.feed(content)

    def _understand(self, content: bytes) -> None:
        if self.problem is None:
            try:
                self._hearing.feed(content)
            except Exception as error:  # noqa: BLE001 (what follows is to be read all the same)
                self.problem = error

    def understood(self, exit_code: int | None) -> tuple[Answer, Activity]:
        """Return what was said and done; to be called once, at the end."""
        try:
            if self.problem is None:
                heard, errors = self._hearing.heard(), self.errors.text()
                return with_errors(heard, errors, exit_code=exit_code)
        except Exception as error:  # noqa: BLE001 (a hostile output must not cost the rest)
            self.problem = error
        return Hearing().heard()


def _exactly(frames: BinaryIO, size: int) -> bytes:
    """Return so many bytes, none at the end."""
    parts = bytearray()
    while len(parts) < size:
        if not (more := frames.read(size - len(parts))):
            return b""
        parts += more
    return bytes(parts)


def record(
    asked: WrapRequest,
    frames: BinaryIO,
    tell: Tell,
    *,
    key: str,
    began: int,
    before: Callable[[], RepositoryState | None],
    waiting: HeldCommand | None = None,
) -> None:
    """Record a command that runs, until it has ended.

    Its iteration begins under the key, by which those find it that are wrapped within.
    `began` are milliseconds since 1970; `before` says where the repository stood then.
    One that is `waiting` starts once the files are kept as they are before it.
    """
    if off_by() is not None:
        return
    heard = Heard()
    # It is read all the time: whatever recording waits for, the command must not.
    reading = threading.Thread(target=heard.read, args=(frames,), daemon=True)
    reading.start()
    try:
        with _workspace() as workspace:
            recorded = _Recorded(workspace, asked, heard, tell, key, waiting)
            recorded.record(began, before, reading)
    finally:
        if waiting is not None:
            waiting.end()
        # Nobody is to find the other end closed who could go on to the end.
        reading.join()


def _workspace() -> Workspace:
    """Open the log of this folder, or make one."""
    until = time.monotonic() + OTHERS_SECONDS
    while True:
        try:
            return open_workspace()
        except NotFoundError:
            pass
        try:
            start, named = log_place()
            address = settings.log_address()
            Workspace.init(start, folder=named, address=address, safe=safe_list()).close()
        except RefusedError:
            # Another one beside us makes it in this moment.
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


class _Recorded:
    """One wrapped command and its place in the log."""

    def __init__(
        self,
        workspace: Workspace,
        asked: WrapRequest,
        heard: Heard,
        tell: Tell,
        key: str,
        waiting: HeldCommand | None,
    ) -> None:
        self._workspace = workspace
        self._waiting = waiting
        self._asked = asked
        self._heard = heard
        self._tell = tell
        self._within = os.environ.get(WITHIN, "")
        self._key = key
        self._work = work_of(os.environ, key)
        self._actor = "runtime"
        self._until = float("inf")
        """Until when nothing else changes the files, by the monotonic clock."""
        self._since = max(workspace.log.head().position - self._before_us(), 0)

    def record(
        self,
        began: int,
        before: Callable[[], RepositoryState | None],
        reading: threading.Thread,
    ) -> None:
        """Record the beginning, and the end once it is there."""
        if self._within:
            sprint_id, number = self._outer()
        else:
            sprint_id = self._sprint(from_milliseconds(began))
            began = self._after_files(sprint_id, began)
            number = self._begin(sprint_id, from_milliseconds(began))
        self._settle(sprint_id)
        reading.join()
        self._until = time.monotonic() + self._asked.patience_seconds
        code, took = self._heard.ended or (None, None)
        answer, activity = self._heard.understood(code)
        if (problem := self._heard.problem) is not None:
            self._tell(
                f"its output was not understood: {type(problem).__name__}: {problem}"
            )
        wrapped = wrap.Wrapped(
            " ".join(self._asked.command),
            code,
            took,
            self._heard.output,
            self._heard.errors,
            answer,
            activity,
            wrap.git_state(before()),
            wrap.git_state(repository_state(here(), environment())),
        )
        end = began + took if took is not None else wall_clock()
        now, ends = from_milliseconds(end), not self._within
        ended = wrap.ended(
            self._workspace,
            wrapped,
            number=number,
            ends=ends,
            now=now,
            since=self._since,
        )
        ended = wrap.with_learnings_kept(
            self._workspace,
            sprint_id,
            ended,
            actor=self._actor,
            masks=not self._asked.no_mask,
        )
        self._end(sprint_id, ended, end)
        # Imported here: the command runs already, and few have sessions.
        from ..agents.after_run import compare_sessions

        agent, is_only = activity.agent, self._work == self._key
        run = AgentRunEnded(self._work, self._since, is_only, agent, self._heard.calls)
        compare_sessions(self._workspace, run, self._tell, actor=self._actor)
        if self._asked.measure is not None and number is not None:
            self._measure(sprint_id, number)
        self._settle(sprint_id)

    def _before_us(self) -> int:
        """Return how many events hooks may have recorded before we opened the log."""
        return BEFORE_MAX if self._work == self._key else 0

    def _sprint(self, at: str) -> str:
        """Return the sprint that it belongs to, made where there is none."""
        named = self._asked.sprint_id or os.environ.get("SPRINTLOG_SPRINT")
        worktree = self._workspace.location.worktree
        place = Place("PROGRESS.yaml", worktree) if self._asked.state_files else None
        return wrap.sprint_for(
            self._workspace, named, place=place, actor=self._actor, at=at
        )

    def _after_files(self, sprint_id: str, began: int) -> int:
        """Keep the files of before the first run; return when the command begins."""
        if self._waiting is None:
            return began
        try:
            if not self._workspace.sprint(sprint_id).knowledge.starts:
                self._keep_files(sprint_id, self._waiting)
        except (SprintlogError, OSError) as error:
            self._tell(f"the files before the first run are not kept: {error}")
        self._waiting.end()
        return wall_clock()

    def _keep_files(self, sprint_id: str, waiting: HeldCommand) -> None:
        from sprintlog.engine.adapters.snapshots.capture import Limits
        from sprintlog.engine.service.work_tree.snapshot import kept_files, store_of
        from sprintlog.engine.sprint.iterations.snapshots import TakeSnapshot

        workspace = self._workspace
        store, limits = store_of(workspace), Limits()
        with kept_files(workspace, sprint_id, store, limits=limits) as (_, event_for):
            if waiting.is_over:
                # It runs already: what was looked at last may be its own work.
                self._tell(
                    "the files before the first run are not kept: that took too long"
                )
                return
            waiting.end()
            event = event_for(workspace.sprint(sprint_id))
            workspace.handle(
                TakeSnapshot(event), sprint_id=sprint_id, actor=self._actor, observed=True
            )

    def _begin(self, sprint_id: str, at: str) -> int:
        """Begin an iteration; return its number."""
        return wrap.begin(
            self._workspace,
            sprint_id,
            at=at,
            actor=self._actor,
            key=self._key,
            work=self._work,
        )

    def _outer(self) -> tuple[str, int | None]:
        """Return the sprint and the number of the iteration that this is part of.

        Another process records it, which began a moment ago; `run` records one before
        anything runs in it.
        """
        until = time.monotonic() + OTHERS_SECONDS
        while self._within != "run" and time.monotonic() < until:
            if (found := wrap.begun(self._workspace, self._within)) is not None:
                return found
            time.sleep(0.02)
        named = self._asked.sprint_id or os.environ.get("SPRINTLOG_SPRINT")
        sprint_id = self._workspace.choose(named)
        return sprint_id, open_iteration(self._workspace.sprint(sprint_id).plan)

    def _end(self, sprint_id: str, ended: EndWrapped, at: int) -> None:
        """Record the end, with the files as they are where that was asked for."""
        from sprintlog.engine.adapters.snapshots.capture import Limits
        from sprintlog.engine.service.work_tree.snapshot import (
            WithSnapshot,
            kept_files,
            store_of,
        )

        workspace = self._workspace
        keeping = (
            kept_files(workspace, sprint_id, store_of(workspace), limits=Limits())
            if self._asked.snapshot
            else nullcontext()
        )
        with keeping as kept:
            if kept is not None and self._is_over():
                self._tell("the files are not kept: that took too long")
                kept = None
            decide: Decide = ended if kept is None else WithSnapshot(ended, kept[1])
            wrap.end(
                workspace,
                sprint_id,
                decide,
                at=from_milliseconds(at),
                actor=self._actor,
                masks=not self._asked.no_mask,
                work=self._work,
            )

    def _is_over(self) -> bool:
        """Tell whether the command's end did not wait for us any more."""
        return time.monotonic() > self._until

    def _measure(self, sprint_id: str, number: int) -> None:
        """Measure what the iteration led to, and record it, or why that failed."""
        from ..iterations.capture import Capturing, capturer

        asked, command = self._asked, str(self._asked.measure)
        runs, builds = ((command,), ()) if asked.reports else ((), (command,))
        capturing = Capturing(asked.reports, (), runs, builds, MEASURE_SECONDS, ())
        captures = capturer(
            self._workspace, capturing, sprint_id=sprint_id, masks=not asked.no_mask
        )
        found: Command
        try:
            found = captures.add_to(MeasureIteration({}, number))
            if self._is_over():
                raise RefusedError("it took too long: others may have changed the files")
        except SprintlogError as error:
            found = captures.failure(error, number)
            self._tell(f"iteration {number} could not be measured: {error.message}")
        self._workspace.handle_with(sprint_id, found, actor=self._actor, observed=True)

    def _settle(self, sprint_id: str) -> None:
        """Bring the state file up to date where there is one, and where it is wanted."""
        workspace = self._workspace
        place = workspace.sprint(sprint_id).plan.place
        file = None if place is None else workspace.location.root / place.path
        if self._asked.state_files or (file is not None and Path(file).is_file()):
            refreshed = workspace.refresh(sprint_id)
            if refreshed.problem:
                self._tell(refreshed.problem)
        workspace.behind.discard(sprint_stream(sprint_id))
