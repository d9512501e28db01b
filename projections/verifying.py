"""Check a log from end to end: its chain, its payloads, its state files."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from sprintlog.engine.errors import SprintlogError, UnreadableError
from sprintlog.engine.log.chain import START, check_chain
from sprintlog.engine.log.envelope import Recorded
from sprintlog.engine.sprint.contradictions import contradictions

from .catalogue import CODEC
from .refreshing import Refresher
from .workspace import Workspace

PROBLEMS_MAX = 100


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
    head: str
    """The last event's hash, in hexadecimal."""
    findings: list[Finding]

    @property
    def is_sound(self) -> bool:
        """Tell whether there is neither damage nor drift."""
        return all(finding.severity == "remark" for finding in self.findings)


def verify(
    workspace: Workspace, *, progress: Callable[[int], None] = lambda count: None
) -> Report:
    """Return what is wrong with a log; `progress` is told the events checked so far."""
    findings: list[Finding] = []
    counted = _Counted(workspace.log.read(), findings, progress)
    for problem in check_chain(counted, after=START):
        findings.append(Finding("damage", f"position {problem.position}", problem.problem))
        if len(findings) >= PROBLEMS_MAX:
            break
    try:
        workspace.log.check_head_file()
    except SprintlogError as error:
        findings.append(Finding("damage", "head", error.message))
    sprints = workspace.sprints()
    for name in sprints:
        findings.extend(_of_sprint(workspace, name))
    return Report(counted.count, len(sprints), workspace.log.head().hash.hex(), findings)


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


def _of_sprint(workspace: Workspace, name: str) -> Iterator[Finding]:
    try:
        sprint = workspace.reader.from_nothing(name)
        refreshed = Refresher(workspace).check(sprint)
    except SprintlogError as error:
        yield Finding("damage", name, error.message)
        return
    if refreshed.problem:
        yield Finding("drift", refreshed.path or name, refreshed.problem)
    for sentence in contradictions(sprint.document):
        yield Finding("remark", name, sentence)
