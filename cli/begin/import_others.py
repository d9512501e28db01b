"""`sprintlog import prd`, `orchestrator` and so on: the files of other loops.

Each importer is imported when its command is typed.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec.structs import replace

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.service import from_transcripts
from sprintlog.engine.service.state_file_owner import loop_holder
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import open_workspace, with_actor, with_json, with_sprint
from ..importers.aiwg import FoundAiwg
from ..intake.imported import ImportedLoop
from ..intake.transcript import TranscriptRead
from ..record import Options, Recording, refresh
from .loop_facts import key_of, number_of, options_of, take_facts, tell

Function = TypeVar("Function", bound=Callable[..., Any])
FILE = click.Path(path_type=Path)
Known = from_transcripts.KnownSessions


def _with_source(function: Function) -> Function:
    """Add the options that every such import has."""
    return with_sprint(with_actor(with_json(function)))


@typed.command(
    "prd",
    epilog="Examples: sprintlog import prd prd.json\n\n"
    "sprintlog import prd --git scripts/ralph/prd.json",
)
@typed.argument("file", type=FILE)
@typed.option("--git", "of_git", is_flag=True, help="All its committed versions, too.")
@typed.option(
    "--progress",
    "text",
    type=FILE,
    metavar="FILE",
    help="The text of the loop's entries. [progress.txt beside FILE]",
)
@typed.option(
    "--sprint-dir", type=FILE, help="The folder in which to write PROGRESS.yaml. [none]"
)
@_with_source
def prd(
    file: Path, of_git: bool, text: Path | None, sprint_dir: Path | None, **given: Any
) -> None:
    """Import task lists in JSON: each story, task or feature becomes a phase.

    Supported are prd.json, feature_list.json, tasks.json of Task Master and similar lists.
    Each feature becomes a sprint: a list that is reused for the next feature begins another
    one. The entries of progress.txt in the same folder are added to the journal. Importing
    the same source again has no effect.
    """
    from .import_prd import take_prd

    with open_workspace() as workspace:
        options = options_of(given, file)
        take_prd(workspace, file, options, of_git=of_git, text=text, sprint_dir=sprint_dir)


@typed.command("orchestrator", epilog="Example: sprintlog import orchestrator .ralph")
@typed.argument("path", type=FILE, default=Path(".ralph"))
@_with_source
def orchestrator(path: Path, **given: Any) -> None:
    """Import history.jsonl and events-*.jsonl of ralph-orchestrator.

    Each iteration is recorded with its original times, and every event as a note. PATH is
    the folder .ralph, or one of these files. The sprint is completed if the loop completed.
    """
    from ..importers.orchestrator import read_orchestrator

    loop = read_orchestrator(path)
    with open_workspace() as workspace:
        take_loop(workspace, path, loop, options_of(given, path), kind="orchestrator")


@typed.command("aiwg", epilog="Example: sprintlog import aiwg .aiwg")
@typed.argument("path", type=FILE, default=Path(".aiwg"))
@_with_source
def aiwg(path: Path, **given: Any) -> None:
    """Import the loops of AIWG: their state, analytics and measurements.

    PATH is the folder .aiwg, or one file. Each loop becomes a sprint; its iterations are
    recorded with outcome, learnings and score. The sprint is completed if the state of the
    loop is completed.
    """
    from ..importers.aiwg import read_aiwg

    found = read_aiwg(path)
    with open_workspace() as workspace:
        take_aiwg(workspace, path, found, options_of(given, path))


@typed.command(
    "ralph-loop", epilog="Example: sprintlog import ralph-loop .claude/ralph-loop.local.md"
)
@typed.argument("file", type=FILE, default=Path(".claude/ralph-loop.local.md"))
@_with_source
def ralph_loop(file: Path, **given: Any) -> None:
    """Import the file of the ralph-loop plugin of Claude Code while the loop runs.

    Its prompt becomes the goal of a sprint, and each iteration begun is recorded. The
    plugin deletes its file when the loop ends.
    """
    from ..importers.ralph_loop import read_ralph_loop

    loop = read_ralph_loop(file)
    with open_workspace() as workspace:
        take_loop(workspace, file, loop, options_of(given, file), kind="ralph-loop")


@typed.command(
    "transcript",
    epilog="Example: sprintlog import transcript ~/.claude/projects/-work-shop/*.jsonl",
)
@typed.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE…")
@_with_source
def transcript(files: tuple[Path, ...], **given: Any) -> None:
    """Import transcripts of an agent: each session becomes an iteration.

    Supported are sessions of Claude Code including subagents, Codex, Gemini, Copilot,
    Copilot Chat, Pi and opencode. Tokens, duration and the last message are recorded, but
    no prompts. They are added to the current sprint; if there is none, one is created. For
    a session recorded by `wrap` or an earlier import, only new data is added. The sprint
    stays open.
    """
    from ..intake.transcript import read_transcript, session_file

    named = dict.fromkeys(session_file(file) for file in files)
    sessions = [(read_transcript(file), options_of(given, file)) for file in named]
    with open_workspace() as workspace:
        take_sessions(workspace, sessions)


COMMANDS = (prd, orchestrator, aiwg, ralph_loop, transcript)


def take_sessions(
    workspace: Workspace, sessions: Sequence[tuple[TranscriptRead, Options]]
) -> None:
    """Record sessions, the earliest first."""
    known = Known(workspace)
    for session, options in sorted(sessions, key=lambda one: one[0].began_at or ""):
        _take_session(workspace, known, session, options)


def _take_session(
    workspace: Workspace, known: Known, session: TranscriptRead, options: Options
) -> None:
    run, ran = Recording("import transcript", options, workspace), session.ran()[0]
    sprint_id = known.sprint_of(
        ran, options.sprint_id, actor=options.actor, at=session.began_at
    )
    recorded = _record(run, known, sprint_id, session)
    found = {"line": session.activity.lines, "tool call": session.activity.tool_calls}
    if session.subagents:
        found["subagent"] = session.subagents
    kind, unread = f"transcript of {session.activity.agent}", session.unread
    tell(run, session.file, kind, sprint_id, found=found, recorded=recorded, unread=unread)
    refresh(workspace, sprint_id)


def _record(run: Recording, known: Known, sprint_id: str, session: TranscriptRead) -> int:
    """Record the new part of a session; return the number of events."""
    workspace, recorded = run.workspace, 0
    ran, summary = session.ran()
    if before := known.before(sprint_id, ran):
        number = before[-1].iteration
    else:
        options = _keyed(run, sprint_id, f"{session.key}:began", at=session.began_at)
        began = Recording(run.name, options, workspace).handle_with(
            from_transcripts.SessionBegins(), sprint_id=sprint_id, observed=True
        )
        number = number_of(began)
        recorded = 0 if began.duplicate else len(began.events)
    ends = from_transcripts.SessionEnds(known, replace(ran, iteration=number), summary)
    fact = f"{session.key}:{session.sha256}"
    options = _keyed(run, sprint_id, fact, at=session.ended_at)
    ended = Recording(run.name, options, workspace).handle_with(
        ends, sprint_id=sprint_id, observed=True
    )
    return recorded + (0 if ended.duplicate else len(ended.events))


def _keyed(run: Recording, sprint_id: str, fact: str, *, at: str | None) -> Options:
    return run.options.with_values(at=at, key=key_of(sprint_id, fact, kind="transcript"))


def take_loop(
    workspace: Workspace, path: Path, loop: ImportedLoop, options: Options, *, kind: str
) -> None:
    """Record a loop that was read."""
    sprint_id = options.sprint_id or loop.name
    run = Recording(f"import {kind}", options, workspace)
    recorded = take_facts(run, sprint_id, loop, kind=kind)
    unread = loop.unread
    tell(run, path, kind, sprint_id, found=loop.found, recorded=recorded, unread=unread)
    refresh(workspace, sprint_id)


def take_aiwg(
    workspace: Workspace, path: Path, found: Sequence[FoundAiwg], options: Options
) -> None:
    """Record the loops of a folder, none of them where one cannot be.

    Raise `RefusedError` for several that are to be one sprint, and for files of our own.
    """
    if options.sprint_id is not None and len(found) > 1:
        raise RefusedError(
            f"{path}: {len(found)} loops cannot be the one sprint {options.sprint_id}",
            hint="leave --sprint out, or give the file of one loop",
            allowed=[one.id for one in found],
        )
    for one in found:
        if one.is_measured and (own := loop_holder(workspace, one.id)):
            raise RefusedError(
                f"{path}: the measurements of {one.id} are those of sprint {own} here",
                hint="they are recorded already",
                sprint=own,
            )
    for one in found:
        take_loop(workspace, path, one.loop, options, kind="aiwg")
