"""Why a line of a file is as it is: iteration, session, prompt, gates, and who approved.

The snapshots know which iteration a line came in with, whether it was committed or not.
Where there are none, the commits do: those between an iteration's beginning and its end,
as the log has them, else the ones whose trailer or note says so.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sprintlog.engine.adapters.git.borrowed import Borrowed, borrowed
from sprintlog.engine.adapters.git.line_origin import LineOrigin, history
from sprintlog.engine.adapters.git.repositories import repository_around
from sprintlog.engine.adapters.snapshots.store import FILES
from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event
from sprintlog.engine.log.stores.descriptors import read_whole
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.service.work_tree.snapshot import store_of
from sprintlog.engine.sessions.names import session_of, session_stream
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.events.snapshots import OF_ITERATION
from sprintlog.engine.sprint.iterations.stretches import is_in_force
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.transitions import check_exists

from ..workspace import Workspace
from .line_moments import Moments, Spans, said_of

FILE_BYTES_MAX = 16 << 20
SHA1_CHARS = 40
"""Repositories of another hash are not asked."""
SNAPSHOT, COMMIT, SAID, NOW, BEFORE = "snapshot", "commit", "said", "now", "before"
"""How it is known: by snapshots, by the log's commits, by a trailer or note; not yet in
either; before anything was recorded."""

Told = tuple[RecordedEvent, Event]


class GateRunSeen(NamedTuple):
    """A run of a gate of the phase, or of a phase around it."""

    phase: str
    attempt: int
    passed: bool
    exit_code: int
    at: str


class Approval(NamedTuple):
    """Who let the work into the plan."""

    request: str
    by: str
    why: str
    at: str
    rule: str | None


class AgentRunSeen(NamedTuple):
    """A run of an agent in the iteration."""

    agent: str | None
    models: tuple[str, ...]
    session: str | None
    """`AGENT-ID`, where the log has a stream of it; else the agent's own id."""
    prompt_sha256: str | None


class LineReason(NamedTuple):
    """Why a line is as it is."""

    path: str
    line: int
    text: str
    known_by: str
    origin: LineOrigin | None
    iteration: int | None = None
    is_between: bool = False
    """Whether it changed after that iteration had ended, so somebody else did it."""
    is_taken_back: bool = False
    """Whether a rollback took that iteration back."""
    phase: str | None = None
    prompt: str | None = None
    """The prompt of the phase, or the goal."""
    started_at: str | None = None
    ended_at: str | None = None
    summary: str | None = None
    runs: tuple[AgentRunSeen, ...] = ()
    gates: tuple[GateRunSeen, ...] = ()
    approvals: tuple[Approval, ...] = ()


def why(workspace: Workspace, sprint_id: str, file: Path, line: int) -> LineReason:
    """Return why a line of a file of the work tree is as it is.

    Raise `InvalidInputError` for a file outside of the work tree or a line it does not
    have, `NotFoundError` for a file that is not there.
    """
    sprint = workspace.sprint(sprint_id)
    check_exists(sprint)
    path, content = _file(workspace.location.root, file)
    lines = content.split(b"\n")
    count = len(lines) - (not lines[-1])
    if not 1 <= line <= count:
        raise InvalidInputError(f"{path} has {count} lines", field="LINE")
    stream = workspace.log.read_stream(sprint_stream(sprint_id), until=sprint.version)
    told = [(one, CODEC.decode(one)) for one in stream if one.type in _ASKED]
    text = lines[line - 1].decode(errors="replace").rstrip("\r")
    found = _by_snapshots(workspace, told, path, content, line)
    base = LineReason(path, line, text, NOW, None)
    if found is None or found.known_by == NOW or found.origin.is_first:
        by_git = _by_commits(workspace, told, sprint_id, path, content, line)
        found = _LineFound.better(found, by_git)
    if found is None:
        return base
    base = base._replace(
        known_by=found.known_by, origin=found.origin, is_between=found.is_between
    )
    if found.iteration is None:
        return base
    return _with_iteration(workspace, sprint, told, base, found.iteration)


class _LineFound(NamedTuple):
    known_by: str
    origin: LineOrigin
    iteration: int | None
    is_between: bool = False

    @staticmethod
    def better(one: "_LineFound | None", other: "_LineFound | None") -> "_LineFound | None":
        """Return what is known for certain; of two the first."""
        if one is None or (other is not None and other.known_by in (COMMIT, SAID)):
            return other
        return one


_ASKED = {
    event.type
    for event in (
        *(f.SnapshotTaken, f.RestoreStarted, f.FilesRestored, f.SnapshotRewritten),
        *(f.AgentRan, f.IterationStarted, f.IterationEnded, f.GateChecked),
        *(f.RequestDecided, f.PhaseInjected, f.StepInjected),
    )
}


def _file(root: Path, file: Path) -> tuple[str, bytes]:
    """Return a file's path from the root, and its bytes; no link is followed."""
    whole = Path(file if file.is_absolute() else Path.cwd() / file)
    top = root.resolve()
    parent = whole.parent.resolve()
    try:
        path = (parent / whole.name).relative_to(top).as_posix()
    except ValueError as error:
        raise InvalidInputError("it is not in the work tree", field=str(file)) from error
    place = parent / whole.name
    if place.is_symlink() or not place.is_file():
        raise NotFoundError(f"{path} is no file")
    return path, read_whole(place, at_most=FILE_BYTES_MAX)


def _by_snapshots(
    workspace: Workspace, told: list[Told], path: str, content: bytes, line: int
) -> _LineFound | None:
    moments = Moments(workspace.location.worktree)
    for recorded, event in told:
        moments.take(recorded, event)
    store = store_of(workspace)
    if not moments.all or not store.exists:
        return None
    with history(store.git, store.git.folder / "objects") as made:
        commits = moments.commits(store, made)
        last = moments.ids(moments.last)
        if not last:
            return None
        origin = made.origin(last, f"{FILES}/{path}", content, line)
    short = origin._replace(path=origin.path.removeprefix(f"{FILES}/"))
    if origin.commit is None:
        return _LineFound(NOW, short, None)
    moment = commits[origin.commit]
    short = short._replace(commit=moment.snapshot)
    is_between = moment.purpose != OF_ITERATION
    if origin.is_first and not moment.iteration:
        return _LineFound(BEFORE, short, None)
    return _LineFound(SNAPSHOT, short, moment.iteration, is_between)


def _by_commits(
    workspace: Workspace,
    told: list[Told],
    sprint_id: str,
    path: str,
    content: bytes,
    line: int,
) -> _LineFound | None:
    repository = repository_around(workspace.location.root)
    if repository is None:
        return None
    below = workspace.location.root.resolve().relative_to(repository.top.resolve())
    named = (below / path).as_posix()
    with borrowed(repository, workspace.environment) as git:
        try:
            said = git.read("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        except RefusedError:
            return None  # nothing is committed yet
        if len(head := said.decode().strip()) != SHA1_CHARS:
            return None
        objects = (repository.common / "objects").resolve()
        with history(git, objects) as made:
            origin = made.origin((head,), named, content, line)
        if origin.commit is None:
            return _LineFound(NOW, origin, None)
        return _of_commit(git, told, sprint_id, origin, origin.commit)


def _of_commit(
    git: Borrowed, told: list[Told], sprint_id: str, origin: LineOrigin, commit: str
) -> _LineFound:
    spans = Spans()
    for recorded, event in told:
        spans.take(recorded, event)
    if (number := spans.iteration_of(git, commit)) is not None:
        return _LineFound(COMMIT, origin, number)
    if (number := said_of(git, commit, sprint_id)) is not None:
        return _LineFound(SAID, origin, number)
    return _LineFound(BEFORE, origin, None)


def _with_iteration(
    workspace: Workspace, sprint: Sprint, told: list[Told], base: LineReason, number: int
) -> LineReason:
    rollbacks = sprint.knowledge.rollbacks
    phase: str | None = None
    started: RecordedEvent | None = None
    ended: Told | None = None
    for recorded, event in told:
        if isinstance(event, f.IterationStarted) and event.number == number:
            started, phase = recorded, event.phase
        elif isinstance(event, f.IterationEnded) and event.number == number:
            ended = recorded, event
    since = started.version if started else 0
    is_back = bool(started) and not is_in_force(since, rollbacks, until=sprint.version)
    node = sprint.plan.tree.find(phase) if phase else None
    prompt = node.data.get("prompt") if node is not None else sprint.document.get("goal")
    return base._replace(
        iteration=number,
        is_taken_back=is_back,
        phase=phase,
        prompt=prompt if isinstance(prompt, str) else None,
        started_at=started.at if started else None,
        ended_at=ended[0].at if ended else None,
        summary=getattr(ended[1], "summary", None) if ended else None,
        runs=tuple(_runs(workspace, told, number)),
        gates=tuple(_gates(told, phase, since)) if phase else (),
        approvals=tuple(_approvals(told, phase)) if phase else (),
    )


def _runs(workspace: Workspace, told: list[Told], number: int) -> Iterator[AgentRunSeen]:
    for _, event in told:
        if isinstance(event, f.AgentRan) and event.iteration == number:
            own = event.sessions[-1] if event.sessions else None
            stream = session_stream(event.agent, own) if own and event.agent else None
            known = stream is not None and workspace.log.version(stream)
            name = session_of(stream) if known and stream else own
            yield AgentRunSeen(event.agent, event.models, name, event.prompt_sha256)


def _gates(told: list[Told], phase: str, since: int) -> Iterator[GateRunSeen]:
    """Yield the runs of the gates around a phase since it began, each up to its pass."""
    passed = set()
    for recorded, event in told:
        if not isinstance(event, f.GateChecked) or recorded.version < since:
            continue
        is_around = phase == event.phase or phase.startswith(f"{event.phase}/")
        if is_around and event.phase not in passed:
            has_passed = not event.exit_code and not event.timed_out
            if has_passed:
                passed.add(event.phase)
            yield GateRunSeen(
                event.phase, event.attempt, has_passed, event.exit_code, recorded.at
            )


def _approvals(told: list[Told], phase: str) -> Iterator[Approval]:
    """Yield who approved what put a phase, or one around it, into the plan."""
    decided: Told | None = None
    for recorded, event in told:
        if isinstance(event, f.RequestDecided):
            decided = (recorded, event) if event.injection is not None else None
        elif isinstance(event, f.PhaseInjected | f.StepInjected):
            ids = [str(node.get("id")) for node in event.nodes]
            tops = [f"{event.into}/{id_}" if event.into else id_ for id_ in ids]
            is_it = any(phase == top or phase.startswith(f"{top}/") for top in tops)
            if is_it and decided is not None and isinstance(decided[1], f.RequestDecided):
                said = decided[1]
                by = decided[0].actor
                yield Approval(said.request, by, said.reasoning, decided[0].at, said.rule)
            decided = None
