"""Events as CloudEvents 1.0, in the JSON format: one object for each, one on each line."""

from collections.abc import Iterator
from typing import Any

import msgspec

from sprintlog.exports import ExportedEvent, ExportedLog

CONTENT_TYPE = "application/cloudevents+json"
TYPE = "dev.sprintlog."
SEQUENCE_DIGITS = 20


def cloudevents(telling: ExportedLog) -> Iterator[bytes]:
    """Yield the events of a log, one per line."""
    for told in telling.events():
        yield line(told, telling.known.source)


def line(told: ExportedEvent, log: str) -> bytes:
    """Return an event on a line."""
    return msgspec.json.encode(cloud_event(told, log)) + b"\n"


def cloud_event(told: ExportedEvent, log: str) -> dict[str, Any]:
    """Return an event; every export gives it the same source and id."""
    recorded, event = told.recorded, told.event
    shape = recorded.schema_version if event is None else event.schema_version
    said: dict[str, Any] = {
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
    }
    marks = {
        "observed": recorded.observed,
        "rolledback": not told.is_in_force,
        "erased": told.is_erased,
    }
    return {
        **said,
        **{name: True for name, is_so in marks.items() if is_so},
        "data": told.data,
    }
