"""Run one command in a separate process, which is killed at one of its appends.

`python -m tests.cli.dying N before|after COMMAND…` avoids timing assumptions. N is a
number, or types of events separated by commas: the first append that contains one of them.
"""

import os
import signal
import sys
from typing import Any

from sprintlog.cli.main import main
from sprintlog.engine.log.stores.sqlite.store import SqliteLog

_append = SqliteLog.append


def die_at(*places: int | str, after: bool) -> None:
    """Kill this process before or after an append, given by number or by event types."""
    made = 0

    def append(log: SqliteLog, *given: Any, **named: Any) -> Any:
        nonlocal made
        made += 1
        is_it = bool({made, *(event.type for event in given[1])} & {*places})
        if is_it and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        appended = _append(log, *given, **named)
        if is_it:
            os.kill(os.getpid(), signal.SIGKILL)
        return appended

    SqliteLog.append = append  # type: ignore[assignment, method-assign]


if __name__ == "__main__":
    at, when, *command = sys.argv[1:]
    places = (int(at),) if at.isdecimal() else (*at.split(","),)
    die_at(*places, after=when == "after")
    sys.argv = ["sprintlog", *command]
    main()
