"""`sprintlog import prd`, `orchestrator` and so on, and the importers of extensions.

Each built-in importer is imported when its command is typed.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec.structs import replace

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.extensions import Extension, loaded
from sprintlog.engine.service import from_transcripts

from .. import typed
from ..context import open_workspace, with_actor, with_json, with_sprint
from ..intake.imported import Imported
from ..intake.transcript import TranscriptRead
from ..record import Options, refresh
from .import_record import Import, new_events, number_of, read_with

Function = TypeVar("Function", bound=Callable[..., Any])
FILE = click.Path(path_type=Path)


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
        run = Import("prd", file, Options(given), workspace)
        take_prd(run, of_git=of_git, text=text, sprint_dir=sprint_dir)


@typed.command("orchestrator", epilog="Example: sprintlog import orchestrator .ralph")
@typed.argument("path", type=FILE, default=Path(".ralph"))
@_with_source
def orchestrator(path: Path, **given: Any) -> None:
    """Import history.jsonl and events-*.jsonl of ralph-orchestrator.

    Each iteration is recorded with its original times, and every event as a note. PATH is
    the folder .ralph, or one of these files. The sprint is completed if the loop completed.
    """
    from ..importers.orchestrator import read_orchestrator

    _take(path, given, read_orchestrator(path), kind="orchestrator")


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

    _take(path, given, *read_aiwg(path), kind="aiwg")


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

    _take(file, given, read_ralph_loop(file), kind="ralph-loop")


def _take(path: Path, given: dict[str, Any], *several: Imported, kind: str) -> None:
    """Record the content of a source that was read."""
    with open_workspace() as workspace:
        Import(kind, path, Options(given), workspace).take(*several)


def command_of(group: click.Command, kind: str) -> click.Command:
    """Return the command of a kind that was recognised; raise if there is none."""
    root = click.get_current_context().find_root()
    if kind == "log" and (store := typed.below(root, "store")) is not None:
        group, kind = store.command, "import"
    assert isinstance(group, click.Group)
    command = group.commands.get(kind) or extended_command(kind)
    assert command is not None
    return command


def extended_command(name: str) -> click.Command | None:
    """Return the command of an importer, built in or of an extension; None without one."""
    # Imported here: only an unknown word needs it.
    from ..importers.markdown import READERS

    if name in READERS:
        read, extension = READERS[name], Extension("importer", name, "", "sprintlog", "")
    else:
        try:
            extension, read = loaded("importer", name)
        except NotFoundError:
            return None

    @typed.command(name, epilog=f"Example: sprintlog import {name} PATH")
    @typed.argument("path", type=FILE)
    @_with_source
    def command(path: Path, **given: Any) -> None:
        """Import what this importer reads; the same source again brings nothing."""
        _take(path, given, read_with(extension, read, path), kind=extension.name)

    return command


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
    sessions = sorted(map(read_transcript, named), key=lambda one: one.began_at or "")
    with open_workspace() as workspace:
        known = from_transcripts.KnownSessions(workspace)
        for session in sessions:
            run = Import("transcript", session.file, Options(given), workspace)
            _take_session(run, known, session)


COMMANDS = (prd, orchestrator, aiwg, ralph_loop, transcript)


def _take_session(
    run: Import, known: from_transcripts.KnownSessions, session: TranscriptRead
) -> None:
    """Record the new part of a session."""
    ran, summary = session.ran()
    options, at = run.options, session.began_at
    sprint_id = known.sprint_of(ran, options.sprint_id, actor=options.actor, at=at)
    recorded = 0
    if before := known.before(sprint_id, ran):
        number = before[-1].iteration
    else:
        begins = from_transcripts.SessionBegins()
        began = run.decide(sprint_id, begins, fact=f"{session.key}:began", at=at)
        number, recorded = number_of(began), new_events(began)
    ends = from_transcripts.SessionEnds(known, replace(ran, iteration=number), summary)
    fact = f"{session.key}:{session.sha256}"
    ended = run.decide(sprint_id, ends, fact=fact, at=session.ended_at)
    recorded += new_events(ended)
    found = {"line": session.activity.lines, "tool call": session.activity.tool_calls}
    if session.subagents:
        found["subagent"] = session.subagents
    kind = f"transcript of {session.activity.agent}"
    run.tell(sprint_id, found, recorded, session.unread, kind=kind)
    refresh(run.workspace, sprint_id)
