"""A command in a third-party loop, recorded as an iteration of a sprint.

No error here may stop the command: the caller reports errors and continues.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol, Unpack

from msgspec.structs import replace

from ..adapters.agents.outcome import Activity
from ..adapters.git.untrusted import RepositoryState
from ..adapters.processes.output import Output
from ..adapters.zones import moment_at
from ..command import Command
from ..errors import NotFoundError, RefusedError, SprintlogError
from ..judging.events import MeasurementChanged
from ..masking import cut
from ..sprint.answers import verdict as answers
from ..sprint.events import AgentRan, GitState, IterationStarted, Place
from ..sprint.iterations.loop import EndWrapped, StartWrapped
from ..sprint.phases.lifecycle import AddNote, StartSprint
from ..sprint.plan.create import CreateSprint
from ..sprint.state.document_fields import LOOP_IN, ralph_fields
from ..sprint.state.words import COMPLETED, NOT_STARTED, UNKNOWN, is_agent
from .agent_sessions.ran import alone, figures, outcome
from .port import Envelope
from .streams.catalogue import CODEC, sprint_of
from .workspace import ServiceWorkspace

COMMAND_CHARS_MAX = 512
_UNNAMED = re.compile(r"[^a-z0-9-]+")


class Wrapped(NamedTuple):
    """The result of a wrapped command."""

    command: str
    exit_code: int | None
    """The exit code, or minus the signal's number; None if it was not observed."""
    duration_ms: int | None
    output: Output
    errors: Output
    answer: answers.Answer
    activity: Activity
    git_before: GitState | None
    git_after: GitState | None
    changed_files: bool | None = None


def sprint_for(
    workspace: ServiceWorkspace,
    named: str | None,
    *,
    place: Place | None,
    actor: str,
    at: str,
    max_iterations: int = 0,
    goal: str | None = None,
) -> str:
    """Return the sprint that a wrapped command belongs to; create one if necessary.

    `max_iterations` limits a new sprint, whose goal is `goal`; 0 means no limit. A
    completed sprint is continued only if it was reopened. Raise `RefusedError` if no sprint
    is named and several are unfinished, or if the named sprint is completed.
    """
    if (sprint_id := _to_continue(workspace, named)) is None:
        # Another process may have created a sprint before the free name was determined.
        free = _free_name(workspace)
        sprint_id = _to_continue(workspace, named) or free
    if sprint_id in workspace.sprints():
        if not _is_begun(workspace, sprint_id):
            workspace.handle(StartSprint(), sprint_id=sprint_id, at=at, actor=actor)
        return sprint_id
    fields = loop_fields(workspace) if goal is None else ralph_fields(goal)
    create = CreateSprint(fields, place, max_iterations=max_iterations)
    try:
        workspace.handle(create, sprint_id=sprint_id, at=at, actor=actor)
    except RefusedError:
        # Another process may have created the sprint at the same time.
        if sprint_id not in workspace.sprints():
            raise
    if workspace.sprint(sprint_id).plan.status == NOT_STARTED:
        workspace.handle(StartSprint(), sprint_id=sprint_id, at=at, actor=actor)
    return sprint_id


def _to_continue(workspace: ServiceWorkspace, named: str | None) -> str | None:
    """Return the named or current sprint; None if a new sprint must be created."""
    try:
        sprint_id = workspace.choose(named)
    except NotFoundError:
        return named
    if workspace.sprint(sprint_id).plan.status != COMPLETED:
        return sprint_id
    if named is not None:
        raise RefusedError(
            f"sprint {named} is completed",
            hint="run `sprintlog sprint reopen` to continue it, or omit the name to start "
            "another sprint",
            sprint=named,
        )
    return None


def record_loss(workspace: ServiceWorkspace, sprint_id: str, *, actor: str) -> str:
    """Record in a new log that the previous log was deleted; return the recorded text."""
    folder = workspace.location.folder
    said = f"the log in {folder} was deleted while a command ran; this one begins after it"
    workspace.handle(AddNote(said), sprint_id=sprint_id, actor=actor)
    return said


def loop_fields(workspace: ServiceWorkspace) -> dict[str, Any]:
    """Return the fields of a sprint for a custom loop."""
    return ralph_fields(f"{LOOP_IN}{workspace.location.root.name or 'this folder'}")


def _is_begun(workspace: ServiceWorkspace, sprint_id: str) -> bool:
    """Return whether a sprint was started, or must be started explicitly."""
    plan = workspace.sprint(sprint_id).plan
    goal = str(plan.document.get("goal") or "")
    return plan.status != NOT_STARTED or not goal.startswith(LOOP_IN)


def begin(
    workspace: ServiceWorkspace,
    sprint_id: str,
    *,
    files: str | None = None,
    **envelope: Unpack[Envelope],
) -> int:
    """Record the observed start of an iteration and its files; return its number."""
    envelope["observed"] = True
    outcome = workspace.handle(StartWrapped(files), sprint_id=sprint_id, **envelope)
    return outcome.sprint.knowledge.iteration_max


def begun(workspace: ServiceWorkspace, key: str) -> tuple[str, int] | None:
    """Return the sprint and number of the iteration that was started under a key."""
    for recorded in workspace.log.find_key(key):
        event, sprint_id = CODEC.decode(recorded), sprint_of(recorded.stream)
        if isinstance(event, IterationStarted) and sprint_id is not None:
            return sprint_id, event.number
    return None


def with_learnings_kept(
    workspace: ServiceWorkspace,
    sprint_id: str,
    ended: EndWrapped,
    **envelope: Unpack[Envelope],
) -> EndWrapped:
    """Return the command without its learnings, after adding them to the open journal."""
    if ended.said is None:
        return ended
    # Imported here: few agents report learnings.
    from .learnings import keep_learnings

    return replace(ended, said=keep_learnings(workspace, sprint_id, ended.said, **envelope))


def ended(
    workspace: ServiceWorkspace,
    wrapped: Wrapped,
    *,
    number: int | None,
    ends: bool,
    now: str,
    since: int,
) -> EndWrapped:
    """Return the command that records the result of a wrapped command.

    `since` is the log position at the command's start.
    """
    verdict = answers.judge(
        wrapped.answer,
        errors=wrapped.errors.text(),
        exit_code=wrapped.exit_code,
        read=lambda text: _read(text, is_agent=_is_agent(wrapped)),
        moment=moment_at(now),
    )
    # The output already contains any plain text.
    summary = verdict.summary if wrapped.activity.agent is not None else None
    said = answers.said_beside(wrapped.answer.text)
    turn = answers.read_turn(wrapped.answer.text, told="")
    is_claim = (
        isinstance(turn, answers.Turn) and turn.is_goal and verdict.status == COMPLETED
    )
    claim = (turn.summary or "") if is_claim else None
    ran = AgentRan(
        "",
        exit_code=wrapped.exit_code,
        duration_ms=wrapped.duration_ms,
        output=wrapped.output.text(),
        output_bytes=wrapped.output.bytes,
        output_sha256=wrapped.output.sha256,
        errors=wrapped.errors.text(),
        iteration=number,
        command=cut(wrapped.command, COMMAND_CHARS_MAX),
        **figures(wrapped.activity),
        **outcome(verdict),
        git_before=wrapped.git_before,
        git_after=wrapped.git_after,
        changed_files=wrapped.changed_files,
    )
    return EndWrapped(alone(workspace, ran, since=since), ends, summary, said, claim)


class Held(Protocol):
    """A command that does not start until files are saved or a time limit is reached."""

    @property
    def is_over(self) -> bool:
        """Return whether the command may have started already."""

    def end(self) -> None:
        """Release the command so that it starts."""


def files_before(
    workspace: ServiceWorkspace,
    sprint_id: str,
    waiting: Held,
    *,
    measure: str | None,
    keeps_files: bool,
    tell: Callable[[str], None],
    actor: str,
) -> str | None:
    """Save the files from before a command, and then start it; return their snapshot.

    Before the first measured command, its tests and measure are saved as the accepted ones.
    """
    # Imported here and below: few commands wait for their files.
    from .work_tree import instruments, start_files

    def is_late() -> bool:
        if late := waiting.is_over:
            # The command is already running and may have changed the files that were
            # read last.
            tell(
                "the files before this run were not saved: saving took too "
                "long; run `sprintlog iteration snapshot` before the next run"
            )
        waiting.end()
        return late

    files, known = None, workspace.sprint(sprint_id).knowledge
    envelope: Envelope = {"actor": actor, "observed": True}
    try:
        if measure is not None and not known.instruments and known.tracker.is_empty:
            instruments.save_instruments(
                *(workspace, sprint_id, [measure]),
                envelope=envelope,
                is_late=lambda: waiting.is_over,
            )
        if keeps_files:
            files = start_files.files_at_start(
                workspace, sprint_id, envelope=envelope, is_late=is_late
            )
    except (SprintlogError, OSError) as error:
        tell(f"the files before this run were not saved: {error}")
    waiting.end()
    return files


def saved_instruments(
    workspace: ServiceWorkspace,
    sprint_id: str,
    number: int,
    commands: Iterable[str],
    tell: Callable[[str], None],
    *,
    actor: str,
) -> MeasurementChanged | None:
    """Save an iteration's tests and measure; return and report how they changed."""
    from .work_tree.instruments import save_instruments

    is_first = not workspace.sprint(sprint_id).knowledge.instruments
    changed = save_instruments(
        workspace, sprint_id, commands, envelope={"actor": actor, "observed": True}
    )
    if changed is not None:
        tell(changed.advice)
    elif is_first and workspace.sprint(sprint_id).knowledge.is_guarded:
        tell(f"the tests of iteration {number} count as accepted: none were saved before")
    return changed


def end_measurement(
    workspace: ServiceWorkspace,
    sprint_id: str,
    found: Command,
    changed: MeasurementChanged | None,
    *,
    tell: Callable[[str], None],
    actor: str,
) -> None:
    """Record the measurement of a wrapped iteration, and decide on its claim."""
    # Imported here: the command has ended, and the import may be slow.
    from .reviews import decide_claim
    from .work_tree.instruments import with_instruments

    measured = with_instruments(found, changed)
    workspace.handle_with(sprint_id, measured, actor=actor, observed=True)
    decide_claim(workspace, sprint_id, tell=tell, envelope={"actor": actor})


def _read(text: str, *, is_agent: bool) -> answers.Verdict:
    """Return the verdict on a final text, which may answer in the format for a goal."""
    found = answers.of_text(text) if is_agent else answers.of_command(text)
    turn = answers.read_turn(text, told="")
    return turn if found.status == UNKNOWN and isinstance(turn, answers.Turn) else found


def _is_agent(wrapped: Wrapped) -> bool:
    """Return whether the program is an agent, according to its output or its name."""
    return wrapped.activity.agent is not None or is_agent(wrapped.command.partition(" ")[0])


def git_state(found: RepositoryState | None) -> GitState | None:
    """Return the state of a repository in the format used by events."""
    return None if found is None else GitState(found.head, found.is_dirty)


def _free_name(workspace: ServiceWorkspace) -> str:
    """Return an unused sprint name made from the folder's name and the date."""
    folder = _UNNAMED.sub("-", workspace.location.root.name.lower()).strip("-") or "loop"
    name = f"{folder[:60]}-{workspace.now()[:10]}"
    taken = workspace.sprints()
    further = (f"{name}-{number}" for number in range(2, 10_000))
    return name if name not in taken else next(one for one in further if one not in taken)
