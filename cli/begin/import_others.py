"""`sprintlog import prd`, `orchestrator` and so on: what the loops of others left behind.

What is read, and how it is recorded, is imported when it is asked for.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from .. import typed
from ..context import open_workspace, with_actor, with_json, with_sprint

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
@click.argument("file", type=FILE)
@typed.option("--git", "of_git", is_flag=True, help="All its committed versions, too.")
@typed.option(
    "--progress",
    "text",
    type=FILE,
    metavar="FILE",
    help="The text of the loop's entries. [progress.txt beside FILE]",
)
@typed.option(
    "--sprint-dir", type=FILE, help="Where PROGRESS.yaml is to be written. [nowhere]"
)
@_with_source
def prd(
    file: Path, of_git: bool, text: Path | None, sprint_dir: Path | None, **given: Any
) -> None:
    """Take in a prd.json or feature_list.json: each story becomes a phase.

    A story that passes is completed. The entries of the progress.txt beside it go to the
    journal. The same source again brings nothing.
    """
    from .import_prd import take_prd
    from .taken import options_of

    with open_workspace() as workspace:
        options = options_of(given, file)
        take_prd(workspace, file, options, of_git=of_git, text=text, sprint_dir=sprint_dir)


@typed.command("orchestrator", epilog="Example: sprintlog import orchestrator .ralph")
@click.argument("path", type=FILE, default=Path(".ralph"))
@_with_source
def orchestrator(path: Path, **given: Any) -> None:
    """Take in history.jsonl and events-*.jsonl of ralph-orchestrator.

    Each iteration is recorded with its own times, and every event as a note. PATH is the
    folder .ralph, or one of these files.
    """
    from ..intake.others.orchestrator import read_orchestrator
    from .import_loops import take_loop
    from .taken import options_of

    loop = read_orchestrator(path)
    with open_workspace() as workspace:
        take_loop(workspace, path, loop, options_of(given, path), kind="orchestrator")


@typed.command(
    "transcript",
    epilog="Example: sprintlog import transcript ~/.claude/projects/-work-shop/*.jsonl",
)
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE…")
@_with_source
def transcript(files: tuple[Path, ...], **given: Any) -> None:
    """Take in what an agent kept of its sessions: each becomes an iteration.

    Understood are those of Claude Code with the subagents beside them, Codex, Gemini,
    Copilot and opencode. Tokens, duration and final words are recorded, no prompts.
    """
    from .import_loops import take_transcripts
    from .taken import options_of

    with open_workspace() as workspace:
        options = {file: options_of(given, file) for file in files}
        take_transcripts(workspace, files, options)


COMMANDS = (prd, orchestrator, transcript)
