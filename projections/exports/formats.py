"""The formats of other tools in which a log is written, each a function of the log."""

from collections.abc import Callable, Iterator

from sprintlog.engine.errors import InvalidInputError

from ..health.exchange import Carried
from ..workspace import Workspace
from .cloudevents import cloudevents
from .exported_events import LogTold
from .spans import otlp_json
from .survey import TYPES, Progress, ToolCallers, survey
from .tables import csv

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
) -> Carried:
    """Write the events of a log, or of one stream, and return up to where it was read.

    The end is fixed at the beginning, and the chain checked before the first byte.
    """
    if format_ not in EVENTS:
        raise InvalidInputError(f"{format_[:40]!r} is no format of events", field="format")
    if format_ == "parquet":
        # Imported here: only this format needs Arrow.
        from .parquet import write_parquet
    callers = ToolCallers()
    types = TYPES if format_ == "otlp-json" else ()
    known = survey(workspace.log, types=types, look=callers.look, progress=progress)
    telling = LogTold(workspace.log, known, stream, with_content, progress)
    if format_ == "parquet":
        write_parquet(telling, write)
    else:
        for part in _parts(format_, telling, callers):
            write(part)
    head = known.head
    return Carried(head.position if stream is None else workspace.log.version(stream), head)


def _parts(format_: str, telling: LogTold, callers: ToolCallers) -> Iterator[bytes]:
    if format_ == "otlp-json":
        return otlp_json(telling, callers)
    return cloudevents(telling) if format_ == "cloudevents" else csv(telling)
