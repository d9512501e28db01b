"""Reconciliation: recording what hooks did not report, from a transcript or stream.

These events are recorded under the keys that hooks would use, so each is recorded once.
A transcript that the user did not name is read only if it is in the agent's own folder.
Because agents delete transcripts, masked copies are made in the log's folder, but only if a
trusted settings file sets `hooks.copy-transcripts`.
"""

import itertools
import math
import os
import stat
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from ...adapters.agents import values
from ...adapters.agents.output import LINE_BYTES_MAX
from ...adapters.folders import pieces_of
from ...adapters.hooks.transcript_calls import HEAD_LINES, KeptCall, KeptMoment, session_in
from ...errors import ConflictError, InvalidInputError, NotFoundError, SprintlogError
from ...log.port import EventStore, Expect, Expected
from ...masking import mask, mask_all
from ...sessions.events import SessionEvent, ToolCalled
from ...sessions.names import key_of, session_of, taken_key
from ...sessions.summary import Dated, compare, is_named_by_likeness, lacking, likeness
from ...sprint.state.times import normalise, parse
from ..port import Service
from . import known_sessions, spool

FOLDERS = {
    **{agent: f".{agent}" for agent in ("claude", "codex", "copilot", "gemini")},
    "antigravity": ".gemini",
    "droid": ".factory",
}
"""The name of each agent's folder in the user's home."""
NAMED_BY = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}
"""The environment variables that specify another folder for an agent."""
BYTES_MAX = 1024**3
"""The maximum size of a transcript."""
READ_BYTES_MAX = 32 * 1024 * 1024
"""The size above which loops and hooks ignore a transcript; `session reconcile` has no such
limit."""
_HOW = "use `sprintlog session reconcile AGENT-ID --transcript FILE` to specify one"
_TRIES = 50
"""The maximum number of retries after concurrent appends by hooks or other processes."""


class OneRun(NamedTuple):
    """A run of an agent's command; only the calls in this run are compared."""

    work: str
    """The run's correlation id."""
    since: int
    """The position of the log at the start of the run."""


class Taken(NamedTuple):
    """The number of calls in a transcript or stream, by result."""

    seen: int
    """The number of calls that hooks reported."""
    taken: int
    """The number of calls recorded from this source, now or earlier."""
    left: int
    """The number of unrecorded calls: they may still be running, or time ran out."""
    only_hooks: int
    recorded: int
    """The number of calls that are new in the log."""


def own_transcript(
    agent: str, said: str | None, environment: Mapping[str, str], *, root: Path
) -> Path:
    """Return the path of a transcript named by a hook, if it is in the agent's own folder.

    Relative paths start at the work tree's `root`. Hook input is untrusted: a file
    elsewhere, or one reached through a link, is rejected.
    """
    if not said:
        raise NotFoundError("no hook reported a transcript of this session", hint=_HOW)
    home = environment.get("HOME", "")
    path = os.path.join(root, said.replace("~", home, 1) if said[:2] == "~/" else said)
    path = os.path.normpath(path)
    places = folders_of(agent, environment)
    own = next((x for x in places if path.startswith(f"{x}/")), None)
    if own is None:
        shown = " or ".join([f"~/{FOLDERS[agent]}", *places[1:]])
        raise InvalidInputError(
            f"is not in {shown}; specify its path with --transcript", hint=_HOW, file=path
        )
    at = Path(path)
    for part in (at, *at.parents):
        if str(part) == own:
            break
        if part.is_symlink():
            raise InvalidInputError("is reached through a link", hint=_HOW, file=path)
    return at


def folders_of(agent: str, environment: Mapping[str, str]) -> list[str]:
    """Return the paths of an agent's own folders."""
    places = [os.path.join(environment.get("HOME", ""), FOLDERS[agent])]
    if elsewhere := environment.get(NAMED_BY.get(agent, "")):
        places.append(os.path.normpath(elsewhere))
    return [place for place in places if os.path.isabs(place)]


def is_in_tree(root: Path, folder: str) -> bool:
    """Return whether a folder, or else the SHA-256 of the root, belongs to a work tree."""
    own = os.path.realpath(root)
    if os.path.isabs(folder):
        return f"{os.path.realpath(folder)}/".startswith(f"{own}/")
    return folder == sha256(os.fsencode(own)).hexdigest()


def check_readable(file: Path) -> os.stat_result:
    """Return a file's stat result; raise `SprintlogError` if it is not a readable file."""
    try:
        status = file.stat()
    except OSError as error:
        raise NotFoundError(f"{file}: {error.strerror}", file=str(file)) from error
    if not stat.S_ISREG(status.st_mode):
        raise InvalidInputError("is not a file", file=str(file))
    if status.st_size > BYTES_MAX:
        raise InvalidInputError("is longer than 1 GiB", file=str(file))
    return status


def digest_of_text(text: str) -> str:
    """Return the digest of a message, as hooks record it."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def lines_of(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file, except incomplete and excessively long lines."""
    is_rest = False
    for piece in pieces_of(file, piece_max=LINE_BYTES_MAX):
        is_whole = piece.endswith(b"\n")
        if is_whole and not is_rest:
            yield piece
        is_rest = not is_whole


def take_calls(
    log: EventStore,
    stream: str,
    kept: Sequence[KeptCall | KeptMoment],
    *,
    is_over: bool,
    now: str,
    run: OneRun | None = None,
    work: str = "",
    since: str = "",
    seconds: float = math.inf,
) -> Taken:
    """Record the events that only a transcript or stream contains, each once.

    An unfinished call is recorded only if the session `is_over`, because otherwise its hook
    may still report it. A stream covers a single `run`, so only that run's recorded calls
    are compared. The events are assigned to `work`, by default the session's work.
    Recording stops after `seconds`. Only events after `since` are compared, and if the
    session was redacted, only those after the redacted events.
    """
    until = time.monotonic() + seconds
    dated = [(_moment(one.at, now), one) for one in kept]
    ends = {id(_event(one)): at for at, one in dated}
    # Some agents' times have a resolution of a second.
    order = {id(_event(one)): place for place, one in enumerate(kept)}
    recorded = 0
    for tried in range(_TRIES):
        known = _Known(log, stream, run, work, since)
        told = [(at, one) for at, one in dated if known.is_told(at)]
        calls = [one.call for _, one in told if isinstance(one, KeptCall)]
        found = compare(known.calls, calls)
        ended = (x for x in found.missing if is_over or not x.is_unfinished)
        moments = [(at, one.event) for at, one in told if isinstance(one, KeptMoment)]
        more = lacking(known.moments, [(_seconds(at), one) for at, one in moments])
        due: list[SessionEvent] = [*ended, *more]
        due.sort(key=lambda event: (_seconds(ends[id(event)]), order[id(event)]))
        begun = itertools.takewhile(lambda _: time.monotonic() <= until, due)
        try:
            for event in begun:
                recorded += known.append(event, ends[id(event)])
        except ConflictError:
            # A hook recorded an event in the meantime, perhaps for one of these calls.
            if tried == _TRIES - 1:
                raise
        else:
            break
    done, left = known.calls_done, len(found.missing) - known.calls_done
    return Taken(found.seen, found.taken + done, left, found.only_hooks, recorded)


class _Known:
    """Reads a session's recorded calls, and records further calls."""

    def __init__(
        self, log: EventStore, stream: str, run: OneRun | None, work: str, since: str
    ) -> None:
        self._log = log
        self._stream = stream
        self._agent = (session_of(stream) or "").partition("-")[0]
        self._work = run.work if run else work
        self._version = 0
        self._likes = Counter[str]()
        self.moments: list[Dated] = []
        self._erased = since
        """The time of the latest erased event."""
        self.calls: list[ToolCalled] = []
        self.calls_done = 0
        """The number of calls appended here, or by others in the meantime."""
        for recorded in log.read_stream(stream):
            self._version = recorded.version
            self._work = self._work or recorded.correlation_id or ""
            event = known_sessions.event_of(recorded)
            if recorded.salt is None:
                self._erased = max(self._erased or recorded.at, recorded.at, key=parse)
            if isinstance(event, ToolCalled):
                if run is None or (
                    recorded.position > run.since and recorded.correlation_id == run.work
                ):
                    self.calls.append(event)
            elif event is not None:
                self.moments.append((_seconds(recorded.at), event))

    def is_told(self, at: str) -> bool:
        """Return whether a call at this time can be compared with the recorded calls.

        An erased call can no longer be matched with a call in the transcript.
        """
        return not self._erased or parse(at) > parse(self._erased)

    def append(self, event: SessionEvent, at: str) -> bool:
        """Record an event; return whether it is new, or raise `ConflictError`."""
        like = likeness(self._agent, event)
        expect: Expected = Expect.ANY
        call = event.call if isinstance(event, ToolCalled) else None
        key = key_of(self._stream, ToolCalled.type, call)
        if call is None or is_named_by_likeness(self._agent):
            # A hook would report this event without an id.
            while self._log.find_key(
                key := taken_key(self._stream, like, self._likes[like])
            ):
                self._likes[like] += 1
            expect = self._version
        draft = spool.draft_of(
            self._stream, event, key=key, counts="", at=at, correlation=self._work
        )
        appended = spool.append(self._log, draft, expect=expect)
        self.calls_done += isinstance(event, ToolCalled)
        is_new = appended is not None and not appended.duplicate
        self._version += is_new
        return is_new


def _event(kept: KeptCall | KeptMoment) -> SessionEvent:
    return kept.call if isinstance(kept, KeptCall) else kept.event


def _seconds(at: str) -> float:
    return parse(at).timestamp()


def _moment(said: str | None, now: str) -> str:
    """Return a time from the agent, normalized; the current time if it is invalid."""
    try:
        return normalise(said) if said else now
    except InvalidInputError:
        return now


SETTING = "hooks.copy-transcripts"
MIB = 1024 * 1024
_WRITE = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC


def keep_copy(workspace: Service, stream: str) -> None:
    """Copy a session's transcript if copies are kept.

    Nothing is copied if the copy is current, or if the transcript cannot be read or exceeds
    the limit. The oldest copies are deleted until the total size is within the limit.
    """
    name = session_of(stream) or ""
    agent = name.partition("-")[0]
    root, folder = workspace.location.root, workspace.location.folder / spool.COPIES
    # A failure must not affect the agent or the loop.
    with suppress(SprintlogError, OSError):
        if not (most := MIB * (workspace.setting(SETTING) or 0)) or agent not in FOLDERS:
            return
        said = known_sessions.summary(workspace.log, stream).transcript
        file = own_transcript(agent, said, workspace.environment, root=root)
        if agent != "antigravity":
            # A hook's input can name the transcript of a session in another folder.
            _, cwd = session_in(agent, islice(lines_of(file), HEAD_LINES))
            if not is_in_tree(root, cwd):
                return
        with workspace.log.locks.hold(spool.COPIES_LOCK):
            folder.mkdir(mode=0o700, exist_ok=True)
            _copy(file, folder / f"{name}.jsonl", most)


def _copy(file: Path, copy: Path, most: int) -> None:
    status = check_readable(file)
    is_current = copy.exists() and copy.stat().st_mtime_ns == status.st_mtime_ns
    if is_current or status.st_size > most:
        return
    unfinished = copy.with_suffix(".new")
    with open(os.open(unfinished, _WRITE, 0o600), "wb") as writing:
        writing.writelines(map(_masked, lines_of(file)))
    os.utime(unfinished, ns=(status.st_mtime_ns, status.st_mtime_ns))
    unfinished.replace(copy)
    kept = sorted(copy.parent.iterdir(), key=lambda one: one.stat().st_mtime_ns)
    sizes = {one: one.stat().st_size for one in kept}
    for one in kept:
        if sum(sizes.values()) > most:
            one.unlink()
            del sizes[one]


def _masked(line: bytes) -> bytes:
    """Return a line with the secrets in all its strings masked."""
    message = values.parse(line)
    if not isinstance(message, dict):
        return mask(line.decode("utf-8", "replace")).rstrip("\n").encode() + b"\n"
    try:
        return msgspec.json.encode(mask_all(message)) + b"\n"
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # Lone surrogates, or a message that is nested too deeply.
        return mask(line.decode("utf-8", "replace")).encode()
