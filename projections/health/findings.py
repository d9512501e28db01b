"""The findings of `doctor` as plain values, including disk usage."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from sprintlog.engine.log.envelope import Head
from sprintlog.engine.log.stores.sqlite.journal_mode import JournalMode
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import AgentRan

from ..sql import proof, read_model, search
from ..state_files.refresh import Refreshed
from ..workspace import Workspace
from .kept_text import entry_of

COPIES = ((read_model.NAME, read_model.LOCK), (search.SEARCH, search.LOCK))
"""The copies of the log used by queries; the next query recreates a missing copy."""
OTHERS = "others"
_WORDS = {
    "database pages": "events and saved states",
    "read model": "query copy",
    "search index": "query copy",
    "kept edits": "kept edits",
    "files of finished sprints": "files of finished sprints",
    "snapshots": "snapshots",
    "displaced files": "snapshots",
    "damaged packs": "snapshots",
    "names of known files": "snapshots",
    "kept reports": "kept reports",
    "transcripts": "transcripts",
    "copies of transcripts": "transcripts",
    "events that wait": "events that wait",
    "lines not understood": "lines not understood",
}


def sizes(folder: Path) -> dict[str, int]:
    """Return the size in bytes of each type of content in a log's folder, largest first."""
    found: dict[str, int] = {}
    for path in folder.rglob("*"):
        try:
            status = path.lstat()
        except OSError:
            # Deleted in the meantime, like SQLite's temporary files.
            continue
        if path.is_dir() and not path.is_symlink():
            continue
        entry = entry_of(path.relative_to(folder).as_posix())
        word = _WORDS.get(entry.name, OTHERS) if entry else OTHERS
        found[word] = found.get(word, 0) + status.st_size
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def old_copies(folder: Path, *, before_seconds: float) -> dict[str, int]:
    """Return the copies that have not been used since a given time, and their sizes."""
    found = {}
    for name, _ in COPIES:
        path = folder / name
        if path.is_file() and path.lstat().st_mtime < before_seconds:
            found[name] = path.lstat().st_size
    return found


def remove_copies(workspace: Workspace, names: dict[str, int]) -> None:
    """Delete copies; the next query recreates them."""
    for name, lock in COPIES:
        if name in names:
            with workspace.log.locks.hold(lock):
                proof.remove(workspace.location.folder / name)


def in_units(count: int) -> str:
    """Return a human-readable size, such as `312 bytes` or `4.2 MiB`."""
    power = next((n for n in range(3) if count < 1024 ** (n + 1)), 3)
    said = f"{count / 1024**power:.1f}" if power else f"{count}"
    return f"{said} {('bytes', 'KiB', 'MiB', 'GiB')[power]}"


EVENTS_LOOKED_AT = 10_000
"""The number of newest events examined, because only recent agent output matters."""


class AgentLines(NamedTuple):
    """For one version of an agent, the numbers of output lines and of unknown lines."""

    agent: str
    version: str | None
    """None if the agent's output does not state a version."""
    lines: int
    unknown: int
    """The number of unknown lines."""
    position: int | None
    """The newest run with unknown lines whose output is stored."""

    @property
    def name(self) -> str:
        """Return the agent and its version."""
        return f"{self.agent} {self.version or '(version unknown)'}"


def agent_lines(workspace: Workspace) -> tuple[AgentLines, ...]:
    """Return each agent's numbers of output lines, sorted by name and version."""
    found: dict[tuple[str, str], AgentLines] = {}
    after = max(0, workspace.log.head().position - EVENTS_LOOKED_AT)
    for recorded in workspace.log.read(after=after):
        if recorded.type != AgentRan.type or recorded.payload is None:
            continue
        ran = CODEC.decode(recorded)
        assert isinstance(ran, AgentRan)
        if ran.agent is None or not ran.lines:
            continue
        key = ran.agent, ran.agent_version or ""
        before = found.get(key, AgentLines(ran.agent, ran.agent_version, 0, 0, None))
        is_odd = ran.unknown_lines > 0 and bool(ran.output)
        found[key] = before._replace(
            lines=before.lines + ran.lines,
            unknown=before.unknown + ran.unknown_lines,
            position=recorded.position if is_odd else before.position,
        )
    return tuple(found[key] for key in sorted(found))


OK, NOTE, WARNING, PROBLEM = "ok", "note", "warning", "problem"
IN_GIT, IN_TREE, ELSEWHERE = "git", "tree", "elsewhere"


class File(NamedTuple):
    """A file or folder of the log, with its status."""

    path: str
    mode: int
    owner: int
    links: int
    """The number of hard links to the file; 0 for anything but a regular file."""


class Here(NamedTuple):
    """The findings about a log's files on this machine, for local and server logs."""

    folder: str
    versions: dict[str, str]
    files: list[File]
    user: int
    free_bytes: int
    drafts: list[str]
    """Drafts left by interrupted writes, which can be deleted."""
    displaced: list[str]
    """State files that an interrupted write moved and that have not been examined yet."""
    edits: int
    snapshots: list[str] | None
    """Damaged snapshot files; None if there are no snapshots."""
    set_aside: int
    """The number of damaged snapshot packs that were set aside."""
    sizes: Mapping[str, int] = MappingProxyType({})
    """The total size of the files in the folder, in bytes, by purpose."""
    sessions: tuple[int, int, int] = (0, 0, 0)
    """The numbers of agent sessions and of their events, and the events' size in bytes."""
    spooled: int = 0
    """The number of session events that wait in files."""
    odd_hooks: int = 0
    """The number of hook inputs that could not be parsed."""
    above_of_another: str | None = None
    """The parent folder of the log's folder, if it belongs to another user."""
    agents: tuple[AgentLines, ...] = ()
    """The numbers of known and unknown output lines of each agent."""


class Findings(NamedTuple):
    """The findings about a local log, without a judgement."""

    here: Here
    database: str
    place: str
    """`git` for a git directory, `tree` for a git work tree, otherwise `elsewhere`."""
    ignored: bool | None
    """Whether git ignores the log in its work tree; None if unknown."""
    tracked: bool
    chosen: JournalMode
    wal: bool | None
    """Whether the write-ahead log is enabled; None if the header is unreadable."""
    sqlite: tuple[int, ...]
    schema: int | None
    schema_known: int
    litestream: list[str]
    """Litestream's tables in the database."""
    known: Head | None
    """The end of the log according to the head file."""
    has_head_file: bool
    head: Head | None
    """The end of the log; None if it cannot be read."""
    holds_known: bool
    """Whether the log contains the event named in the head file."""
    wal_bytes: int
    holders: list[str]
    events: int
    """The number of newest events that were checked."""
    damage: list[str]
    unread: str | None
    """The reason why the log could not be examined although it is undamaged."""
    states: dict[str, Refreshed]
    """The status of each state file, by stream; for the files of loops, by path."""
    busy: bool
    """Whether other processes kept recording, so that files and log may not match."""
