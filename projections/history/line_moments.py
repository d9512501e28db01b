"""The snapshots of a sprint as a history of commits, and what of it git's own says.

Each snapshot follows the one before it, and after a restore the one that was brought back,
too: a line that came back is as old as it was.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from sprintlog.engine.adapters.git.borrowed import Borrowed
from sprintlog.engine.adapters.git.line_origin import LineHistory, trees_of
from sprintlog.engine.adapters.snapshots.store import Store
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII)
TRAILER = "Sprintlog-Iteration"
NOTES = "refs/notes/sprintlog"
_SAYS = re.compile(rf"^{TRAILER}: *(?:(\S+)/)?(\d{{1,9}}) *$", re.MULTILINE | re.ASCII)


class KeptTree(NamedTuple):
    """What the work tree held once: a snapshot, and those that it follows."""

    snapshot: str
    iteration: int
    purpose: str
    version: int
    parents: tuple[int, ...]


class Moments:
    """Gathers the snapshots of one work tree from a sprint's events, in their order."""

    def __init__(self, worktree: str) -> None:
        self._worktree = worktree
        self.all: list[KeptTree] = []
        self.last: tuple[int, ...] = ()
        """Which of them the files at hand follow."""
        self._by_snapshot: dict[str, int] = {}
        self._restores: dict[int, f.RestoreStarted] = {}
        self._rewritten: dict[str, str] = {}

    def take(self, recorded: RecordedEvent, event: Event) -> None:
        """Take in an event; one that is not about these files changes nothing."""
        if isinstance(event, f.SnapshotTaken) and event.worktree == self._worktree:
            self._by_snapshot[event.snapshot] = len(self.all)
            moment = KeptTree(
                event.snapshot, event.iteration, event.purpose, recorded.version, self.last
            )
            self.last = (len(self.all),)
            self.all.append(moment)
        elif isinstance(event, f.RestoreStarted) and event.worktree == self._worktree:
            self._restores[recorded.version] = event
        elif isinstance(event, f.FilesRestored) and not event.given_up:
            begun = self._restores.get(event.started)
            back = self._by_snapshot.get(begun.snapshot) if begun else None
            if begun is not None and not begun.into and back is not None:
                self.last = tuple(dict.fromkeys((back, *self.last)))
        elif isinstance(event, f.SnapshotRewritten):
            self._rewritten[event.snapshot] = event.into

    def commits(self, store: Store, made: LineHistory) -> dict[str, KeptTree]:
        """Make a commit of each snapshot that is still held; return them by their ids."""
        names = {
            str(n): f"{self._held(m.snapshot)}^{{tree}}" for n, m in enumerate(self.all)
        }
        trees = trees_of(store.git, names) if names else {}
        self._ids: dict[int, tuple[str, ...]] = {}
        found: dict[str, KeptTree] = {}
        for number, moment in enumerate(self.all):
            parents = self.ids(moment.parents)
            if (tree := trees.get(str(number))) is None:
                # It was removed: what follows it follows what it followed.
                self._ids[number] = parents
                continue
            commit = made.commit(tree, parents)
            self._ids[number] = (commit,)
            found.setdefault(commit, moment)
        return found

    def ids(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """Return the commits of some moments, once `commits` has made them."""
        ids = (id_ for number in numbers for id_ in self._ids[number])
        return tuple(dict.fromkeys(ids))

    def _held(self, snapshot: str) -> str:
        while (later := self._rewritten.get(snapshot)) is not None:
            snapshot = later
        return snapshot


class Spans:
    """Which commits came between the beginning and the end of which iteration."""

    def __init__(self) -> None:
        self._all: list[tuple[int, str, str]] = []
        self._last: str | None = None
        self._begun = ""

    def take(self, recorded: RecordedEvent, event: Event) -> None:
        """Take in where the repository stood when a run or an iteration ended."""
        if isinstance(event, f.IterationStarted):
            self._begun = self._begun or recorded.at
        elif isinstance(event, f.AgentRan) and event.git_after and event.iteration:
            before = event.git_before.head if event.git_before else None
            self._add(event.iteration, before, event.git_after.head)
        elif isinstance(event, f.IterationEnded) and event.git:
            self._add(event.number, self._last, event.git.head)
            self._last = event.git.head

    def _add(self, iteration: int, before: str | None, after: str | None) -> None:
        if not after or after == before or not _COMMIT.fullmatch(after):
            return
        if before and _COMMIT.fullmatch(before):
            self._all.append((iteration, f"^{before}", after))
        elif self._begun:
            # Nobody knows where it stood: what is older than the loop is not of it. Git
            # counts in whole seconds.
            self._all.append((iteration, f"--since={self._begun[:19]}Z", after))

    def iteration_of(self, git: Borrowed, commit: str) -> int | None:
        """Return in which iteration a commit was made, as the log has it."""
        for iteration, since, after in self._all:
            listed = git.read("rev-list", "--ignore-missing", since, after).split()
            if commit.encode() in listed:
                return iteration
        return None


def said_of(git: Borrowed, commit: str, sprint_id: str) -> int | None:
    """Return the iteration that a commit's trailer or note names; nobody vouches for it."""
    message = git.read("show", "-s", "--format=%B", commit)
    listed = git.read("for-each-ref", "--format=%(refname)", NOTES)
    if listed.strip():
        known = git.read("notes", f"--ref={NOTES}", "list").decode().splitlines()
        note = next((line.split()[0] for line in known if line.endswith(commit)), None)
        if note is not None:
            message += b"\n" + git.read("cat-file", "blob", note)
    for sprint, number in reversed(_SAYS.findall(message.decode(errors="replace"))):
        if sprint in ("", sprint_id):
            return int(number)
    return None
