"""Recording what the files of other loops say, and telling what became of them."""

from collections.abc import Sequence
from pathlib import Path

from sprintlog.engine.sprint.events import AgentRan
from sprintlog.projections.workspace import Workspace

from ..intake.others.orchestrator import FoundLoop
from ..intake.others.transcript import TranscriptRead, read_transcript
from ..output import warn
from ..record import Options, Recording, refresh
from .loop_facts import take_facts
from .taken import tell


def take_loop(
    workspace: Workspace, path: Path, loop: FoundLoop, options: Options, *, kind: str
) -> None:
    """Record a loop that was read."""
    sprint_id = options.sprint_id or loop.name
    run = Recording(f"import {kind}", options, workspace)
    recorded = take_facts(run, sprint_id, loop.facts, kind=kind, goal=loop.goal)
    tell(
        workspace,
        path,
        kind=kind,
        sprint_id=sprint_id,
        found=loop.found,
        recorded=recorded,
        unread=loop.unread,
        as_json=options.as_json,
    )
    refresh(workspace, sprint_id)


def take_transcripts(
    workspace: Workspace, files: Sequence[Path], options_of_file: dict[Path, Options]
) -> None:
    """Record sessions, the earliest first; all are read before the first is recorded."""
    sessions = [read_transcript(file) for file in files]
    for session in sorted(sessions, key=lambda one: one.began_at or ""):
        _take_session(workspace, session, options_of_file[session.file])


def _take_session(workspace: Workspace, session: TranscriptRead, options: Options) -> None:
    agent = str(session.activity.agent)
    sprint_id = options.sprint_id or f"{agent}-sessions"
    run = Recording("import transcript", options, workspace)
    goal = f"sessions of {agent} in {workspace.location.root.name or 'this folder'}"
    recorded = take_facts(run, sprint_id, session.facts(), kind="transcript", goal=goal)
    known = {e.output_sha256 for e in workspace.repository.events(sprint_id, AgentRan)}
    if session.sha256 not in known:
        warn(f"{session.file} grew since it was taken in; what is new is not recorded")
    found = {"line": session.activity.lines, "tool call": session.activity.tool_calls}
    if session.subagents:
        found["subagent"] = session.subagents
    tell(
        workspace,
        session.file,
        kind=f"transcript of {agent}",
        sprint_id=sprint_id,
        found=found,
        recorded=recorded,
        unread=session.unread,
        as_json=options.as_json,
    )
    refresh(workspace, sprint_id)
