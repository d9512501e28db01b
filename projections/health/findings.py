"""What doctor finds and what it says about it, as plain values."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from sprintlog.engine.log.envelope import Head
from sprintlog.engine.log.stores.sqlite.journal_mode import JournalMode
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import AgentRan

from ..state_files.refresh import Refreshed
from ..workspace import Workspace

EVENTS_LOOKED_AT = 10_000
"""An agent that changed what it prints is known by its newest runs."""


class AgentLines(NamedTuple):
    """What was read of one version of an agent."""

    agent: str
    version: str | None
    """None where its output does not say."""
    lines: int
    unknown: int
    """How many of the lines were not understood."""
    position: int | None
    """The newest run with such a line whose output is kept."""

    @property
    def name(self) -> str:
        """Return agent and version."""
        return f"{self.agent} {self.version or '(version not said)'}"


def agent_lines(workspace: Workspace) -> tuple[AgentLines, ...]:
    """Return what was read of each agent, by name and version."""
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


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    check: str
    status: str
    """`ok`, `note` (nothing to worry about), `warning` (may go wrong), or `problem`
    (the log is damaged or cannot be used, or a state file is not what it says)."""
    found: str
    hint: str | None = None
    """What to do; None where nothing is to be done."""


class File(NamedTuple):
    """A file or folder of the log, by what the system says about it."""

    path: str
    mode: int
    owner: int
    links: int
    """How many names it has; 0 where that means nothing."""


class Here(NamedTuple):
    """What this machine keeps of a log, whether the log is here or on a server."""

    folder: str
    versions: dict[str, str]
    files: list[File]
    user: int
    free_bytes: int
    drafts: list[str]
    """What interrupted writes left, worth nothing."""
    displaced: list[str]
    """State files that an interrupted write had moved and not looked at yet."""
    edits: int
    snapshots: list[str] | None
    """What of the snapshots is not what was written; None where there are none."""
    set_aside: int
    """How many damaged files of theirs were set aside."""
    sizes: Mapping[str, int] = MappingProxyType({})
    """How many bytes everything in the folder takes, by what it is there for."""
    sessions: tuple[int, int, int] = (0, 0, 0)
    """How many sessions of agents there are, with how many events of how many bytes."""
    spooled: int = 0
    """How many events of sessions wait in files."""
    odd_hooks: int = 0
    """How many inputs of hooks nobody understood."""
    above_of_another: str | None = None
    """The folder in which the log's lies, where it belongs to another user."""
    agents: tuple[AgentLines, ...] = ()
    """How much of what each agent printed was understood."""


class Findings(NamedTuple):
    """What was found of a log that is here, without a judgement."""

    here: Here
    database: str
    place: str
    """`git`: in a git directory; `tree`: in a work tree of git; `elsewhere`."""
    ignored: bool | None
    """Whether git ignores the log in its work tree; None where that cannot be told."""
    tracked: bool
    chosen: JournalMode
    wal: bool | None
    """Whether the write-ahead log is in force; None where the header does not tell."""
    sqlite: tuple[int, ...]
    schema: int | None
    schema_known: int
    litestream: list[str]
    """Litestream's tables in the database."""
    known: Head | None
    """What the head file remembers."""
    has_head_file: bool
    head: Head | None
    """The end of the log; None when it cannot be read."""
    holds_known: bool
    """Whether the log has the event that the head file remembers."""
    wal_bytes: int
    holders: list[str]
    events: int
    """How many of the newest events were checked."""
    damage: list[str]
    unread: str | None
    """Why the log could not be looked into, without being damaged."""
    states: dict[str, Refreshed]
    """How each state file was found: by its stream, and those of loops by their paths."""
    busy: bool
    """Whether others recorded all the time, so that files and log may not match."""
