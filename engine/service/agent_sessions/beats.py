"""How often a sprint hears from the hooks of its agent: at most once a minute."""

import os
import time
from pathlib import Path

BEAT_SECONDS = 60
MARK = "hook-beat"
"""A file in the log's folder; when it was touched last is all that it says."""


def is_due(folder: Path) -> bool:
    """Tell whether a minute has passed since this was last said to anybody.

    Of several that ask at once one is told so, or now and then two: that does no harm.
    """
    mark, now = folder / MARK, time.time()
    try:
        since = now - mark.lstat().st_mtime
    except OSError:
        since = BEAT_SECONDS
    # A clock that was put back would else keep it silent.
    if 0 <= since < BEAT_SECONDS:
        return False
    try:
        flags = os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        held = os.open(mark, flags, 0o600)
        try:
            os.utime(held, (now, now))
        finally:
            os.close(held)
    except OSError:
        return False
    return True
