"""sprintlog's own files, unchanged since this process started to keep them (ADR 0009).

An upgrade may replace or delete them at any moment. The finder of sprintlog's modules keeps
them; in a library without such a finder, nothing is kept.
"""

import sys
from typing import Any


def keep_ours() -> None:
    """Keep all our modules and files in memory, before this process waits for others."""
    for finder in sys.meta_path:
        if (keep := getattr(finder, "keep_ours", None)) is not None:
            keep()


def own_text(module: str, name: str) -> str:
    """Return the text of a file in the folder of one of our modules."""
    found: Any = sys.modules[module]
    path = f"{found.__file__.rpartition('/')[0]}/{name}"
    return bytes(found.__loader__.get_data(path)).decode()
