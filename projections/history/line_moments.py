"""A work tree's contents as a history of commits, with the possible authors of each change.

Each snapshot follows the previous one. A restore continues from the restored snapshot, so
restored lines keep their age. Differences between two snapshots are attributed to the
iterations active between them, or to work outside any iteration.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from sprintlog.engine.adapters.git.line_origin import LineHistory, trees_of
from sprintlog.engine.adapters.git.untrusted import UntrustedGit
from sprintlog.engine.adapters.snapshots.entries import Snapshot
from sprintlog.engine.adapters.snapshots.plan import lies_in, meant
from sprintlog.engine.adapters.snapshots.store import Store
from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_of, sprint_stream
from sprintlog.engine.service.work_tree.snapshot import shown
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.events.snapshots import OF_INSTRUMENTS, OF_ITERATION
from sprintlog.engine.sprint.state.knowledge import WorkTree
from sprintlog.engine.sprint.state.sprint import Sprint

from ..workspace import Workspace

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII)


Told = tuple[RecordedEvent, Event]


class Writer(NamedTuple):
    """An iteration of a sprint; `OUTSIDE` represents anyone working outside iterations."""

    sprint: str
    number: int


OUTSIDE = Writer("", 0)
Writers = frozenset[Writer]


def written_by(writers: Writers) -> str:
    """Return a word that describes the possible authors."""
    iterations = len(writers - {OUTSIDE})
    if not iterations:
        return "outside"
    word = "agent" if iterations == 1 else "one-of"
    return f"{word}-or-outside" if OUTSIDE in writers else word


class KeptTree(NamedTuple):
    """A work tree's contents at one time: a snapshot or the result of a restore."""

    snapshot: str
    of: Writer
    """The iteration in or after which the snapshot was taken."""
    writers: Writers = frozenset()
    """The possible authors of the changes since the previous snapshot; none for a
    restore."""
    omitted: frozenset[str] = frozenset()
    """Existing paths that the snapshot omits, as named in its event."""
    head: str | None = None
    """The commit that was checked out; empty before the first commit, None if unknown."""
    restore: f.RestoreStarted | None = None
    """The restore that produced these contents."""
    left: frozenset[str] = frozenset()
    """The paths that could not be restored."""
    undone: f.RestoreStarted | None = None
    """The restore that this one undoes; only the paths that it changed are restored."""
    position: int = 0
    """The position of the end of a restore."""

    def omits(self, path: str) -> bool:
        """Return whether a path existed but is missing from the snapshot."""
        return shown(path) in self.omitted or lies_in(shown(path), self.omitted)


class Moments:
    """A work tree's contents, snapshot by snapshot, and who worked in between.

    Iterations of all sprints in the log count, because each can change the files. An
    iteration without an end may have stopped at any time. It counts as active at the start
    of another iteration if that iteration names it, or if one of its agent runs ended
    later.
    """

    def __init__(self, tree: WorkTree, told: Sequence[Told]) -> None:
        """Process the events of the types in `ASKED`, in log order."""
        self._tree, self._told = tree, told
        self.all: list[KeptTree] = []
        self.numbers = defaultdict[Writer, list[int]](list)
        """For each iteration, the moments that it may have caused or when it was active."""
        self._restores: dict[tuple[str, int], f.RestoreStarted] = {}
        self._rewritten: dict[str, str] = {}
        self._runs = defaultdict[Writer, list[f.AgentRan]](list)
        self._seen: dict[Writer, int] = {}
        """For each iteration, the position at which it was last known to be active."""
        self._ended: dict[Writer, RecordedEvent] = {}
        """For each iteration that ended, its last end."""
        self._turns: set[Writer] = set()
        """The turns of sessions, which may end, go on and end again."""
        self._late: set[Writer] = set()
        """The turns without a snapshot at their end, which was recorded later."""
        self._running: set[Writer] = set()
        self._since: set[Writer] = set()
        """The possible authors of changes since the last moment."""
        for recorded, event in told:
            self._look_ahead(recorded, event)
        for recorded, event in told:
            self._take(recorded, event)
        self.now = self._writers()
        """The possible authors of the differences from the last moment."""

    def _look_ahead(self, recorded: RecordedEvent, event: Event) -> None:
        sprint = sprint_of(recorded.stream) or ""
        match event:
            case f.SnapshotRewritten():
                self._rewritten[event.snapshot] = event.into
            case f.AgentRan() if event.iteration and event.found_in is None:
                writer = Writer(sprint, event.iteration)
                self._runs[writer].append(event)
                self._seen[writer] = recorded.position
            case f.IterationStarted() if event.session is not None:
                self._turns.add(Writer(sprint, event.number))
            case f.IterationEnded() | f.IterationFailed():
                writer = Writer(sprint, event.number)
                self._seen[writer] = recorded.position
                if _is_end(event):
                    self._ended[writer] = recorded
                    self._late |= {writer} & self._turns
            case f.SnapshotTaken() if event.purpose == OF_ITERATION:
                self._late.discard(Writer(sprint, event.iteration))
            case _:
                pass

    def _take(self, recorded: RecordedEvent, event: Event) -> None:
        sprint = sprint_of(recorded.stream) or ""
        match event:
            case f.SnapshotTaken() if event.purpose == OF_INSTRUMENTS:
                pass  # It does not contain the other files.
            case f.SnapshotTaken() if self._tree.has(event):
                self._take_snapshot(event, Writer(sprint, event.iteration))
            case f.RestoreStarted() if self._tree.has(event):
                self._restores[sprint, recorded.version] = event
            case f.FilesRestored() if not event.given_up:
                begun = self._restores.get((sprint, event.started))
                if begun is not None and not begun.into:
                    left = frozenset(one.path for one in event.left)
                    undone = self._restores.get((sprint, begun.undoes or 0))
                    back = KeptTree(begun.snapshot, Writer(sprint, 0), restore=begun)
                    at = recorded.position
                    self._add(back._replace(left=left, undone=undone, position=at))
            case f.IterationStarted() if event.work_tree in (None, self._tree.id):
                self._begin(event, recorded)
            case f.IterationEnded() | f.IterationFailed() if _is_end(event):
                writer = Writer(sprint, event.number)
                if writer not in self._turns or self._ended[writer] is recorded:
                    self._running.discard(writer)
            case f.RunStarted() | f.RetryScheduled():
                # No agent was running after the previous run was killed, or during this
                # wait.
                if any(one.sprint == sprint for one in self._since):
                    self._since.add(OUTSIDE)
            case _:
                pass

    def _take_snapshot(self, event: f.SnapshotTaken, of: Writer) -> None:
        is_last = not self._running and of in self._since
        is_end = is_last and event.purpose == OF_ITERATION
        git = event.git
        if git is None and is_end and self._runs[of]:
            git = self._runs[of][-1].git_after
        left = frozenset(one.path for one in event.left_out)
        head = (git.head or "") if git else None
        writers = self._writers(is_end=is_end)
        self._add(KeptTree(event.snapshot, of, writers, omitted=left, head=head))

    def _begin(self, event: f.IterationStarted, recorded: RecordedEvent) -> None:
        writer = Writer(sprint_of(recorded.stream) or "", event.number)
        position = recorded.position
        for other in [*self._running]:
            name = str(other.number)
            name = name if other.sprint == writer.sprint else f"{other.sprint}:{name}"
            if name not in event.overlapping and self._seen.get(other, 0) < position:
                self._running.remove(other)
        if event.before is None:
            self._running.add(writer)
            self._since |= {writer, OUTSIDE}
            return
        known, place = self.held(event.before), len(self.all) - 1
        while event.session and place > 0 and self.held(self.all[place].snapshot) != known:
            # The turn began before this moment, and was not known to be an iteration.
            if (one := self.all[place]).restore is None:
                self.all[place] = one._replace(writers=one.writers | {writer})
            self.numbers[writer].insert(0, place)
            place -= 1
        if self.all and self.held(self.all[place].snapshot) != known:
            # The files of an earlier snapshot were restored without sprintlog.
            before = Writer(writer.sprint, writer.number - 1)
            self._add(KeptTree(event.before, before, self._writers() | {OUTSIDE}))
            place = len(self.all) - 1
        self._running.add(writer)
        ended = {w for w in self._since & self._ended.keys() if event.session}
        self._since = {w for w in ended if self._ended[w].at > recorded.at} | self._running
        if self.all and self._runs[writer] and (git := self._runs[writer][0].git_before):
            self.all[place] = self.all[place]._replace(head=git.head or "")

    def _writers(self, *, is_end: bool = False) -> Writers:
        """Return the possible authors of changes since the last point in time."""
        is_watched = bool(self._running) or is_end
        if is_watched and self._since and self._since <= self._ended.keys() - self._late:
            return frozenset(self._since)
        return frozenset({*self._since, OUTSIDE})

    def _add(self, moment: KeptTree) -> None:
        for writer in moment.writers | self._running:
            self.numbers[writer].append(len(self.all))
        self.all.append(moment)
        self._since = {*self._running}

    def commits(
        self, store: Store, made: LineHistory, path: str
    ) -> tuple[dict[str, KeptTree], tuple[str, ...], Writers]:
        """Create a commit for each stored snapshot that does not omit a path.

        Return a mapping from each commit to its contents, the parent commits of the current
        files, and the possible authors of the current files. If a snapshot is skipped, its
        authors are added to the authors of the next snapshot.
        """
        held = [self.held(moment.snapshot) for moment in self.all]
        trees = trees_of(store.git, {one: f"{one}^{{tree}}" for one in held})
        found: dict[str, KeptTree] = {}
        first: dict[str, int] = {}
        parents, missed = tuple[str, ...](), Writers()
        known: list[tuple[tuple[str, ...], Writers]] = []
        for number, moment in enumerate(self.all):
            if moment.restore is None:
                first.setdefault(moment.snapshot, number)
            elif moment.restore.snapshot in first and self._is_back(store, moment)(path):
                parents, missed = known[first[moment.restore.snapshot]]
            missed |= moment.writers
            tree, side = trees.get(held[number]), tuple[str, ...]()
            is_whole = moment.restore is None
            if moment.restore and moment.restore.source and tree is not None:
                is_whole = self._is_back(store, moment)(path)
                theirs = self._merged(store, made, moment, path) if is_whole else {}
                side = tuple(
                    commit
                    for commit, one in theirs.items()
                    if one.snapshot == moment.restore.merged
                )[-1:]
                found = {**theirs, **found}
                missed |= {Writer(moment.restore.source, moment.restore.iteration or 0)}
            if is_whole and tree is not None and not moment.omits(path):
                commit = made.commit(tree, (*parents, *side), f"{number}")
                found[commit] = moment._replace(writers=missed)
                parents, missed = (commit,), Writers()
            known.append((parents, missed))
        return found, parents, self.now | missed

    def _merged(
        self, store: Store, made: LineHistory, moment: KeptTree, path: str
    ) -> dict[str, KeptTree]:
        """Return the commits of the work tree whose files a restore merged."""
        assert moment.restore is not None
        told = [one for one in self._told if one[0].position < moment.position]
        for _, event in told:
            merged = moment.restore.merged
            if isinstance(event, f.SnapshotTaken) and event.snapshot == merged:
                tree = WorkTree(event.work_tree, (event.worktree,))
                return Moments(tree, told).commits(store, made, path)[0]
        return {}

    def snapshot(self, number: int) -> str:
        """Return the snapshot at an index; for a restore, the restored snapshot."""
        return self.held(self.all[number].snapshot)

    def is_whole(self, number: int) -> bool:
        """Return whether the snapshot at an index contains all files of the work tree."""
        one = self.all[number]
        return one.restore is None or not (one.restore.paths or one.left or one.undone)

    def state(self, store: Store, number: int) -> Snapshot:
        """Return the files at an index; raise `NotFoundError` if a snapshot is missing."""
        moment = self.all[number]
        snapshot = store.read(self.snapshot(number))
        if moment.restore is None or self.is_whole(number):
            return snapshot
        is_back, files = self._is_back(store, moment), snapshot.files
        before = self.state(store, number - 1).files
        both = {p: (files if is_back(p) else before).get(p) for p in {**files, **before}}
        return snapshot._replace(files={p: e for p, e in both.items() if e is not None})

    def _is_back(self, store: Store, moment: KeptTree) -> Callable[[str], bool]:
        """Return a predicate that reports whether a restore changed a path."""
        assert moment.restore is not None
        is_meant, ends = meant(moment.restore.paths), []
        for snapshot in (
            (moment.undone.before, moment.undone.snapshot) if moment.undone else ()
        ):
            with suppress(SprintlogError):
                ends.append(store.read(self.held(snapshot)).files)

        def is_back(path: str) -> bool:
            if not is_meant(path) or {"", shown(path)} & moment.left:
                return False
            return len(ends) < 2 or ends[0].get(path) != ends[1].get(path)

        return is_back

    def held(self, snapshot: str) -> str:
        """Return the snapshot that replaced a redacted one, or else the snapshot itself."""
        while (later := self._rewritten.get(snapshot)) is not None:
            snapshot = later
        return snapshot


ASKED = {
    event.type
    for event in (
        *(f.SnapshotTaken, f.RestoreStarted, f.FilesRestored, f.SnapshotRewritten),
        *(f.IterationStarted, f.IterationEnded, f.IterationFailed, f.AgentRan),
        *(f.RunStarted, f.RetryScheduled, f.ForkCreated),
    )
}


def moments_of(workspace: Workspace) -> Moments:
    """Return the points in time at which this work tree changed, across all sprints."""
    streams = (workspace.log.read_stream(sprint_stream(x)) for x in workspace.sprints())
    asked = (x for x in chain.from_iterable(streams) if x.type in ASKED)
    told = [(x, CODEC.decode(x)) for x in sorted(asked, key=lambda x: x.position)]
    forked = ((x, event) for x, event in told if isinstance(event, f.ForkCreated))
    copied = {recorded.stream: recorded.version for recorded, _ in forked}
    # Events copied into a fork happened in the original sprint.
    own = [one for one in told if one[0].version > copied.get(one[0].stream, 0)]
    return Moments(workspace.tree, own)


def _is_end(event: f.IterationEnded | f.IterationFailed) -> bool:
    return isinstance(event, f.IterationEnded) or event.next_retry_at is None


def writer_of(sprint: Sprint, number: int) -> Writer:
    """Return an iteration as a writer; in a fork, it may belong to the source sprint."""
    began = dict(sprint.knowledge.iterations).get(number, 0)
    for version, source in sprint.knowledge.forks:
        if began <= version:
            return Writer(sprint_of(source) or "", number)
    return Writer(sprint.id, number)


def iteration_of(git: UntrustedGit, told: Sequence[Told], commit: str) -> int | None:
    """Return the iteration in which a commit was made, according to the log."""
    begun = next((x.at for x, event in told if isinstance(event, f.IterationStarted)), "")
    for number, before, after in _heads(told):
        if not after or after == before or not _COMMIT.fullmatch(after):
            continue
        if before and _COMMIT.fullmatch(before):
            since = f"^{before}"
        elif begun:
            # The starting commit is unknown; commits older than the loop do not belong to
            # it. Git dates have a resolution of one second.
            since = f"--since={begun[:19]}Z"
        else:
            continue
        listed = git.read("rev-list", "--ignore-missing", since, after).split()
        if commit.encode() in listed:
            return number
    return None


def _heads(told: Sequence[Told]) -> Iterator[tuple[int, str | None, str | None]]:
    """Yield iterations with the commits checked out before and after their work."""
    watched, last = set[int](), None
    for _, event in told:
        if isinstance(event, f.AgentRan) and event.git_after and event.iteration:
            before = event.git_before
            if before:
                watched.add(event.iteration)
            yield event.iteration, before.head if before else None, event.git_after.head
        elif isinstance(event, f.IterationEnded) and event.git:
            if event.number not in watched:
                yield event.number, last, event.git.head
            last = event.git.head
