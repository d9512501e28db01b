"""The `sprintlog watch` command: sessions recorded from agents' transcripts.

A changed transcript is read as a whole, and compared with the log, so no position is stored
and a truncated or replaced file does not matter.
"""

import ctypes
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from glob import iglob
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

from sprintlog.engine.adapters.hooks import transcript_calls as transcripts
from sprintlog.engine.adapters.hooks.hook_calls import HookPlace
from sprintlog.engine.errors import BusyError, SprintlogError
from sprintlog.engine.log.event import Event
from sprintlog.engine.service.agent_sessions import at_work, reconcile
from sprintlog.engine.service.agent_sessions.reconcile import keep_copy
from sprintlog.engine.service.place.location import find
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.sessions.events import PromptGiven, SessionStarted
from sprintlog.engine.sessions.names import session_of, session_stream
from sprintlog.engine.sprint.events import IterationEnded, IterationStarted
from sprintlog.engine.sprint.state.times import from_milliseconds, parse
from sprintlog.projections.views.events import filled
from sprintlog.projections.views.sessions import Reconciled
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import doing_when_off, log_place, open_workspace, with_json
from ..hooking.turns import settle_turn
from ..intake.transcript import subagents_of
from ..output import counted, print_answer, warn
from ..screen.pager import pause
from .reconciliation import SILENT_SECONDS

TRANSCRIPTS = {
    "antigravity": "antigravity-cli/brain/*/.system_generated/logs/transcript_full.jsonl",
    "claude": "projects/*/*.jsonl",
    "codex": "sessions/*/*/*/rollout-*.jsonl",
    "copilot": "session-state/*/events.jsonl",
    "droid": "sessions/*/*.jsonl",
    "gemini": "tmp/*/chats/session-*.jsonl",
}
"""The transcripts in each agent's folder."""
PAUSE_SECONDS, SHARE = 0.2, 10
"""The minimum pause between passes, and its minimum length compared to that of a pass."""
POLL_SECONDS, PASS_SECONDS = 1.0, 10.0
"""The pause without inotify, and the maximum pause with it."""
_CHANGES = 0x2 | 0x80 | 0x100
"""The events of inotify: a file was written, moved to the folder or created."""
LATE_SECONDS = 60
"""The time after which the files of a turn that has ended may have changed since."""
EARLY_SECONDS = 60
"""The time before the log's first event from which turns are recorded, because the first
event may be of a turn that has begun."""
HOOK_SECONDS = 60
"""The time within which a hook reports the end of a turn."""
TURNS_MAX = 1_000
"""The maximum number of turns in which a session is recorded late."""
GROWS = {"gemini": 60.0}
"""How long an agent may add tool calls to a message that looks like an answer."""


class _Changes:
    """Waits for changes in folders with inotify, if it is available."""

    def __init__(self) -> None:
        self._libc, self._known = ctypes.CDLL(None), set[Path]()
        begin = getattr(self._libc, "inotify_init1", None)
        self._held: int = begin(os.O_CLOEXEC | os.O_NONBLOCK) if begin else -1

    def wait(self) -> None:
        """Wait until a transcript changes, or for the next pass."""
        folders = {path for _, path in _paths(folders=True)} if self._held >= 0 else set()
        for folder in folders - self._known:
            if self._libc.inotify_add_watch(self._held, bytes(folder), _CHANGES) < 0:
                # The user's limit of watches was reached.
                self._held = -1
                break
        self._known |= folders
        pause(POLL_SECONDS if self._held < 0 else PASS_SECONDS, self._held)
        with suppress(BlockingIOError):
            while self._held >= 0 and os.read(self._held, 1 << 16):
                pass


class _Watch:
    """Follows the transcripts of the sessions in a work tree."""

    def __init__(self, *, is_only: bool) -> None:
        self._is_only = is_only
        """Whether this is the only pass, so that each answer ends its turn."""
        self._folder = log_place()[1]
        with open_workspace() as workspace:
            self._root = workspace.location.root
            first = next(workspace.log.read(), None)
            # The oldest file is as old as an empty log.
            times = [x.stat().st_mtime for x in workspace.location.folder.glob("*[!ml]")]
        began = parse(first.at).timestamp() if first else min(times, default=time.time())
        self._since = from_milliseconds(int((began - EARLY_SECONDS) * 1000))
        self._seen: dict[Path, object] = {}
        self._streams: dict[Path, str | None] = {}

    def changed(self) -> Iterator[Reconciled]:
        """Record the changed transcripts; yield what was recorded of each session."""
        since = parse(self._since).timestamp()
        for status, agent, file in sorted(_files(), key=lambda one: one[0].st_mtime_ns):
            idle = time.time() - status.st_mtime
            state = (status.st_mtime_ns, status.st_size, idle > SILENT_SECONDS)
            if self._seen.get(file) == state or status.st_mtime < since:
                continue
            self._seen[file] = state
            try:
                if (stream := self._stream(agent, file)) is not None:
                    answer = self._record(stream, agent, file, idle)
                    if answer.recorded:
                        yield answer
            except BusyError:
                del self._seen[file]
            except Exception as error:  # noqa: BLE001 (transcripts may contain anything)
                warn(f"{file}: {error}")

    def _stream(self, agent: str, file: Path) -> str | None:
        """Return the stream of a transcript's session; None if it is not in this tree."""
        if file not in self._streams:
            source, session = file, ""
            if agent == "antigravity":
                source, session = file.parents[4] / "history.jsonl", file.parents[2].name
            lines = reconcile.lines_of(self._own(agent, source))
            head = islice(lines, None if session else transcripts.HEAD_LINES)
            session, folder = transcripts.session_in(agent, head, session)
            if not (session and folder):
                return None
            is_here = self._contains(folder)
            self._streams[file] = session_stream(agent, session) if is_here else None
        return self._streams[file]

    def _own(self, agent: str, file: Path) -> Path:
        """Return a file in the agent's folder, or raise an error if it is behind a link."""
        found = reconcile.own_transcript(agent, str(file), os.environ, root=self._root)
        reconcile.check_readable(found)
        return found

    def _contains(self, folder: str) -> bool:
        """Return whether a folder is in this work tree, not in another one inside it."""
        is_in = reconcile.is_in_tree(self._root, folder)
        if not is_in or not os.path.isabs(folder):
            return is_in
        try:
            found = find(Path(folder), folder=self._folder)
        except SprintlogError:
            return False
        return os.path.realpath(found.root) == os.path.realpath(self._root)

    def _record(self, stream: str, agent: str, file: Path, idle: float) -> Reconciled:
        """Record a transcript that changed `idle` seconds ago."""
        place = HookPlace(str(self._root), os.environ.get("HOME", ""))
        told = transcripts.TranscriptCalls(agent, stream, place, str(file))
        for one in (file, *(subagents_of(file) if agent == "claude" else ())):
            told.take(reconcile.lines_of(self._own(agent, one)))
        with open_workspace() as workspace:
            now = workspace.now()
            # A hook reports the end of a turn itself, and may make the agent continue.
            is_hooked = any(x.how for _, x in _events(workspace, stream, SessionStarted))
            patience = HOOK_SECONDS if is_hooked else GROWS.get(agent, 0)
            if waits := idle < patience and not self._is_only:
                del self._seen[file]
            last = [told.last] if told.last is not None and not waits else []
            is_over = idle > SILENT_SECONDS and not is_hooked
            taken = reconcile.take_calls(
                *(workspace.log, stream, [*told.events, *last]),
                is_over=is_over,
                now=now,
                since=self._since,
            )
            settles = (taken.recorded or is_over) and not _is_within(workspace, stream)
            if settles and not (last or is_over or is_hooked):
                words = f"a turn of {session_of(stream)}"
                at_work.begin(workspace.location, stream, words, now=now, worker=None)
            keep_copy(workspace, stream)
        if settles:
            is_late = is_over or bool(last and idle > LATE_SECONDS)
            settle_turn(stream, is_over=is_late, turns_max=TURNS_MAX, tell=warn)
        unfinished = sum(one.call.is_unfinished for one in told.calls.values())
        said = {"session": session_of(stream), "transcript": str(file)}
        counts = {"calls": len(told.calls), "unfinished": unfinished}
        return filled(Reconciled, taken, **said, **counts)


def _paths(*, folders: bool) -> Iterator[tuple[str, Path]]:
    """Yield the transcripts in the agents' folders, or the folders that contain them."""
    for agent, pattern in TRANSCRIPTS.items():
        parts = PurePath(pattern).parents if folders else (pattern,)
        for place in reconcile.folders_of(agent, os.environ):
            for part in map(str, parts):
                names = iglob(part, root_dir=place)
                yield from ((agent, Path(place, name)) for name in names)


def _files() -> Iterator[tuple[os.stat_result, str, Path]]:
    for agent, file in _paths(folders=False):
        with suppress(OSError):
            yield file.lstat(), agent, file


def _events(
    workspace: Workspace, stream: str, kind: type[Event]
) -> list[tuple[datetime, Any]]:
    rows = CODEC.events_of_rows(workspace.log.scan(stream, only=kind.type))
    return [(parse(at), event) for _, at, event in rows]


def _is_within(workspace: Workspace, stream: str) -> bool:
    """Return whether `run` or `wrap` was working when a session's latest turn began."""
    prompts = [at for at, _ in _events(workspace, stream, PromptGiven)]
    working = {(x.sprint, x.iteration) for x in at_work.others_at_work(workspace.location)}
    for sprint in workspace.sprints() if prompts else ():
        name = sprint_stream(sprint)
        ends = {x.number: at for at, x in _events(workspace, name, IterationEnded)}
        for begun, event in _events(workspace, name, IterationStarted):
            is_open = event.number not in ends and (sprint, event.number) in working
            is_before = is_open or max(prompts) <= ends.get(event.number, begun)
            if event.session is None and begun <= max(prompts) and is_before:
                return True
    return False


@typed.command("watch")
@typed.flag("--once", help="Read the existing transcripts and exit.")
@with_json
@doing_when_off(lambda **given: None)
def command(once: bool, as_json: bool) -> None:
    """Record the sessions of agents without hooks from their transcripts.

    The command follows the transcripts of Antigravity, Claude Code, Codex, Copilot, Droid
    and Gemini CLI whose working directory is in this work tree, until Ctrl-C. Turns from
    before the log's first event are ignored. What hooks report too is recorded once.

    Examples: sprintlog watch

    sprintlog watch --once --json
    """
    watch, changes = _Watch(is_only=once), _Changes()
    while True:
        began = time.monotonic()
        for answer in watch.changed():
            line = f"{answer.session}: {counted(answer.recorded, 'event')} recorded"
            print_answer(answer, [line], as_json=as_json)
        if once:
            return
        pause(max(PAUSE_SECONDS, SHARE * (time.monotonic() - began)))
        changes.wait()
