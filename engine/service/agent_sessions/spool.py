"""The spool: events that could not be recorded immediately, each stored in its own file.

Each event is recorded later under its idempotency key. A file that two processes read, or
that remains because its reader was killed, therefore still results in a single event. Hook
input in an unknown format is truncated and stored elsewhere for inspection. A draft is a
session event that is not in the log yet: newly created, or read from such a file.
"""

import math
import os
import re
import stat
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec

from ....engine import hashes
from ...adapters import folders, replace
from ...errors import BusyError, ConflictError, RefusedError, SprintlogError
from ...log.codec import encode_masked
from ...log.envelope import Appended, NewEvent
from ...log.port import EventStore, Expect, Expected
from ...masking import mask
from ...sessions.events import BY_TAG, SessionEvent
from ...sessions.names import KEY, is_session_stream, key_of, taken_key
from ...sessions.summary import NEAR_SECONDS
from ..place.location import Location

SESSION_EVENTS_MAX = 100_000
"""The maximum number of events in a session; of later events, only the end is recorded."""
DRAFT_BYTES_MAX = 256 * 1024
TAKEN_MS = {"tool-called": 2_000}
"""The maximum difference between an event's times in hooks and transcripts, by type."""
_TRIES = 50
_END = "session-ended"
_MOMENT_CHARS = 40
_NAME = r"[ -~]{1,128}"


class Draft(msgspec.Struct, frozen=True, omit_defaults=True):
    """A session event that is waiting to be appended."""

    stream: str
    type: str
    data: msgspec.Raw
    """The event as JSON, with secrets masked."""
    at: str
    actor: str
    key: str
    counts: str = ""
    """A type of event whose count is part of the key; it distinguishes the event from the
    same event before the session was resumed."""
    correlation: str = ""
    """The correlation id; defaults to the session's stream."""
    likeness: str = ""
    """The property by which the event is matched with those from another source."""
    said_at: str = ""
    """The time of the event by the agent's clock; empty if it is unknown."""


class DamagedDraftError(ValueError):
    """A file does not contain a session event."""


def draft_of(
    stream: str,
    event: SessionEvent,
    *,
    key: str,
    counts: str,
    at: str,
    correlation: str,
    likeness: str = "",
    said_at: str = "",
) -> Draft:
    """Return the draft of an event that has just happened."""
    agent = stream.partition("/")[2].partition("-")[0]
    return Draft(
        stream,
        event.type,
        msgspec.Raw(encode_masked(event)),
        at,
        f"agent:{agent}",
        key,
        counts,
        mask(correlation) if re.fullmatch(_NAME, correlation) else "",
        likeness,
        said_at,
    )


def unpack(content: bytes) -> Draft:
    """Return the draft in a file's content; raise `DamagedDraftError` if it is not valid.

    Other programs can write to the folder, so everything is checked.
    """
    try:
        draft = msgspec.json.decode(content, type=Draft)
        data = encode_masked(msgspec.json.decode(draft.data, type=BY_TAG[draft.type]))
    except (msgspec.MsgspecError, SprintlogError, KeyError, ValueError) as error:
        raise DamagedDraftError("it is not a session event") from error
    named = [draft.actor, *filter(None, [draft.correlation])]
    if (
        not is_session_stream(draft.stream)
        or re.fullmatch(KEY, draft.key) is None
        or (draft.counts and draft.counts not in BY_TAG)
        or not draft.actor.startswith("agent:")
        or len(draft.said_at) > _MOMENT_CHARS
        or not all(re.fullmatch(_NAME, name) for name in named)
    ):
        raise DamagedDraftError("it is not a session event")
    return msgspec.structs.replace(draft, data=msgspec.Raw(data))


def append(
    log: EventStore, draft: Draft, *, expect: Expected = Expect.ANY
) -> Appended | None:
    """Append a session event once, even if it is reported several times.

    Return None if the session has reached its limit, or if the event was already recorded
    from a transcript or stream. Raise `ConflictError` if a possibly identical event was
    recorded in the meantime.
    """
    if (version := log.version(draft.stream)) >= SESSION_EVENTS_MAX and draft.type != _END:
        return None
    if draft.likeness:
        if _was_taken(log, draft):
            return None
        expect = version
    key = draft.key
    if draft.counts:
        before = sum(len(p.rows) for p in log.scan(draft.stream, only=draft.counts))
        key = key_of(draft.stream, draft.type, key, max(before - 1, 0))
    event = NewEvent(
        draft.type,
        bytes(draft.data),
        draft.at,
        mask(draft.actor),
        schema_version=BY_TAG[draft.type].schema_version,
        correlation_id=mask(draft.correlation) or draft.stream[:128],
        observed=True,
    )
    return log.append(draft.stream, [event], expect=expect, key=key)


def append_at_last(log: EventStore, draft: Draft) -> Appended | None:
    """Append a session event as `append` does, but retry after concurrent appends."""
    for _ in range(_TRIES - 1):
        try:
            return append(log, draft)
        except ConflictError:
            continue
    return append(log, draft)


def _was_taken(log: EventStore, draft: Draft) -> bool:
    """Return whether an event was recorded from another source before its hook reported it.

    Both sources state nearly the same time, which for a call is from the agent's clock.
    """
    apart = TAKEN_MS.get(draft.type, NEAR_SECONDS * 1000)
    for number in range(SESSION_EVENTS_MAX):
        if not (found := log.find_key(taken_key(draft.stream, draft.likeness, number))):
            return False
        if _apart_ms(found[0].at, draft.said_at or draft.at) <= apart:
            return True
    return False


def _apart_ms(one: str, other: str) -> float:
    try:
        apart = datetime.fromisoformat(one) - datetime.fromisoformat(other)
    except (ValueError, TypeError):
        return math.inf
    return abs(apart.total_seconds()) * 1000


FOLDER = "not-understood"
"""The folder for unknown input in a log's folder; imports store unknown lines there too."""
COPIES, COPIES_LOCK = "transcripts", "transcripts.lock"
"""The folder for copies of transcripts, and its lock."""
PREFIX = "hook-"
HEAD_BYTES_MAX = 1024
ODD_FILES_MAX = 100
"""The maximum number of unknown inputs; identical inputs share a file."""
FILES_MAX = 10_000
"""The maximum number of spooled events; further events are lost."""
TAKING_SECONDS = 5.0
"""The time limit in seconds for recording spooled events."""
_FILE = r"\d{20}-[0-9a-f]{1,16}"


def keep_odd(folder: Path, agent: str, why: str, content: bytes) -> None:
    """Store the masked beginning of an unknown input, unless the maximum is reached."""
    # Cut after masking: half a secret would not be recognized.
    text = mask(content[: 64 * HEAD_BYTES_MAX].decode("utf-8", "replace"))
    odd = msgspec.json.encode(
        {"agent": mask(agent)[:60], "why": mask(why)[:200], "begins": text[:HEAD_BYTES_MAX]}
    )
    place = folder / FOLDER / f"{PREFIX}{hashes.sha256(odd).hexdigest()[:16]}.json"
    # The copy is only for inspection.
    with suppress(OSError):
        place.parent.mkdir(mode=0o700, exist_ok=True)
        if not place.exists() and count_odd(folder) < ODD_FILES_MAX:
            replace.replace_file(place, odd + b"\n", mode=0o600)


def count_odd(folder: Path) -> int:
    """Return the number of unknown inputs that are stored."""
    try:
        return sum(name.startswith(PREFIX) for name in os.listdir(folder / FOLDER))
    except OSError:
        return 0


def keep(places: list[Path], draft: Draft) -> bool:
    """Spool an event in the first writable folder; return whether a folder was writable."""
    return put(places, msgspec.json.encode(draft))


def put(places: list[Path], content: bytes, *, suffix: str = ".json") -> bool:
    """Write a file to the first writable folder; return whether a folder was writable."""
    name = f"{time.time_ns():020d}-{os.urandom(8).hex()}{suffix}"
    for place in places:
        try:
            _make(place)
            if len(os.listdir(place)) >= FILES_MAX:
                return False
            replace.replace_file(place / name, content, mode=0o600)
        except OSError:
            continue
        return True
    return False


def _make(folder: Path) -> None:
    """Create a private folder; raise `OSError` if it belongs to another user."""
    try:
        # A parent may be the folder of a log, which must be private too.
        for above in reversed([one for one in folder.parents if not one.exists()]):
            above.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700)
        folder.chmod(0o700)
    except FileExistsError:
        pass
    _check_ours(folder)


def _check_ours(folder: Path) -> None:
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise NotADirectoryError(str(folder))


def waiting(places: list[Path], suffix: str = ".json") -> list[Path]:
    """Return the paths of the spooled files, oldest first."""
    found: list[Path] = []
    for place in places:
        try:
            _check_ours(place)
            names = os.listdir(place)
        except OSError:
            continue
        form = _FILE + re.escape(suffix)
        found += [place / name for name in names if re.fullmatch(form, name)]
    return sorted(found, key=lambda path: path.name)


def take_in(
    log: EventStore,
    location: Location,
    places: list[Path],
    *,
    seconds: float = TAKING_SECONDS,
) -> int:
    """Record spooled events for at most `seconds`; return the number of new events.

    The next command records the remaining events. A file without a valid event is moved to
    the unknown inputs.
    """
    until, taken = time.monotonic() + seconds, 0
    for path in waiting(places):
        if time.monotonic() > until:
            break
        try:
            appended = append_at_last(log, unpack(_content(path)))
        except FileNotFoundError:
            continue
        except BusyError:
            break
        except (DamagedDraftError, RefusedError, OSError) as error:
            if getattr(log, "readonly", False):
                break
            keep_odd(location.folder, "spool", str(error), _head(path))
        except SprintlogError:
            break
        else:
            taken += appended is not None and not appended.duplicate
        with suppress(OSError):
            path.unlink()
    # Later commands search only folders that exist.
    for place in filter(os.path.isdir, places):
        with suppress(OSError):
            place.rmdir()
    return taken


def _content(path: Path) -> bytes:
    content = folders.read_plain(path, at_most=DRAFT_BYTES_MAX + 1)
    if len(content) > DRAFT_BYTES_MAX:
        raise DamagedDraftError("it exceeds the maximum length")
    return content


def _head(path: Path) -> bytes:
    try:
        return _content(path)
    except (OSError, DamagedDraftError):
        return b""
