"""The prompt file of a loop, specified on the command line or in the settings."""

import os
from pathlib import Path

import click
from click.core import ParameterSource

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.service.prompts import template_in
from sprintlog.engine.service.workspace import ServiceWorkspace

from . import settings, typed
from .context import here

with_prompt_file = typed.option(
    "--prompt-file",
    setting="agent.prompt-file",
    metavar="FILE",
    help="The agent's whole prompt, with variables such as `{{task}}`.",
)
"""The option for the agent's prompt file, passed as `prompt_file`."""


def prompt_file_in(
    workspace: ServiceWorkspace, named: str | None, *, base: Path | None = None
) -> str | None:
    """Return the path of the prompt file relative to the work tree's root.

    The path is resolved from the folder `base`, by default the one from `prompt_base`.
    Raise `InvalidInputError` or `NotFoundError` if the file cannot be used.
    """
    if named is None:
        return None
    root = workspace.location.root.absolute()
    # Links are not followed, because a link in the work tree is not read.
    whole = Path(os.path.normpath((base or prompt_base()) / named))
    if not whole.is_relative_to(root):
        raise InvalidInputError(
            f"{named} is not in the work tree {root}", field="--prompt-file"
        )
    file = whole.relative_to(root).as_posix()
    template_in(workspace, file)
    return file


def prompt_base() -> Path:
    """Return the folder to which a prompt file's path is relative.

    It is the settings file's folder if the path is from that file, or else the current
    folder.
    """
    source = click.get_current_context().get_parameter_source("prompt_file")
    found = settings.settings_file() if source is ParameterSource.DEFAULT_MAP else None
    return here() if found is None else found.folder
