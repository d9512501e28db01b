"""Verification of a complete log: its chain, payloads and state files."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from typing import Final, NamedTuple

import msgspec

from sprintlog.engine.errors import SprintlogError, UnreadableError
from sprintlog.engine.journal.foreign import remarks
from sprintlog.engine.journal.state import JOURNAL
from sprintlog.engine.log.chain import START, Row, check_rows
from sprintlog.engine.log.envelope import Head, RecordedEvent
from sprintlog.engine.log.erasures import Erasures
from sprintlog.engine.service.streams.catalogue import CODEC, State, sprint_stream
from sprintlog.engine.service.streams.repository import Repository
from sprintlog.engine.service.streams.soundness import erasures_of, unsaid
from sprintlog.engine.sprint.events import SprintImported
from sprintlog.engine.sprint.plan.imported_documents import contradictions
from sprintlog.engine.sprint.state.effective_history import effective_ranges as path_to
from sprintlog.engine.sprint.state.effective_history import is_effective, is_in_force
from sprintlog.engine.sprint.state.sprint import Sprint

from ..state_files.journal_file import JournalFile
from ..state_files.loop_place import files_of_loop
from ..state_files.refresh import ProjectedFile, Refreshed
from ..state_files.sprint_file import SprintFile
from ..views.events import filled
from ..views.log import Finding, Verified
from ..workspace import Workspace
from .folded_states import CheckedSprint, OnTheWay, page_of

PROBLEMS_MAX = 100
QUICK_EVENTS = 1000

_PAYLOAD: Final = RecordedEvent.__struct_fields__.index("payload")


class Verification(NamedTuple):
    """The result of a verification."""

    events: int
    sprints: int
    head: Head
    """The position and hash of the last event."""
    findings: list[Finding]
    files: dict[str, Refreshed]
    """The status of each state file, by stream; for the files of loops, by path."""

    @property
    def is_sound(self) -> bool:
        """Return whether there is neither damage nor drift."""
        return all(finding.severity == "remark" for finding in self.findings)


def verify(
    workspace: Workspace,
    *,
    quick: bool = False,
    full: bool = False,
    expected: Head | None = None,
    progress: Callable[[int], None] = lambda count: None,
) -> Verification:
    """Return the problems in a log; `progress` receives the number of events checked.

    If `quick` is true, only the newest events are read, and checkpoints are trusted. If
    `full` is true, the snapshots that the sprints require are also checked in the store.
    `expected` is a head that was stored elsewhere and that the log must still contain.
    """
    findings: list[Finding] = []
    after = _start(workspace, quick=quick)
    on_the_way = _on_the_way(workspace, quick=quick)
    pages = workspace.log.pages(after=after.position)
    counted = _Counted(pages, findings, progress, on_the_way, erasures_of(workspace.log))
    for problem in check_rows(counted, after=after):
        findings.append(Finding("damage", f"position {problem.position}", problem.problem))
        if len(findings) >= PROBLEMS_MAX:
            break
    findings.extend(_of_heads(workspace, expected))
    if not quick:
        said = workspace.log.problems()
        findings.extend(Finding("damage", "database", what) for what in said)
        risks = workspace.log.risks()
        findings.extend(Finding("remark", "database", what) for what in risks)
    sprints: dict[str, int] = {}
    states = _States(workspace, quick, {})
    head = Head(counted.last, b"")
    try:
        sprints = workspace.sprints()
        for name in sprints:
            checked = on_the_way.of(name, workspace.repository.version(name))
            findings.extend(states.of_sprint(name, checked))
        if workspace.journals.version(JOURNAL):
            findings.extend(states.of_journal())
        if full:
            findings.extend(_of_snapshots(workspace, sprints))
        head = workspace.log.head()
    except UnreadableError as error:
        if not any(finding.severity == "damage" for finding in findings):
            findings.append(Finding("damage", "log", error.message))
    return Verification(counted.count, len(sprints), head, findings, states.files)


def _on_the_way(workspace: Workspace, *, quick: bool) -> OnTheWay:
    """Return the object that folds states from the events read for the chain check."""
    # An error is reported when the sprints are read again.
    with suppress(SprintlogError):
        return OnTheWay(workspace.repository, {} if quick else workspace.sprints())
    return OnTheWay(workspace.repository, {})


def _of_snapshots(workspace: Workspace, sprints: Iterable[str]) -> Iterator[Finding]:
    """Read the snapshot store, and report snapshots that cannot be restored in full."""
    # Imported here: git is required only with --full.
    from sprintlog.engine.service.work_tree.snapshot import lost_paths, store_of

    store = store_of(workspace)
    for path, what in store.unsound():
        yield Finding("damage", f"snapshots/{path.relative_to(store.folder)}", what)
    for name in sprints:
        known = workspace.sprint(name).knowledge
        for snapshot, paths in lost_paths(store, [*known.snapshots, *known.instruments]):
            number = f"iteration {snapshot.iteration}, {snapshot.purpose}"
            where = f"{name} snapshot {snapshot.snapshot[:12]} ({number})"
            yield Finding("damage", where, f"lost: {paths}")


def _start(workspace: Workspace, *, quick: bool) -> Head:
    """Return the head after which the chain is read."""
    position = workspace.log.last_position() - QUICK_EVENTS if quick else 0
    if position > 0:
        with suppress(UnreadableError):
            for event in workspace.log.read(after=position - 1, until=position):
                return Head(position, event.hash)
    # Reading from the start detects a missing event or an empty log.
    return START


def _of_heads(workspace: Workspace, expected: Head | None) -> Iterator[Finding]:
    try:
        workspace.log.check_acknowledged()
    except SprintlogError as error:
        yield Finding("damage", "head", error.message)
    if expected is None:
        return
    position = expected.position
    try:
        found = next(workspace.log.read(after=position - 1, until=position), None)
    except UnreadableError:
        # Verifying the chain reports this error.
        return
    if found is None or found.hash != expected.hash:
        what = "is not in the log" if found is None else "has another hash in the log"
        yield Finding("damage", "expected head", f"position {position} {what}")


class _Counted(msgspec.Struct):
    """Reads rows for the chain check, and checks their payloads at the same time."""

    pages: Iterator[list[Row]]
    findings: list[Finding]
    progress: Callable[[int], None]
    on_the_way: OnTheWay
    erasures: Erasures
    count: int = 0
    last: int = 0

    def __iter__(self) -> Iterator[Row]:
        return chain.from_iterable(self._taken())

    def _taken(self) -> Iterator[list[Row]]:
        for page in self.pages:
            self._take(page)
            told = self.count // 10_000
            self.count += len(page)
            self.last = page[-1][0]
            if self.count // 10_000 > told:
                self.progress(self.count)
            yield page

    def _take(self, page: list[Row]) -> None:
        """Decode a page's payloads once, except for any that are damaged or erased."""
        if rows := [row for row in self.on_the_way.take(page) if row[_PAYLOAD] is not None]:
            self._read(rows)
        if len(self.findings) < PROBLEMS_MAX:
            self.findings += [
                Finding("damage", *found) for found in unsaid(page, self.erasures)
            ]

    def _read(self, rows: list[Row]) -> None:
        """Decode a page; if it contains damage, decode its rows again one by one."""
        try:
            list(CODEC.events_of_rows([page_of(rows)]))
        except UnreadableError as error:
            if len(rows) > 1:
                for row in rows:
                    self._read([row])
                return
            where = f"position {error.fields['position']}"
            self.findings.append(Finding("damage", where, str(error.fields["problem"])))


class _States(NamedTuple):
    """Compares saved states and state files with the events, and collects the files."""

    workspace: Workspace
    quick: bool
    files: dict[str, Refreshed]

    def of_sprint(self, name: str, checked: CheckedSprint | None) -> Iterator[Finding]:
        """Yield the findings about a sprint, whose states may have been folded already."""
        states = None if checked is None else _as_followed(checked, name)
        sprint = yield from self._of_stream(SprintFile(self.workspace), name, states)
        if sprint is None:
            return
        if not self.quick:
            yield from _of_status(self.workspace, sprint)
        yield from self._of_loop(sprint)
        for sentence in contradictions(sprint.document):
            yield Finding("remark", name, sentence)

    def _of_loop(self, sprint: Sprint) -> Iterator[Finding]:
        """Compare the files of a sprint's loop with the sprint's events."""
        try:
            for file in files_of_loop(self.workspace, sprint):
                refreshed = file.check(sprint)
                self.files[str(refreshed.path)] = refreshed
                if refreshed.problem:
                    yield Finding("drift", str(refreshed.path), refreshed.problem)
        except SprintlogError as error:
            yield Finding("damage", sprint.id, error.message)

    def of_journal(self) -> Iterator[Finding]:
        """Yield the findings about the journal."""
        if (yield from self._of_stream(JournalFile(self.workspace), JOURNAL)) is not None:
            for sentence in remarks(self.workspace.document()):
                yield Finding("remark", JOURNAL, sentence)

    def _of_stream(
        self,
        projected: ProjectedFile[State],
        name: str,
        states: Generator[Finding, None, State] | None = None,
    ) -> Generator[Finding, None, State | None]:
        """Compare saved states and the file with the events; return the last state."""
        try:
            if self.quick:
                state = projected.repository.at_head(name)
            else:
                states = states or _of_checkpoints(projected.repository, name)
                state = yield from states
            refreshed = projected.check(state)
            self.files[projected.repository.kind.stream(name)] = refreshed
            if not self.quick:
                yield from _of_written(projected, state, refreshed)
        except SprintlogError as error:
            yield Finding("damage", name, error.message)
            return None
        if refreshed.problem:
            yield Finding("drift", refreshed.path or name, refreshed.problem)
        return state


def _of_checkpoints(
    repository: Repository[State], name: str
) -> Generator[Finding, None, State]:
    """Compare every saved state with a fold of the events; return the last state."""
    stream, head = repository.kind.stream(name), repository.version(name)
    kept = repository.checkpoints.versions(stream)
    rollbacks = repository.rollbacks(name, head)
    state, sound = _along_saved(repository, name, kept, rollbacks)
    if repository.kind.rollbacks(state) != rollbacks:
        # The saved state lists rollbacks that the fold did not find.
        rollbacks = repository.rollbacks(name, head, among=())
        state, sound = _along_saved(repository, name, kept, rollbacks)
    # Discarded states are compared by using the verified ones.
    for version in sorted({n for n in kept if n < head} - sound):
        if not is_in_force(version, rollbacks, until=head):
            then = repository.at_version(name, version, among=sound)
            if _is_saved(repository, stream, then):
                sound.add(version)
    for version in sorted({*kept} - sound):
        yield _of_checkpoint(name, version)
    return state


def _along_saved(
    repository: Repository[State],
    name: str,
    kept: Sequence[int],
    rollbacks: Sequence[tuple[int, int]],
) -> tuple[State, set[int]]:
    """Return the state at the head, and the versions of the correct saved states."""
    stream, head = repository.kind.stream(name), repository.version(name)
    live = path_to(rollbacks, head)
    versions = [version for version in sorted(kept) if version < head]
    versions = [*(version for version in versions if is_effective(live, version)), head]
    sound = set()
    for state in repository.along(name, versions, rollbacks):
        if state.version in kept and _is_saved(repository, stream, state):
            sound.add(state.version)
    return state, sound


def _is_saved(repository: Repository[State], stream: str, state: State) -> bool:
    saved = repository.checkpoints.load(stream, state.version)
    pack = repository.kind.pack
    return saved is not None and pack(saved) == pack(state)


def _as_followed(followed: CheckedSprint, name: str) -> Generator[Finding, None, Sprint]:
    """Report the saved states that proved incorrect while the sprint was folded."""
    for version in followed.wrong:
        yield _of_checkpoint(name, version)
    return followed.state


def _of_checkpoint(name: str, version: int) -> Finding:
    what = "does not match its events; run `sprintlog rebuild` to create new checkpoints"
    return Finding("drift", f"{name} checkpoint {version}", what)


def _of_status(workspace: Workspace, sprint: Sprint) -> Iterator[Finding]:
    """Compare the stored status at the head with the events."""
    kept = workspace.log.checkpoints.status(sprint_stream(sprint.id), sprint.version)
    if kept not in (None, sprint.plan.status):
        what = "does not match its events; run `sprintlog rebuild` to store a new one"
        yield Finding("drift", f"{sprint.id} kept status", what)


def _of_written(
    projected: ProjectedFile[State], state: State, file: Refreshed
) -> Iterator[Finding]:
    """Check the stored digests of a state file's current and newest versions.

    Each digest must match the file that the log produces for its version. Edits are
    compared with these files. Older digests only distinguish a restored old file from an
    edit; if such a digest is lost, the file counts as an edit, which is safe.
    """
    if file.path is None or file.state != "same" or file.problem:
        return
    since = projected.files.digests.since(file.path, bytes.fromhex(file.digest)) or 0
    newest = projected.files.digests.newest(file.path, until=state.version)
    if not (
        since <= state.version
        and _digest(projected, state, since) == file.digest
        and (newest == since or _is_kept(projected, state, file.path, newest))
    ):
        what = "does not match its version; run `sprintlog rebuild` to store a new one"
        yield Finding("drift", f"{file.path} kept digest", what)


def _is_kept(
    projected: ProjectedFile[State], state: State, path: str, version: int
) -> bool:
    if version in projected.repository.versions_of(state.id, SprintImported):
        # An imported file may have a different layout.
        return True
    digest = _digest(projected, state, version)
    return projected.files.digests.since(path, bytes.fromhex(digest)) == version


def _digest(projected: ProjectedFile[State], state: State, version: int) -> str:
    content = projected.render(projected.repository.at_version(state.id, version))
    return sha256(content).hexdigest()


def verified(report: Verification) -> Verified:
    """Return the results of verifying a log."""
    head = report.head
    position, digest = head.position, head.hash.hex()
    return filled(Verified, report, sound=report.is_sound, position=position, head=digest)
