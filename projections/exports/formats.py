"""The formats of other tools in which a log is written, each a function of the log."""

from collections.abc import Callable, Iterable

from sprintlog.engine.errors import InvalidInputError

from ..health.exchange import Exported
from ..workspace import Workspace
from .survey import Progress, survey
from .told import LogTold

Write = Callable[[bytes], object]

EVENTS = ("cloudevents", "otlp-json", "csv", "parquet")
"""Those that tell events; `openmetrics` tells figures."""


def write_events(
    workspace: Workspace,
    format_: str,
    write: Write,
    *,
    stream: str | None = None,
    with_content: bool = False,
    progress: Progress = lambda count: None,
) -> Exported:
    """Write the events of a log, or of one stream, and return up to where it was read.

    The end is fixed at the beginning, and the chain checked before the first byte.
    """
    # Imported here, and below: a process writes one format.
    if format_ == "parquet":
        from .parquet import write_parquet

        telling = _telling(workspace, stream, with_content, progress)
        write_parquet(telling, write)
        return _exported(telling)
    if format_ == "otlp-json":
        from .otlp import otlp_json
        from .tool_callers import TYPES, ToolCallers

        callers = ToolCallers()
        known = survey(workspace.log, types=TYPES, look=callers.look, progress=progress)
        telling = LogTold(workspace.log, known, stream, with_content, progress)
        return _written(otlp_json(telling, callers), telling, write)
    telling = _telling(workspace, stream, with_content, progress)
    if format_ == "cloudevents":
        from .cloudevents import cloudevents

        return _written(cloudevents(telling), telling, write)
    if format_ == "csv":
        from .tables import csv

        return _written(csv(telling), telling, write)
    raise InvalidInputError(f"{format_[:40]!r} is no format of events", field="format")


def _telling(
    workspace: Workspace, stream: str | None, with_content: bool, progress: Progress
) -> LogTold:
    known = survey(workspace.log, progress=progress)
    return LogTold(workspace.log, known, stream, with_content, progress)


def _written(parts: Iterable[bytes], telling: LogTold, write: Write) -> Exported:
    for part in parts:
        write(part)
    return _exported(telling)


def _exported(telling: LogTold) -> Exported:
    """Return how much was told."""
    head = telling.known.head
    if telling.stream is None:
        return Exported(head.position, head)
    return Exported(telling.log.version(telling.stream), head)
