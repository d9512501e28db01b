"""The origin of a line in a file: iteration, session, prompt, gates and approvals.

Snapshots show which iteration added a line, whether or not the line was committed. Without
snapshots, the iteration is determined from commits: those that the log places between its
start and end, or else those whose trailer or note names it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from sprintlog.engine.adapters.git.line_origin import LineOrigin, history
from sprintlog.engine.adapters.git.repositories import repository_around
from sprintlog.engine.adapters.git.untrusted import borrowed
from sprintlog.engine.adapters.snapshots.plan import is_in
from sprintlog.engine.adapters.snapshots.store import FILES
from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.stores.descriptors import read_whole
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.service.work_tree.own_paths import kept_out
from sprintlog.engine.service.work_tree.snapshot import store_of
from sprintlog.engine.sessions.names import session_of, session_stream
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.state.document_fields import goal_said
from sprintlog.engine.sprint.state.effective_history import is_in_force
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.transitions import check_exists

from ..workspace import Workspace
from . import line_moments
from .committed import CommitAnswer, commits_seen, said_of

FILE_BYTES_MAX = 16 << 20
SHA1_CHARS = 40
"""Repositories with another hash algorithm are not queried."""
SNAPSHOT, COMMIT, SAID, NOW, BEFORE = "snapshot", "commit", "said", "now", "before"
"""The source of an origin: snapshots, the log's commits, or a trailer or note; `now` means
not recorded yet, and `before` means older than all records."""


class GateRunAnswer(Struct, frozen=True):
    """A check of a phase's own gate, or of an enclosing phase's gate."""

    phase: str
    attempt: int
    passed: bool
    exit_code: int
    at: str


class ApprovalAnswer(Struct, frozen=True):
    """An approval that added the work to the plan."""

    request: str
    by: str
    why: str
    at: str
    rule: str | None
    """The automatic rule that decided; null if a person decided."""


class AgentRunAnswer(Struct, frozen=True):
    """An agent run in the iteration."""

    agent: str | None
    models: tuple[str, ...]
    session: str | None
    prompt_sha256: str | None
    command: str | None = None
    """The command of a run in another loop, or of the fallback."""


class WhyAnswer(Struct, frozen=True):
    """The origin of a line in a file."""

    path: str
    line: int
    text: str
    known_by: str
    """`snapshot`, `commit`, `said` if only the commit states it, `now` if the line is not
    recorded yet, or `before` if no recorded iteration added it."""
    commit: str | None
    """The snapshot or commit that added the line."""
    path_then: str | None
    line_then: int | None
    may_be_older: bool
    """Whether there is no earlier record, so that the line may be older."""
    iteration: int | None
    is_between: bool
    """Whether the line changed after that iteration had ended, outside any iteration."""
    written_by: str | None
    """`agent`, `outside`, or `one-of` several overlapping iterations; `agent-or-outside`
    and `one-of-or-outside` if files were not stored when an iteration started; null if
    unknown."""
    iterations: tuple[str, ...]
    """The iterations that may have written the line: `N`, or `SPRINT:N` for another
    sprint."""
    committed: CommitAnswer | None
    """The commit that added a line which was not written by a known agent."""
    is_taken_back: bool
    """Whether a rollback discarded that iteration."""
    phase: str | None
    prompt: str | None
    started_at: str | None
    ended_at: str | None
    summary: str | None
    runs: tuple[AgentRunAnswer, ...]
    gates: tuple[GateRunAnswer, ...]
    approvals: tuple[ApprovalAnswer, ...]


def why(workspace: Workspace, sprint_id: str, file: Path, line: int) -> WhyAnswer:
    """Return the origin of a line in a work tree file.

    Raise `InvalidInputError` if the file is outside the work tree or written by sprintlog,
    or if it has no such line. Raise `NotFoundError` if the file does not exist.
    """
    sprint = workspace.sprint(sprint_id)
    check_exists(sprint)
    path, content = _file(workspace.location.root, file)
    if is_in(path, kept_out(workspace)):
        raise InvalidInputError(
            f"{path} is written by sprintlog: no snapshot contains it",
            hint="use `sprintlog why FIELD` for a field of PROGRESS.yaml",
        )
    lines = content.split(b"\n")
    count = len(lines) - (not lines[-1])
    if not 1 <= line <= count:
        raise InvalidInputError(f"{path} has {count} lines", field="LINE")
    told = _told(workspace, sprint)
    text = lines[line - 1].decode(errors="backslashreplace").rstrip("\r")
    found, by_git = _by_snapshots(workspace, path, content, line), None
    if found is None or line_moments.OUTSIDE in found.writers:
        by_git = _by_commits(workspace, told, sprint_id, path, content, line)
        if found is None or found.known_by == NOW or found.origin.is_first:
            found = _better(found, by_git)
    base = _without_reason(path, line, text)
    if found is None:
        return base
    base = replace(base, known_by=found.known_by)
    if (origin := found.origin).commit is not None:
        came = {"commit": origin.commit, "path_then": origin.path, "line_then": origin.line}
        base = replace(base, **came, may_be_older=origin.is_first)
    if found.writers:
        base = replace(base, written_by=line_moments.written_by(found.writers))
    if by_git is not None and (
        line_moments.OUTSIDE in found.writers or found.known_by == BEFORE
    ):
        base = replace(base, committed=by_git.committed)
    return _with_writers(workspace, sprint, told, base, found)


def _without_reason(path: str, line: int, text: str) -> WhyAnswer:
    """Return the answer for a line of unknown origin."""
    nothing: dict[str, Any] = dict.fromkeys(WhyAnswer.__struct_fields__)
    nothing |= dict.fromkeys(("may_be_older", "is_between", "is_taken_back"), False)
    nothing |= dict.fromkeys(("iterations", "runs", "gates", "approvals"), ())
    return WhyAnswer(
        **{**nothing, "path": path, "line": line, "text": text, "known_by": NOW}
    )


class _LineFound(NamedTuple):
    known_by: str
    origin: LineOrigin
    writers: line_moments.Writers = frozenset()
    after: line_moments.Writer | None = None
    """The iteration after which the line changed, outside any iteration."""
    committed: CommitAnswer | None = None


def _better(one: _LineFound | None, other: _LineFound | None) -> _LineFound | None:
    """Return the more certain of two origins, or the first if they are equally certain."""
    # A line in a snapshot from before the first iteration was not committed in any
    # iteration.
    surer = (SAID,) if one is not None and one.known_by == BEFORE else (COMMIT, SAID)
    return other if one is None or (other and other.known_by in surer) else one


_ASKED = {
    event.type
    for event in (
        *(f.AgentRan, f.IterationStarted, f.IterationEnded, f.GateChecked),
        *(f.RequestDecided, f.PhaseInjected, f.StepInjected),
    )
}


def _told(workspace: Workspace, sprint: Sprint) -> list[line_moments.Told]:
    stream = workspace.log.read_stream(sprint_stream(sprint.id), until=sprint.version)
    return [(one, CODEC.decode(one)) for one in stream if one.type in _ASKED]


def _file(root: Path, file: Path) -> tuple[str, bytes]:
    """Return a file's path relative to the root, and its bytes; reject symbolic links."""
    whole = Path(file if file.is_absolute() else Path.cwd() / file)
    top = root.resolve()
    parent = whole.parent.resolve()
    try:
        path = (parent / whole.name).relative_to(top).as_posix()
    except ValueError as error:
        raise InvalidInputError(
            "the path is not in the work tree", field=str(file)
        ) from error
    place = parent / whole.name
    if place.is_symlink() or not place.is_file():
        raise NotFoundError(f"{path} is not a file")
    return path, read_whole(place, at_most=FILE_BYTES_MAX)


def _by_snapshots(
    workspace: Workspace, path: str, content: bytes, line: int
) -> _LineFound | None:
    moments, store = line_moments.moments_of(workspace), store_of(workspace)
    if not moments.all or not store.exists:
        return None
    with history(store.git, store.git.folder / "objects") as made:
        commits, last, writers = moments.commits(store, made, path)
        if not last:
            return None
        origin = made.origin(last, f"{FILES}/{path}", content, line)
    short = origin._replace(path=origin.path.removeprefix(f"{FILES}/"))
    if origin.commit is None:
        return _LineFound(NOW, short, writers, moments.all[-1].of)
    moment = commits[origin.commit]
    short = short._replace(commit=moment.snapshot)
    if origin.is_first and not moment.of.number:
        return _LineFound(BEFORE, short, moment.writers)
    return _LineFound(SNAPSHOT, short, moment.writers, moment.of)


def _by_commits(
    workspace: Workspace,
    told: list[line_moments.Told],
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
        with history(git, (repository.common / "objects").resolve()) as made:
            origin = made.origin((head,), named, content, line)
        if origin.commit is None:
            return _LineFound(NOW, origin)
        known_by, number = COMMIT, line_moments.iteration_of(git, told, origin.commit)
        if number is None:
            known_by, number = SAID, said_of(git, origin.commit, sprint_id)
        committed = commits_seen(git, "--no-walk", origin.commit)[0]
    writer = (
        line_moments.OUTSIDE if number is None else line_moments.Writer(sprint_id, number)
    )
    known_by = BEFORE if number is None else known_by
    return _LineFound(known_by, origin, line_moments.Writers({writer}), committed=committed)


def _with_writers(
    workspace: Workspace,
    sprint: Sprint,
    told: list[line_moments.Told],
    base: WhyAnswer,
    found: _LineFound,
) -> WhyAnswer:
    """Add the iterations that may have written the line to the answer."""
    own = {line_moments.writer_of(sprint, n): n for n, _ in sprint.knowledge.iterations}
    own |= {line_moments.Writer(sprint.id, n): n for n, _ in sprint.knowledge.iterations}
    iterations = sorted(found.writers - {line_moments.OUTSIDE})
    names = (str(own.get(one, f"{one.sprint}:{one.number}")) for one in iterations)
    base = replace(base, iterations=tuple(names))
    if len(iterations) == 1:
        (one,) = iterations
        if one not in own:
            sprint = workspace.sprint(one.sprint)
            told = _told(workspace, sprint)
        return _with_iteration(workspace, sprint, told, base, own.get(one, one.number))
    if not iterations and found.after is not None and found.after.number:
        return replace(base, iteration=own.get(found.after), is_between=True)
    return base


def _with_iteration(
    workspace: Workspace,
    sprint: Sprint,
    told: list[line_moments.Told],
    base: WhyAnswer,
    number: int,
) -> WhyAnswer:
    rollbacks = sprint.knowledge.rollbacks
    phase = summary = None
    started: RecordedEvent | None = None
    ended: RecordedEvent | None = None
    for recorded, event in told:
        if isinstance(event, f.IterationStarted) and event.number == number:
            started, phase = recorded, event.phase
        elif isinstance(event, f.IterationEnded) and event.number == number:
            ended, summary = recorded, event.summary
    since = started.version if started else 0
    is_back = bool(started) and not is_in_force(since, rollbacks, until=sprint.version)
    node = sprint.plan.tree.find(phase) if phase else None
    goal = sprint.document.get("goal") if goal_said(sprint.document) else None
    prompt = goal if node is None else node.data.get("prompt")
    return replace(
        base,
        iteration=number,
        is_taken_back=is_back,
        phase=phase,
        prompt=prompt if isinstance(prompt, str) else None,
        started_at=started.at if started else None,
        ended_at=ended.at if ended else None,
        summary=summary,
        runs=tuple(_runs(workspace, told, number)),
        gates=tuple(_gates(told, phase, since)) if phase else (),
        approvals=tuple(_approvals(told, phase)) if phase else (),
    )


def _runs(
    workspace: Workspace, told: list[line_moments.Told], number: int
) -> Iterator[AgentRunAnswer]:
    for _, event in told:
        if isinstance(event, f.AgentRan) and event.iteration == number:
            own = event.sessions[-1] if event.sessions else None
            stream = session_stream(event.agent, own) if own and event.agent else None
            known = stream is not None and workspace.log.version(stream)
            name = session_of(stream) if known and stream else own
            digest = event.prompt_sha256
            yield AgentRunAnswer(event.agent, event.models, name, digest, event.command)


def _gates(
    told: list[line_moments.Told], phase: str, since: int
) -> Iterator[GateRunAnswer]:
    """Yield the gate checks of a phase and its ancestors from `since` until they pass."""
    passed = set()
    for recorded, event in told:
        if not isinstance(event, f.GateChecked) or recorded.version < since:
            continue
        is_around = phase == event.phase or phase.startswith(f"{event.phase}/")
        if is_around and event.phase not in passed:
            has_passed = not event.exit_code and not event.timed_out
            if has_passed:
                passed.add(event.phase)
            yield GateRunAnswer(
                event.phase, event.attempt, has_passed, event.exit_code, recorded.at
            )


def _approvals(told: list[line_moments.Told], phase: str) -> Iterator[ApprovalAnswer]:
    """Yield the approvals that added a phase, or an ancestor of it, to the plan."""
    decided: line_moments.Told | None = None
    for recorded, event in told:
        if isinstance(event, f.RequestDecided):
            decided = (recorded, event) if event.injection is not None else None
        elif isinstance(event, f.PhaseInjected | f.StepInjected):
            ids = [str(node.get("id")) for node in event.nodes]
            tops = [f"{event.into}/{id_}" if event.into else id_ for id_ in ids]
            is_it = any(phase == top or phase.startswith(f"{top}/") for top in tops)
            if is_it and decided is not None and isinstance(decided[1], f.RequestDecided):
                said = decided[1]
                yield ApprovalAnswer(
                    said.request, decided[0].actor, said.reasoning, decided[0].at, said.rule
                )
            decided = None
