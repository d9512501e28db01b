"""The formats of other tools in which a log is written, each a function of the log."""

from collections.abc import Callable, Iterator

from sprintlog.errors import InvalidInputError
from sprintlog.exports import ExportedLog, survey
from sprintlog.stores import EventStore, Head

from .cloudevents import cloudevents
from .spans import TYPES, ToolCallers, otlp_json
from .tables import csv

Write = Callable[[bytes], object]
Progress = Callable[[int], None]

EVENTS = ("cloudevents", "otlp-json", "csv")
"""The formats of events; `openmetrics` contains figures."""


def write_events(
    log: EventStore,
    format_: str,
    write: Write,
    *,
    stream: str | None = None,
    with_content: bool = False,
    progress: Progress = lambda count: None,
) -> Head:
    """Write the events of a log, or of one stream, and return the head that was read.

    The end is fixed at the beginning, and the chain checked before the first byte.
    """
    if format_ not in EVENTS:
        raise InvalidInputError(f"{format_[:40]!r} is no format of events", field="format")
    callers = ToolCallers()
    types = TYPES if format_ == "otlp-json" else ()
    known = survey(log, types=types, look=callers.look, progress=progress)
    telling = ExportedLog(log, known, stream, with_content, progress)
    for part in _parts(format_, telling, callers):
        write(part)
    return known.head


def _parts(format_: str, telling: ExportedLog, callers: ToolCallers) -> Iterator[bytes]:
    if format_ == "otlp-json":
        return otlp_json(telling, callers)
    return cloudevents(telling) if format_ == "cloudevents" else csv(telling)
