"""The export formats in which other tools can read a log's events."""

from collections.abc import Callable

import msgspec

from sprintlog.errors import InvalidInputError
from sprintlog.exports import ExportedEvent, ExportedLog, survey
from sprintlog.stores import EventStore, Head

from .spans import TYPES, ToolCallers, otlp_json
from .tables import csv

CONTENT_TYPE = "application/cloudevents+json"
TYPE = "dev.sprintlog."
SEQUENCE_DIGITS = 20
Write = Callable[[bytes], object]
Progress = Callable[[int], None]

EVENTS = ("cloudevents", "otlp-json", "csv")
"""The export formats for events; `openmetrics` exports figures instead."""


def event_line(told: ExportedEvent, log: str) -> bytes:
    """Return an event as a single line of JSON in the CloudEvents 1.0 format.

    The event has the same source and id in every export.
    """
    recorded, event = told.recorded, told.event
    shape = recorded.schema_version if event is None else event.schema_version
    marks = {
        "observed": recorded.observed,
        "rolledback": not told.is_in_force,
        "erased": told.is_erased,
    }
    said = {
        "specversion": "1.0",
        "id": recorded.id,
        "source": f"urn:sprintlog:{log}",
        "type": f"{TYPE}{recorded.type}.v{shape}",
        "subject": recorded.stream,
        "time": recorded.at,
        "datacontenttype": "application/json",
        "sequence": f"{recorded.position:0{SEQUENCE_DIGITS}d}",
        "partitionkey": recorded.stream,
        "streamversion": recorded.version,
        "recordedtime": recorded.recorded_at,
        "actor": told.actor,
        "correlationid": recorded.correlation_id,
        "causationid": recorded.causation_id,
        "eventhash": recorded.hash.hex(),
        "prevhash": told.previous.hex(),
        **{name: True for name, is_so in marks.items() if is_so},
        "data": told.data,
    }
    return msgspec.json.encode(said) + b"\n"


def write_events(
    log: EventStore,
    format_: str,
    write: Write,
    *,
    stream: str | None = None,
    with_content: bool = False,
    progress: Progress = lambda count: None,
) -> Head:
    """Write the events of a log or of one stream, and return the head that was read.

    The head is fixed at the start, and the chain is verified before the first byte is
    written.
    """
    if format_ not in EVENTS:
        raise InvalidInputError(f"unknown format {format_[:40]!r}", field="format")
    callers = ToolCallers()
    types = TYPES if format_ == "otlp-json" else ()
    known = survey(log, types=types, look=callers.look, progress=progress)
    telling = ExportedLog(log, known, stream, with_content, progress)
    if format_ == "otlp-json":
        parts = otlp_json(telling, callers)
    elif format_ == "csv":
        parts = csv(telling)
    else:
        parts = (event_line(told, known.source) for told in telling.events())
    for part in parts:
        write(part)
    return known.head
