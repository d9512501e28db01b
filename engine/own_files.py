"""sprintlog's own files, kept in memory since the process started (ADR 0009).

An upgrade may replace or delete the files at any time. The import finder for sprintlog's
modules keeps them; if sprintlog is used as a library without such a finder, nothing is
kept.
"""

import sys
from typing import Any


def keep_ours() -> None:
    """Load all of sprintlog's modules and files before this process starts to wait."""
    for finder in sys.meta_path:
        if (keep := getattr(finder, "keep_ours", None)) is not None:
            keep()


def own_text(module: str, name: str) -> str:
    """Return the text of a file in the same folder as one of sprintlog's modules."""
    found: Any = sys.modules[module]
    path = f"{found.__file__.rpartition('/')[0]}/{name}"
    return bytes(found.__loader__.get_data(path)).decode()
