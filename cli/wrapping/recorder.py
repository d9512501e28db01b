"""The recorder of `wrap`: a separate process that runs alongside the command."""

import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path, PurePath
from typing import BinaryIO, TypeVar

import msgspec

from sprintlog.engine import errors
from sprintlog.engine.adapters.git.untrusted import RepositoryState, repository_state
from sprintlog.engine.command import Command
from sprintlog.engine.errors import NotFoundError, RefusedError, SprintlogError
from sprintlog.engine.service import wrap
from sprintlog.engine.service.agent_sessions.at_work import begin_iteration, working
from sprintlog.engine.service.agent_sessions.ran import AgentRunEnded
from sprintlog.engine.service.driver import spooled_runs
from sprintlog.engine.service.place.anchor import follow
from sprintlog.engine.service.place.location import find
from sprintlog.engine.service.place.trust import safe_list
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.service.work_tree.start_files import ListedFiles
from sprintlog.engine.sprint.events import Place
from sprintlog.engine.sprint.iterations.loop import EndWrapped
from sprintlog.engine.sprint.iterations.measurement import MeasureIteration
from sprintlog.engine.sprint.state.document_fields import ITERATIONS_MAX
from sprintlog.engine.sprint.state.sprint import open_iteration
from sprintlog.engine.sprint.state.times import from_milliseconds
from sprintlog.engine.sprint.state.words import missing_json
from sprintlog.projections.workspace import Decide, Workspace, wall_clock

from .. import settings
from ..context import environment, here, log_place, open_workspace
from ..settings import off_by
from .command_output import Heard
from .frames import MEASURE_SECONDS, WITHIN, HeldCommand, WrapRequest, is_run, work_of

T = TypeVar("T")
Tell = Callable[[str], None]
BEFORE_MAX = 128
OTHERS_SECONDS = 10.0
"""The time limit for another process to create a log or record the enclosing iteration."""


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
    """Record a command from its start to its end.

    The key is recorded at the start of the command's iteration, so that nested wraps can
    find the iteration. `began` is in milliseconds since 1970; `before` is the state of the
    repository at that time. A command that is `waiting` starts once the existing files have
    been saved.
    """
    if off_by() is not None:
        return
    heard, location = Heard(), None
    unrecorded: SprintlogError | None = None
    # Read in a separate thread, so that recording never blocks the command.
    reading = threading.Thread(target=heard.read, args=(frames,), daemon=True)
    reading.start()
    try:
        try:
            with open_or_make(tell) as workspace:
                location = workspace.location
                recorded = _Recorded(workspace, asked, heard, tell, key, waiting)
                recorded.record(began, before, reading)
        except errors.LostLogError as lost:
            reading.join()
            with open_or_make(tell) as workspace:
                recorded = _Recorded(workspace, asked, heard, tell, key, None)
                tell(recorded.record_loss(lost, began))
                recorded.record(began, before, reading)
    except errors.NewerVersionError as error:
        unrecorded, until = error, "by the next `wrap` of a newer sprintlog"
    except errors.MovedLogError as error:
        unrecorded, until = error, "by the next `wrap` once the log is there again"
    finally:
        if waiting is not None:
            waiting.end()
        # The command must not encounter a closed pipe while it is still running.
        reading.join()
    if unrecorded is not None:
        start, named = log_place()
        (code, took), at = heard.ended or (None, None), from_milliseconds(began)
        command, said = " ".join(asked.command), (heard.output.text(), heard.errors.text())
        run = spooled_runs.SpooledRun(key, asked.sprint_id, command, code, took, at, *said)
        spooled_runs.keep(location or find(start, folder=named), run, os.environ)
        tell(f"recorded {until}: {unrecorded}")


def open_or_make(tell: Tell) -> Workspace:
    """Open the log of the current folder, or create one."""
    until = time.monotonic() + OTHERS_SECONDS
    while True:
        try:
            workspace = open_workspace()
        except NotFoundError as missing:
            unused = missing if "unused" in missing.fields else None
        else:
            try:
                follow(workspace)
            except FileNotFoundError:
                # Another process is moving the log at this moment.
                workspace.close()
                if time.monotonic() > until:
                    raise
                continue
            return workspace
        try:
            start, named = log_place()
            address = settings.log_address()
            Workspace.init(start, folder=named, address=address, safe=safe_list()).close()
            if unused is not None:
                tell(unused.message)
        except RefusedError:
            # Another process is creating the log at this moment.
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def begin_sprint(
    workspace: Workspace,
    tell: Tell,
    *,
    actor: str,
    at: str,
    named: str | None = None,
    goal: str | None = None,
    limit: int | None = None,
) -> str:
    """Create a sprint with a limit of iterations, report it, and return its name."""
    most = ITERATIONS_MAX if limit is None else limit
    name = wrap.sprint_for(
        workspace, named, place=None, actor=actor, at=at, max_iterations=most, goal=goal
    )
    said = f"a limit of {most}" if most else "no limit of"
    tell(f"started sprint {name} with {said} iterations")
    return name


class _Recorded(msgspec.Struct, eq=False):
    """A wrapped command and its iteration in the log."""

    _workspace: Workspace
    _asked: WrapRequest
    _heard: Heard
    _tell: Tell
    _key: str
    _waiting: HeldCommand | None
    _actor: str = "runtime"
    _until: float = float("inf")
    """The time until which no other process changes the files, by the monotonic clock."""
    _within: str = ""
    _work: str = ""
    _since: int = 0

    def __post_init__(self) -> None:
        self._within = os.environ.get(WITHIN, "")
        self._work = work_of(os.environ, self._key)
        # Hooks may have recorded events before the log was opened.
        before = BEFORE_MAX if self._work == self._key else 0
        self._since = max(self._workspace.log.head().position - before, 0)

    def record(
        self,
        began: int,
        before: Callable[[], RepositoryState | None],
        reading: threading.Thread,
    ) -> None:
        """Record the start of the command and, once it has ended, its end."""
        listed = ListedFiles(self._workspace, since_ms=began)
        if self._within:
            sprint_id, number = self._outer()
        else:
            spooled_runs.take_in(self._workspace)
            sprint_id = self._following(lambda: self._sprint(from_milliseconds(began)))
            files, began = self._files_before(sprint_id, began)
        words = f"`sprintlog wrap` of {PurePath(self._asked.command[0]).name[:40]}"
        location, now = self._workspace.location, from_milliseconds(began)
        starter = None if is_run(self._asked.command) else os.getppid()
        with working(location, words, now=now, starter=starter):
            if not self._within:
                number = self._following(lambda: self._begin(sprint_id, now, files))
            self._following(lambda: self._settle(sprint_id))
            reading.join()
        follow(self._workspace)
        self._until = time.monotonic() + self._asked.patience_seconds
        code, took = self._heard.ended or (None, None)
        answer, activity = self._heard.understood(code)
        if (problem := self._heard.problem) is not None:
            self._tell(
                f"the command's output was not understood: {type(problem).__name__}: "
                f"{problem}"
            )
        if number == 1 and (option := missing_json(self._asked.command)):
            self._tell(f"add `{option}` to the command to record tokens and cost")
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
            listed.changed(),
        )
        end = began + took if took is not None else wall_clock()
        now, ends = from_milliseconds(end), not self._within
        ended = wrap.ended(
            self._workspace, wrapped, number=number, ends=ends, now=now, since=self._since
        )
        ended = wrap.with_learnings_kept(
            self._workspace,
            sprint_id,
            ended,
            actor=self._actor,
            masks=not self._asked.no_mask,
        )
        self._end(sprint_id, ended, end)
        # Imported here: the command is already running, and few commands have sessions.
        from ..agents.reconciliation import compare_sessions

        agent, is_only = activity.agent, self._work == self._key
        run = AgentRunEnded(self._work, self._since, is_only, agent, self._heard.calls)
        compare_sessions(self._workspace, run, self._tell, actor=self._actor)
        if self._asked.measure is not None and number is not None:
            words = f"the measure of iteration {number}"
            with working(location, words, now=from_milliseconds(wall_clock())):
                begin_iteration(location, sprint_id, number)
                self._measure(sprint_id, number)
        self._settle(sprint_id)

    def _following(self, do: Callable[[], T]) -> T:
        """Call a function; call it again if the command moved the log in the meantime."""
        place = self._workspace.location
        try:
            return do()
        except (SprintlogError, OSError):
            follow(self._workspace)
            if self._workspace.location == place:
                raise
            return do()

    def record_loss(self, lost: errors.LostLogError, began: int) -> str:
        """Record in a new log that the previous one was lost; return a message about it."""
        if self._within:
            raise lost
        at = from_milliseconds(began)
        return wrap.record_loss(self._workspace, self._sprint(at), actor=self._actor)

    def _sprint(self, at: str) -> str:
        """Return the sprint that the command belongs to; create a sprint if necessary."""
        named = self._asked.sprint_id or os.environ.get("SPRINTLOG_SPRINT")
        worktree = self._workspace.location.worktree
        place = Place("PROGRESS.yaml", worktree) if self._asked.state_files else None
        return wrap.sprint_for(
            self._workspace, named, place=place, actor=self._actor, at=at
        )

    def _files_before(self, sprint_id: str, began: int) -> tuple[str | None, int]:
        """Save the files from before the command; return the snapshot and start time."""
        if (waiting := self._waiting) is None:
            return None, began
        files = wrap.files_before(
            *(self._workspace, sprint_id, waiting),
            measure=self._asked.measure,
            keeps_files=self._asked.snapshot,
            tell=self._tell,
            actor=self._actor,
        )
        return files, wall_clock()

    def _begin(self, sprint_id: str, at: str, files: str | None) -> int:
        """Start an iteration and return its number."""
        return wrap.begin(
            self._workspace,
            sprint_id,
            at=at,
            actor=self._actor,
            key=self._key,
            correlation_id=self._work,
            files=files,
        )

    def _outer(self) -> tuple[str, int | None]:
        """Return the sprint and the number of the enclosing iteration.

        Another process records the enclosing iteration, and may have started only recently;
        `run` records an iteration before it starts anything.
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
        """Record the end of the command, with a snapshot if requested."""
        from sprintlog.engine.service.work_tree.snapshot import (
            kept_files,
            report_left,
            with_snapshot,
        )

        workspace = self._workspace
        decide: Decide = ended
        with ExitStack() as held:
            if self._asked.snapshot:
                keeping = kept_files(workspace, sprint_id)
                try:
                    taken, event_for = held.enter_context(keeping)
                except (SprintlogError, OSError) as error:
                    self._tell(f"the files were not saved: {error}")
                else:
                    if self._is_over():
                        self._tell("the files were not saved: saving took too long")
                    else:
                        decide = with_snapshot(ended, event_for)
                        report_left(taken, self._tell)
            workspace.handle_with(
                sprint_id,
                decide,
                at=from_milliseconds(at),
                actor=self._actor,
                observed=True,
                masks=not self._asked.no_mask,
                correlation_id=self._work,
            )

    def _is_over(self) -> bool:
        """Return whether the command has stopped waiting for the recorder."""
        return time.monotonic() > self._until

    def _measure(self, sprint_id: str, number: int) -> None:
        """Measure the iteration; record the result or the reason for a failure."""
        from ..iterations.capture import capturer
        from ..iterations.options import Capturing

        asked, command = self._asked, str(self._asked.measure)
        builds = (command,) if asked.measure_build else ()
        capturing = Capturing(asked.reports, (), (command,), builds, MEASURE_SECONDS, ())
        captures = capturer(
            self._workspace, capturing, sprint_id=sprint_id, masks=not asked.no_mask
        )
        found: Command
        changed = wrap.saved_instruments(
            *(self._workspace, sprint_id, number, captures.commands, self._tell),
            actor=self._actor,
        )
        try:
            found = captures.add_to(MeasureIteration({}, number))
            if self._is_over():
                raise RefusedError("it took too long: others may have changed the files")
        except SprintlogError as error:
            found = captures.failure(error, number)
            self._tell(f"iteration {number} could not be measured: {error.message}")
        for note in captures.usual_notes:
            self._tell(note)
        metrics = getattr(found, "metrics", {}) if number == 1 else {}
        if metrics.keys() == {"build_status"}:
            self._tell(
                f"{command}: no figures such as 9/10 in the last line of output: only "
                "the exit status is recorded"
            )
        result = self._workspace, sprint_id, found, changed
        wrap.end_measurement(*result, tell=self._tell, actor=self._actor)

    def _settle(self, sprint_id: str) -> None:
        """Update the state file if it exists or is requested."""
        workspace = self._workspace
        place = workspace.sprint(sprint_id).plan.place
        file = None if place is None else workspace.location.root / place.path
        if self._asked.state_files or (file is not None and Path(file).is_file()):
            refreshed = workspace.refresh(sprint_id)
            if refreshed.problem:
                self._tell(refreshed.problem)
        workspace.behind.discard(sprint_stream(sprint_id))
