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


COMMANDS = (prd,)
