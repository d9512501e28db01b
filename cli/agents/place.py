"""Which project, and whose home, an agent's files are looked for in."""

import os
from pathlib import Path

from sprintlog.engine.adapters.hooks.hindrances import Around
from sprintlog.engine.errors import NotFoundError

from ..context import find_log, here


def around_here() -> Around:
    """Return the project that this folder belongs to, the home and the environment."""
    return Around(_project(), Path.home(), os.environ)


def _project() -> Path:
    """Return the root of the project: the log's work tree, else git's, else this folder."""
    try:
        return find_log().root
    except NotFoundError:
        folder = here()
    return next((at for at in (folder, *folder.parents) if (at / ".git").exists()), folder)
