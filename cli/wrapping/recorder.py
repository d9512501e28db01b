"""What `wrap` records: in a process of its own, beside the command."""

import os
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

from sprintlog.engine.adapters.agents.output import Hearing
from sprintlog.engine.adapters.git.state import RepositoryState, repository_state
from sprintlog.engine.adapters.processes.output import Output
from sprintlog.engine.command import Command
from sprintlog.engine.errors import NotFoundError, RefusedError, SprintlogError
from sprintlog.engine.service import wrap
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.sprint.events import Place
from sprintlog.engine.sprint.iterations.loop import open_iteration
from sprintlog.engine.sprint.iterations.measurement import MeasureIteration
from sprintlog.engine.sprint.iterations.wrapped import EndWrapped
from sprintlog.engine.sprint.state.times import from_milliseconds
from sprintlog.projections.workspace import Decide, Workspace, wall_clock

from ..context import environment, here, log_place, open_workspace, safe_list
from ..settings import off_by
from .frames import ENDED, FRAME, WITHIN, WrapRequest, read_result

Tell = Callable[[str], None]


class Heard:
    """What the command printed, and how it ended."""

    def __init__(self) -> None:
        self.output, self.errors = Output(), Output()
        self.hearing = Hearing()
        self.ended: tuple[int, int] | None = None
        """Exit code and duration; None when whoever waited for it was killed."""

    def read(self, frames: BinaryIO) -> None:
        """Read until nothing more comes."""
        while head := _exactly(frames, FRAME.size):
            kind, size = FRAME.unpack(head)
            content = _exactly(frames, size)
            if kind == ENDED:
                self.ended = read_result(content)
            elif kind == 1:
                self.output.feed(content)
                self.hearing.feed(content)
            else:
                self.errors.feed(content)


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
    began: int,
    before: Callable[[], RepositoryState | None],
) -> None:
    """Record a command that runs, until it has ended.

    `began` are milliseconds since 1970; `before` says where the repository stood then.
    """
    if off_by() is not None:
        return
    heard = Heard()
    # It is read all the time: whatever recording waits for, the command must not.
    reading = threading.Thread(target=heard.read, args=(frames,), daemon=True)
    reading.start()
    try:
        with _workspace() as workspace:
            _Recorded(workspace, asked, heard, tell).record(began, before, reading)
    except SprintlogError as error:
        reading.join()
        tell(f"not recorded: {error.message}" + (f" ({error.hint})" if error.hint else ""))
    except Exception as error:  # noqa: BLE001 (a process of its own: nobody else tells it)
        reading.join()
        tell(f"not recorded: {type(error).__name__}: {error}")


def _workspace() -> Workspace:
    """Open the log of this folder, or make one."""
    try:
        return open_workspace()
    except NotFoundError:
        pass
    try:
        start, named = log_place()
        Workspace.init(start, folder=named, safe=safe_list()).close()
    except RefusedError:
        # Another one beside us made it in this moment.
        time.sleep(0.05)
    return open_workspace()


class _Recorded:
    """One wrapped command and its place in the log."""

    def __init__(
        self, workspace: Workspace, asked: WrapRequest, heard: Heard, tell: Tell
    ) -> None:
        self._workspace = workspace
        self._asked = asked
        self._heard = heard
        self._tell = tell
        self._is_inner = bool(os.environ.get(WITHIN))
        self._actor = "runtime"

    def record(
        self,
        began: int,
        before: Callable[[], RepositoryState | None],
        reading: threading.Thread,
    ) -> None:
        """Record the beginning, and the end once it is there."""
        at = from_milliseconds(began)
        sprint_id = self._sprint(at)
        number = self._begin(sprint_id, at)
        self._settle(sprint_id)
        reading.join()
        code, took = self._heard.ended or (None, None)
        answer, activity = self._heard.hearing.heard()
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
        ended = wrap.ended(wrapped, number=number, ends=not self._is_inner)
        self._end(sprint_id, ended, began + took if took is not None else wall_clock())
        if self._asked.measure is not None and number is not None:
            self._measure(sprint_id, number)
        self._settle(sprint_id)

    def _sprint(self, at: str) -> str:
        named = self._asked.sprint_id or os.environ.get("SPRINTLOG_SPRINT")
        if self._is_inner:
            return self._workspace.choose(named)
        worktree = self._workspace.location.worktree
        place = Place("PROGRESS.yaml", worktree) if self._asked.state_files else None
        return wrap.sprint_for(
            self._workspace, named, place=place, actor=self._actor, at=at
        )

    def _begin(self, sprint_id: str, at: str) -> int | None:
        if self._is_inner:
            return open_iteration(self._workspace.sprint(sprint_id).plan)
        return wrap.begin(self._workspace, sprint_id, at=at, actor=self._actor)

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
            decide: Decide = ended if kept is None else WithSnapshot(ended, kept[1])
            wrap.end(
                workspace,
                sprint_id,
                decide,
                at=from_milliseconds(at),
                actor=self._actor,
                masks=not self._asked.no_mask,
            )

    def _measure(self, sprint_id: str, number: int) -> None:
        """Measure what the iteration led to, and record it, or why that failed."""
        from ..iterations.capture import TIMEOUT_SECONDS, Capturer, Capturing

        asked, command = self._asked, str(self._asked.measure)
        runs, builds = ((command,), ()) if asked.reports else ((), (command,))
        capturing = Capturing(asked.reports, (), runs, builds, TIMEOUT_SECONDS, ())
        capturer = Capturer(self._workspace, capturing, sprint_id=sprint_id)
        masks = not asked.no_mask
        found: Command
        try:
            found = capturer.add_to(MeasureIteration({}, number), masks=masks)
        except SprintlogError as error:
            found = capturer.failure(error, number, masks=masks)
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
