"""Check a log from end to end: its chain, its payloads, its state files."""

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import NamedTuple

from sprintlog.engine.errors import SprintlogError, UnreadableError
from sprintlog.engine.log.chain import START, check_chain
from sprintlog.engine.log.envelope import Head, Recorded
from sprintlog.engine.sprint.contradictions import contradictions
from sprintlog.engine.sprint.facts import SprintImported
from sprintlog.engine.sprint.state import Sprint, pack

from .catalogue import CODEC, sprint_stream
from .checkpoints import MemoryCheckpoints
from .progress_yaml import render
from .reading import Reader
from .refreshing import Refreshed, Refresher
from .workspace import Workspace

PROBLEMS_MAX = 100
QUICK_EVENTS = 1000


class Finding(NamedTuple):
    """One thing that verification found."""

    severity: str
    """`damage`: the log is not what was recorded; `drift`: a state file is not what the
    log says; `remark`: an imported document contradicts the rules."""
    where: str
    what: str


class Report(NamedTuple):
    """The result of a verification."""

    events: int
    sprints: int
    head: Head
    """Position and hash of the last event."""
    findings: list[Finding]
    files: dict[str, Refreshed]
    """How the state file of each sprint was found."""

    @property
    def is_sound(self) -> bool:
        """Tell whether there is neither damage nor drift."""
        return all(finding.severity == "remark" for finding in self.findings)


def verify(
    workspace: Workspace,
    *,
    quick: bool = False,
    expected: Head | None = None,
    progress: Callable[[int], None] = lambda count: None,
) -> Report:
    """Return what is wrong with a log; `progress` is told the events checked so far.

    `quick` reads only the newest events and trusts the checkpoints. `expected` is a head
    that was written down elsewhere: the log must still hold it.
    """
    findings: list[Finding] = []
    after = _start(workspace, quick=quick)
    events = workspace.log.read(after=after.position)
    counted = _Counted(events, findings, progress)
    for problem in check_chain(counted, after=after):
        findings.append(Finding("damage", f"position {problem.position}", problem.problem))
        if len(findings) >= PROBLEMS_MAX:
            break
    findings.extend(_of_heads(workspace, expected))
    if not quick:
        findings.extend(_of_database(workspace))
    sprints = workspace.sprints()
    files: dict[str, Refreshed] = {}
    for name in sprints:
        findings.extend(_of_sprint(workspace, name, files, quick=quick))
    head = workspace.log.head()
    if not isinstance(head.hash, bytes):
        head = Head(head.position, b"")
    return Report(counted.count, len(sprints), head, findings, files)


def _of_database(workspace: Workspace) -> Iterator[Finding]:
    """Ask SQLite whether its indexes say the same as its tables."""
    try:
        rows = workspace.log.rows("PRAGMA integrity_check(20)")
    except SprintlogError as error:
        yield Finding("damage", "database", error.message)
        return
    for (said,) in rows:
        if said != "ok":
            yield Finding("damage", "database", " ".join(str(said).split())[:200])


def _start(workspace: Workspace, *, quick: bool) -> Head:
    """Return after which event the chain is read."""
    position = workspace.log.head().position - QUICK_EVENTS
    if not quick or position < 1:
        return START
    event = next(workspace.log.read(after=position - 1, until=position), None)
    # One that is missing, or no event at all, is found from the start.
    sound = event is not None and isinstance(event.hash, bytes)
    return Head(position, event.hash) if event and sound else START


def _of_heads(workspace: Workspace, expected: Head | None) -> Iterator[Finding]:
    try:
        workspace.log.check_head_file()
    except SprintlogError as error:
        yield Finding("damage", "head", error.message)
    if expected is None:
        return
    position = expected.position
    found = next(workspace.log.read(after=position - 1, until=position), None)
    if found is None or found.hash != expected.hash:
        what = "is not in the log" if found is None else "has another hash in the log"
        yield Finding("damage", "expected head", f"position {position} {what}")


class _Counted:
    """The events on their way to the chain's check; their payloads are read on the way."""

    def __init__(
        self,
        events: Iterator[Recorded],
        findings: list[Finding],
        progress: Callable[[int], None],
    ) -> None:
        self.count = 0
        self._events = events
        self._findings = findings
        self._progress = progress

    def __iter__(self) -> Iterator[Recorded]:
        for event in self._events:
            self.count += 1
            if self.count % 10_000 == 0:
                self._progress(self.count)
            if event.payload is not None:
                self._read(event)
            yield event

    def _read(self, event: Recorded) -> None:
        try:
            CODEC.decode(event)
        except UnreadableError as error:
            where = f"position {event.position}"
            self._findings.append(Finding("damage", where, str(error.fields["problem"])))


def _of_sprint(
    workspace: Workspace, name: str, files: dict[str, Refreshed], *, quick: bool
) -> Iterator[Finding]:
    reader = workspace.reader
    try:
        sprint = reader.at_head(name) if quick else reader.from_nothing(name)
        refreshed = files[name] = Refresher(workspace).check(sprint)
        if not quick:
            yield from _of_checkpoints(workspace, name)
            yield from _of_status(workspace, sprint)
            yield from _of_written(workspace, sprint, refreshed)
    except SprintlogError as error:
        yield Finding("damage", name, error.message)
        return
    if refreshed.problem:
        yield Finding("drift", refreshed.path or name, refreshed.problem)
    for sentence in contradictions(sprint.document):
        yield Finding("remark", name, sentence)


def _of_checkpoints(workspace: Workspace, name: str) -> Iterator[Finding]:
    """Compare every saved state with what the events before it say."""
    stream = sprint_stream(name)
    without = Reader(workspace.log, MemoryCheckpoints())
    for version in workspace.checkpoints.versions(stream):
        saved = workspace.checkpoints.load(stream, version)
        if saved is None or pack(saved) != pack(without.at_version(name, version)):
            yield Finding(
                "drift",
                f"{name} checkpoint {version}",
                "is not what its events say; `sprintlog rebuild` makes new ones",
            )


def _of_status(workspace: Workspace, sprint: Sprint) -> Iterator[Finding]:
    """Compare the status that is kept for the head with what the events say."""
    kept = workspace.checkpoints.status(sprint_stream(sprint.id), sprint.version)
    if kept not in (None, sprint.plan.status):
        what = "is not what its events say; `sprintlog rebuild` makes a new one"
        yield Finding("drift", f"{sprint.id} kept status", what)


def _of_written(workspace: Workspace, sprint: Sprint, file: Refreshed) -> Iterator[Finding]:
    """Compare what is kept of the file at hand, and of the newest, with their versions.

    An edit is compared with these. Older digests only tell an old file that somebody
    puts back from an edit; a lost one makes it an edit, which loses nothing.
    """
    if file.path is None or file.state != "same" or file.problem:
        return
    since = workspace.files.since(file.path, bytes.fromhex(file.digest)) or 0
    newest = workspace.files.newest(file.path, until=sprint.version)
    if not (
        since <= sprint.version
        and _digest(workspace, sprint, since) == file.digest
        and (newest == since or _is_kept(workspace, sprint, file.path, newest))
    ):
        what = "is not that of its version; `sprintlog rebuild` keeps a new one"
        yield Finding("drift", f"{file.path} kept digest", what)


def _is_kept(workspace: Workspace, sprint: Sprint, path: str, version: int) -> bool:
    stream = sprint_stream(sprint.id)
    for event in workspace.log.read_stream(stream, after=version - 1, until=version):
        if event.type == SprintImported.type:
            # An imported file stands as it came, in whatever layout.
            return True
    digest = _digest(workspace, sprint, version)
    return workspace.files.since(path, bytes.fromhex(digest)) == version


def _digest(workspace: Workspace, sprint: Sprint, version: int) -> str:
    content = render(workspace.reader.at_version(sprint.id, version))
    return sha256(content).hexdigest()
