"""What a transcript or stream tells and hooks did not is recorded under the same keys."""

import itertools
import math
import os
import stat
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ...adapters.agents.calls import KeptCall
from ...adapters.agents.output import LINE_BYTES_MAX
from ...adapters.pieces import pieces_of
from ...errors import ConflictError, InvalidInputError, NotFoundError
from ...log.port import EventStore, Expect, Expected
from ...sessions.compare import compare, is_named_by_likeness, likeness
from ...sessions.events import ToolCalled
from ...sessions.names import key_of, session_of, taken_key
from ...sprint.state.times import normalise, parse
from .drafts import append, draft_of
from .known_sessions import event_of

FOLDERS = {agent: f".{agent}" for agent in ("claude", "codex", "copilot", "gemini")}
"""In the person's folder: where an agent keeps what is its own."""
NAMED_BY = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}
"""The variables by which a person gives an agent another folder."""
BYTES_MAX = 1024**3
"""A longer transcript is not read."""
_HOW = "`sprintlog session reconcile AGENT-ID --transcript FILE` names one"


def own_transcript(
    agent: str, said: str | None, environment: Mapping[str, str], *, root: Path
) -> Path:
    """Return the file that a hook named, where it is in the agent's own folder.

    What is below the work tree's `root` was recorded from there. A hook's words are
    anybody's: what is elsewhere, or reached by a link, is not read.
    """
    if not said:
        raise NotFoundError("no hook named a transcript of this session", hint=_HOW)
    home = environment.get("HOME", "")
    path = os.path.join(root, said.replace("~", home, 1) if said[:2] == "~/" else said)
    path = os.path.normpath(path)
    shown = f"~/{FOLDERS[agent]}"
    places = [os.path.join(home, FOLDERS[agent])]
    if elsewhere := environment.get(NAMED_BY.get(agent, "")):
        places.append(os.path.normpath(elsewhere))
        shown += f" or {elsewhere}"
    known = (x for x in places if os.path.isabs(x) and path.startswith(f"{x}/"))
    own = next(known, None)
    if own is None:
        raise InvalidInputError(
            f"is not in {shown}: it is read where you name it", hint=_HOW, file=path
        )
    at = Path(path)
    for part in (at, *at.parents):
        if str(part) == own:
            break
        if part.is_symlink():
            raise InvalidInputError("is reached by a link", hint=_HOW, file=path)
    return at


def check_readable(file: Path) -> os.stat_result:
    """Return what is known of a file; raise `SprintlogError` where it is none."""
    try:
        status = file.stat()
    except OSError as error:
        raise NotFoundError(f"{file}: {error.strerror}", file=str(file)) from error
    if not stat.S_ISREG(status.st_mode):
        raise InvalidInputError("is no file", file=str(file))
    if status.st_size > BYTES_MAX:
        raise InvalidInputError("is longer than 1 GiB", file=str(file))
    return status


def lines_of(file: Path) -> Iterator[bytes]:
    """Yield a file's lines; one that is far too long is passed over."""
    is_rest = False
    for piece in pieces_of(file, piece_max=LINE_BYTES_MAX):
        is_whole = piece.endswith(b"\n")
        if is_whole and not is_rest:
            yield piece
        is_rest = not is_whole


_TRIES = 50
"""So often what is known is read anew, since hooks or others record beside us."""


class OneRun(NamedTuple):
    """One run of an agent's command: what others did is none of it."""

    work: str
    """Its correlation id."""
    since: int
    """The position of the log when it began."""


class Taken(NamedTuple):
    """What came of the calls of a transcript or a stream."""

    seen: int
    """Of how many of them hooks told."""
    taken: int
    """How many were taken, now or before."""
    left: int
    """How many are not recorded: they may go on, or the time was over."""
    only_hooks: int
    recorded: int
    """How many are new in the log."""


def take_calls(
    log: EventStore,
    stream: str,
    kept: list[KeptCall],
    *,
    is_over: bool,
    now: str,
    run: OneRun | None = None,
    work: str = "",
    seconds: float = math.inf,
) -> Taken:
    """Record the calls that only a transcript or a stream has, each once.

    What has no end is recorded only where the session `is_over`: its hook may be to come.
    A stream tells of one `run`: only what is known of that is compared. `work` is what
    the calls belong to, else to what the session does. None is recorded after so many
    `seconds`. Of a session that was erased, only what came after that is compared.
    """
    until = time.monotonic() + seconds
    ends = {id(one.call): _moment(one.at, now) for one in kept}
    recorded = 0
    for tried in range(_TRIES):
        known = _Known(log, stream, run, work)
        compared = [one.call for one in kept if known.is_told(ends[id(one.call)])]
        found = compare(known.calls, compared)
        due = [call for call in found.missing if is_over or not call.is_unfinished]
        begun = itertools.takewhile(lambda _: time.monotonic() <= until, due)
        try:
            for call in begun:
                recorded += known.append(call, ends[id(call)])
        except ConflictError:
            # A hook came in between: it may be of one of these calls.
            if tried == _TRIES - 1:
                raise
        else:
            break
    left = len(found.missing) - known.done
    return Taken(found.seen, found.taken + known.done, left, found.only_hooks, recorded)


class _Known:
    """The calls of a session that are recorded, and the way to record another one."""

    def __init__(self, log: EventStore, stream: str, run: OneRun | None, work: str) -> None:
        self._log = log
        self._stream = stream
        self._agent = (session_of(stream) or "").partition("-")[0]
        self._work = run.work if run else work
        self._version = 0
        self._likes = Counter[str]()
        self._erased = ""
        """When the last of the events was that were erased."""
        self.calls: list[ToolCalled] = []
        self.done = 0
        """How many were appended, or had been in the meantime."""
        for recorded in log.read_stream(stream):
            self._version = recorded.version
            self._work = self._work or recorded.correlation_id or ""
            event = event_of(recorded)
            if recorded.salt is None:
                self._erased = max(self._erased or recorded.at, recorded.at, key=parse)
            if isinstance(event, ToolCalled):
                if event.found_in is not None and self._has_no_id(event):
                    self._likes[likeness(self._agent, event)] += 1
                if run is None or (
                    recorded.position > run.since and recorded.correlation_id == run.work
                ):
                    self.calls.append(event)

    def is_told(self, at: str) -> bool:
        """Tell whether it is known what was recorded of a call of then.

        Nobody can tell any more which of a transcript's calls it is that was erased.
        """
        return not self._erased or parse(at) > parse(self._erased)

    def append(self, call: ToolCalled, at: str) -> bool:
        """Record a call; tell whether it is new. Raise `ConflictError` as a log does."""
        like = likeness(self._agent, call)
        expect: Expected = Expect.ANY
        key = key_of(self._stream, ToolCalled.type, call.call)
        if self._has_no_id(call):
            key = taken_key(self._stream, like, self._likes[like])
            expect = self._version
            self._likes[like] += 1
        draft = draft_of(
            self._stream, call, key=key, counts="", at=at, correlation=self._work
        )
        appended = append(self._log, draft, expect=expect)
        self.done += 1
        is_new = appended is not None and not appended.duplicate
        self._version += is_new
        return is_new

    def _has_no_id(self, call: ToolCalled) -> bool:
        """Tell whether a hook would not name this call by the same id."""
        return call.call is None or is_named_by_likeness(self._agent)


def _moment(said: str | None, now: str) -> str:
    """Return when it was by the agent's clock; now where that is no time."""
    try:
        return normalise(said) if said else now
    except InvalidInputError:
        return now
