"""What this machine keeps of a log, whether its events are here or on a server."""

import os
import platform
import stat
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from sprintlog.engine.adapters.replace import unfinished
from sprintlog.engine.adapters.snapshots.soundness import unsound
from sprintlog.engine.adapters.snapshots.store import ASIDE, STORE
from sprintlog.engine.log.port import EventStore
from sprintlog.engine.service.agent_sessions.places import folders
from sprintlog.engine.service.agent_sessions.spool import count_odd, waiting
from sprintlog.engine.service.place.location import DATABASE, Location
from sprintlog.engine.service.place.state_places import CHECKSUM_SUFFIX
from sprintlog.engine.service.place.trust import owned_by_another
from sprintlog.engine.service.work_tree.snapshot import FOLDER as SNAPSHOTS
from sprintlog.engine.sessions.names import session_of

from ..state_files.files import EDITS
from .findings import AgentLines, File, Here, sizes


def look_here(
    location: Location,
    places: list[str],
    *,
    agents: tuple[AgentLines, ...],
    sessions: tuple[int, int, int],
) -> Here:
    """Return what there is in the folder of a log, and beside state files at `places`."""
    folder = location.folder
    drafts, displaced = _left_over(location, places)
    disk = os.statvfs(folder)
    return Here(
        folder=str(folder),
        versions=_versions(),
        files=_files(folder),
        user=os.geteuid(),
        free_bytes=disk.f_bavail * disk.f_frsize,
        drafts=drafts,
        displaced=displaced,
        edits=sum(1 for _ in (folder / EDITS).glob("[!.]*")),
        snapshots=_of_store(folder / SNAPSHOTS),
        set_aside=sum(1 for _ in (folder / SNAPSHOTS / ASIDE).glob("*.pack")),
        sizes=sizes(folder),
        agents=agents,
        sessions=sessions,
        spooled=len(waiting(folders(location, os.environ))),
        odd_hooks=count_odd(folder),
        above_of_another=str(above) if (above := owned_by_another(folder.parent)) else None,
    )


def count_sessions(log: EventStore) -> tuple[int, int, int]:
    """Return how many sessions there are, with how many events of how many bytes."""
    streams = {s: v for s, v in log.streams().items() if session_of(s) is not None}
    payloads = (row[-1] for s in streams for page in log.scan(s) for row in page.rows)
    size = sum(len(payload) for payload in payloads if payload)
    return len(streams), sum(streams.values()), size


def _files(folder: Path) -> list[File]:
    """Return the folder and what is in it; the list of what git ignores is no secret."""
    paths = [folder, *sorted(folder.iterdir()), *sorted((folder / EDITS).glob("*"))]
    found = []
    for path in paths:
        try:
            status = path.lstat()
        except OSError:
            # Gone since, as a write-ahead log is when the last one closes it.
            continue
        if path.name != ".gitignore":
            links = status.st_nlink if stat.S_ISREG(status.st_mode) else 0
            mode = stat.S_IMODE(status.st_mode)
            found.append(File(str(path), mode, status.st_uid, links))
    return found


def _left_over(location: Location, places: list[str]) -> tuple[list[str], list[str]]:
    """Return the drafts of writes that did not end, and files they had moved."""
    drafts = [*location.folder.glob(f"{DATABASE}-new*")]
    displaced = []
    kept = [*(location.folder / EDITS).glob(".*")]
    for place in places:
        for name in (place, place + CHECKSUM_SUFFIX):
            draft, aside = unfinished(location.root / name)
            drafts.append(draft)
            displaced.append(aside)
    return (
        [str(path) for path in [*drafts, *kept] if path.exists()],
        [str(path) for path in displaced if path.exists()],
    )


def _of_store(folder: Path) -> list[str] | None:
    """Return what of the snapshots is not what was written; no git is needed for that."""
    store = folder / STORE
    if not store.is_dir():
        return None
    return sorted(f"{path.relative_to(folder)} {what}" for path, what in unsound(store))


def _versions() -> dict[str, str]:
    try:
        own = version("sprintlog")
    except PackageNotFoundError:
        own = "unknown"
    python = platform.python_version()
    return {"sprintlog": own, "Python": python, "msgspec": msgspec.__version__}
