"""The spool: events that could not be recorded immediately, each stored in its own file.

Each event is recorded later under its idempotency key. A file that two processes read, or
that remains because its reader was killed, therefore still results in a single event. Hook
input in an unknown format is truncated and stored elsewhere for inspection.
"""

import os
import re
import stat
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from ....engine import hashes
from ...adapters import folders, replace
from ...errors import BusyError, RefusedError, SprintlogError
from ...log.port import EventStore
from ...masking import mask
from ..place.location import Location
from .drafts import DRAFT_BYTES_MAX, DamagedDraftError, Draft, append_at_last, unpack

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
