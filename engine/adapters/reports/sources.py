"""Names of source files, so that two reports on the same file are seen to be that."""

import os
from collections.abc import Sequence
from pathlib import Path


def name_of(file: str, *, folder: Path, roots: Sequence[str] = ()) -> str:
    """Return a source file's name below a folder, or its whole one elsewhere.

    A relative name belongs to the report's only root, and without one to the folder.
    """
    root = roots[0].strip() if len(roots) == 1 else ""
    whole = os.path.normpath(os.path.join(folder, root, file))
    return whole.removeprefix(f"{folder}{os.sep}")
