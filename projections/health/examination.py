"""The examination of the log and its files on this machine for `doctor`.

The examination only reads; anything that must be opened is copied first.
"""

import os
import platform
import stat
import time
from contextlib import closing, suppress
from importlib.metadata import PackageNotFoundError, version
from os import urandom
from pathlib import Path
from typing import NamedTuple

import msgspec

from sprintlog.engine.adapters.git.repositories import repository_around
from sprintlog.engine.adapters.git.untrusted import borrowed
from sprintlog.engine.adapters.replace import unfinished
from sprintlog.engine.adapters.snapshots.objects import unsound
from sprintlog.engine.adapters.snapshots.store import ASIDE, STORE
from sprintlog.engine.errors import SprintlogError, UnreadableError
from sprintlog.engine.log.envelope import Head
from sprintlog.engine.log.port import EventStore
from sprintlog.engine.log.stores.descriptors import lock_holders
from sprintlog.engine.log.stores.head_file import HeadFile
from sprintlog.engine.log.stores.sqlite import backup
from sprintlog.engine.log.stores.sqlite import database as sqlite
from sprintlog.engine.log.stores.sqlite.journal_mode import choose_journal_mode
from sprintlog.engine.log.stores.sqlite.page_rows import SUFFIXES, PageImages
from sprintlog.engine.log.stores.sqlite.schema import MIGRATIONS
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.engine.service.agent_sessions.spool import count_odd, waiting
from sprintlog.engine.service.place import location as places
from sprintlog.engine.service.place.location import DATABASE, Location
from sprintlog.engine.service.place.trust import owned_by_another
from sprintlog.engine.service.work_tree.snapshot import FOLDER as SNAPSHOTS
from sprintlog.engine.sessions.names import session_of

from ..state_files.files import EDITS
from ..workspace import Workspace, wall_clock
from . import findings
from .verify import Verification, verify


def look_here(
    location: Location,
    paths: list[str],
    *,
    agents: tuple[findings.AgentLines, ...],
    sessions: tuple[int, int, int],
) -> findings.Here:
    """Return the findings in a log's folder and next to the state files at `paths`."""
    folder = location.folder
    drafts, displaced = _left_over(location, paths)
    disk = os.statvfs(folder)
    return findings.Here(
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
        sizes=findings.sizes(folder),
        agents=agents,
        sessions=sessions,
        spooled=len(waiting(places.spool_folders(location, os.environ))),
        odd_hooks=count_odd(folder),
        above_of_another=str(above) if (above := owned_by_another(folder.parent)) else None,
    )


def count_sessions(log: EventStore) -> tuple[int, int, int]:
    """Return the number of sessions, the number of their events, and the events' size."""
    streams = {s: v for s, v in log.streams().items() if session_of(s) is not None}
    payloads = (row[-1] for s in streams for page in log.scan(s) for row in page.rows)
    size = sum(len(payload) for payload in payloads if payload)
    return len(streams), sum(streams.values()), size


def _files(folder: Path) -> list[findings.File]:
    """Return the log's folder and its contents, except `.gitignore`."""
    paths = [folder, *sorted(folder.iterdir()), *sorted((folder / EDITS).glob("*"))]
    found = []
    for path in paths:
        try:
            status = path.lstat()
        except OSError:
            # Deleted in the meantime: the last connection deletes the write-ahead log.
            continue
        if path.name != ".gitignore":
            links = status.st_nlink if stat.S_ISREG(status.st_mode) else 0
            mode = stat.S_IMODE(status.st_mode)
            found.append(findings.File(str(path), mode, status.st_uid, links))
    return found


def _left_over(location: Location, paths: list[str]) -> tuple[list[str], list[str]]:
    """Return the drafts of interrupted writes, and the files that the writes had moved."""
    drafts = [*location.folder.glob(f"{DATABASE}-new*")]
    displaced = []
    kept = [*(location.folder / EDITS).glob(".*")]
    for place in paths:
        for name in (place, place + places.CHECKSUM_SUFFIX):
            draft, aside = unfinished(location.root / name)
            drafts.append(draft)
            displaced.append(aside)
    return (
        [str(path) for path in [*drafts, *kept] if path.exists()],
        [str(path) for path in displaced if path.exists()],
    )


def _of_store(folder: Path) -> list[str] | None:
    """Return the damaged snapshot files, without using git; None if there is no store."""
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


LOOKS_MAX = 5
REST_SECONDS = 0.02
"""How long files must be unchanged, because file system timestamps are coarse."""


class Inside(NamedTuple):
    """The results of examining a copy of the log."""

    wal: bool | None = None
    schema: int | None = None
    report: Verification | None = None
    holds_known: bool = False
    damage: str | None = None
    unread: str | None = None
    litestream: tuple[str, ...] = ()
    agents: tuple[findings.AgentLines, ...] = ()
    sessions: tuple[int, int, int] = (0, 0, 0)


_INSIDE = ("wal", "schema", "holds_known", "unread")
"""The findings inside the log that are reported unchanged."""


def examine(location: Location) -> findings.Findings:
    """Return all findings for `doctor`, without changing, locking or waiting for anything.

    The process must not have the log open.
    """
    database, folder = location.database, location.folder
    sqlite.check_is_sqlite(database, "doctor")
    for _ in range(LOOKS_MAX):
        before = backup.files_now(database)
        known = HeadFile(sqlite.head_path(database)).read()
        inside = _look_inside(location, known)
        busy = backup.files_now(database) != before or not _rested(before)
        if not busy:
            break
        time.sleep(5 * REST_SECONDS)
    states = {} if inside.report is None else inside.report.files
    place, ignored, tracked = _git_says(folder)
    return findings.Findings(
        here=look_here(
            location,
            [state.path for state in states.values() if state.path],
            agents=inside.agents,
            sessions=inside.sessions,
        ),
        database=str(database),
        place=place,
        ignored=ignored,
        tracked=tracked,
        chosen=choose_journal_mode(folder),
        sqlite=sqlite.SQLITE_VERSION,
        schema_known=len(MIGRATIONS),
        litestream=[*inside.litestream],
        known=known,
        has_head_file=sqlite.head_path(database).exists(),
        head=inside.report.head if inside.report else None,
        wal_bytes=wal[1] if (wal := before[SUFFIXES.index("-wal")]) else 0,
        holders=lock_holders(database),
        events=inside.report.events if inside.report else 0,
        damage=_damage(inside),
        **{name: getattr(inside, name) for name in _INSIDE},
        states=states,
        busy=busy,
    )


def _look_inside(location: Location, known: Head | None) -> Inside:
    """Return the findings from a copy of the log, which SQLite may recover."""
    try:
        with backup.private_copy(location.database) as copy:
            with closing(PageImages(copy)) as pages:
                header = pages.header()
            found = Inside()
            if header:
                found = Inside(header[18] == 2, int.from_bytes(header[60:64]))
            try:
                return _read(
                    msgspec.structs.replace(location, folder=copy.parent), known, found
                )
            except SprintlogError as error:
                said = error.message.replace(str(copy), str(location.database))
                if isinstance(error, UnreadableError):
                    return found._replace(damage=said)
                return found._replace(unread=said)
    except OSError as error:
        return Inside(unread=f"{error.filename or 'copy'}: {error.strerror}")


def _read(location: Location, known: Head | None, found: Inside) -> Inside:
    log = SqliteLog(location.database, clock=wall_clock, entropy=urandom, check_head=False)
    with Workspace(location, log, clock=wall_clock) as workspace:
        found = found._replace(litestream=(*log.tables_of_litestream(),))
        report = verify(workspace, quick=True)
        holds_known = known is None or log.holds(known)
        # Unreadable events are already reported as damage.
        agents = findings.agent_lines(workspace) if report.is_sound else ()
        found = found._replace(report=report, holds_known=holds_known, agents=agents)
        return found._replace(sessions=count_sessions(log)) if report.is_sound else found


def _damage(inside: Inside) -> list[str]:
    """Return the problems with the log itself; the head file is checked separately."""
    if inside.damage is not None:
        return [inside.damage]
    return [
        f"{finding.where}: {finding.what}"
        for finding in (inside.report.findings if inside.report else ())
        if finding.severity == "damage" and finding.where != "head"
    ]


def _rested(stamps: list[backup.Stamp]) -> bool:
    """Return whether the files are old enough for any new write to change their times."""
    changed = max((stamp[2] for stamp in stamps if stamp), default=0)
    return abs(time.time_ns() - changed) > REST_SECONDS * 1e9


def _git_says(folder: Path) -> tuple[str, bool | None, bool]:
    """Return the folder's relation to git, and whether git ignores and tracks the log.

    If git does not report whether the log is ignored, return None for that value.
    """
    if ".git" in folder.parts:
        return findings.IN_GIT, None, False
    if not any((parent / ".git").exists() for parent in folder.parents):
        return findings.ELSEWHERE, None, False
    folder = folder.resolve()
    repository = repository_around(folder)
    if repository is None:
        return findings.IN_TREE, None, False
    with suppress(SprintlogError, OSError), borrowed(repository, os.environ) as git:
        tracked = git.read_tree("ls-files", "-z", "--", str(folder))
        ignored = git.read_tree(
            "ls-files", "-z", "--others", "--ignored", "--exclude-standard",
            "--", str(folder / DATABASE),
        )  # fmt: skip
        return findings.IN_TREE, bool(ignored), bool(tracked)
    return findings.IN_TREE, None, False
