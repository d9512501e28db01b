"""A log as traces of OpenTelemetry, in OTLP's JSON: one message on each line.

Ids follow from hashes of the log, so the same log gives the same spans, and whoever has
them knows them again.
"""

from collections.abc import Iterator
from itertools import islice

from .span import line
from .spans import spans
from .told import LogTold
from .tool_callers import ToolCallers

SPANS_A_LINE = 256


def otlp_json(telling: LogTold, callers: ToolCallers) -> Iterator[bytes]:
    """Yield the spans of a log, many on a line."""
    resource = {"service.name": "sprintlog", "sprintlog.log": telling.known.source}
    found = spans(telling, callers)
    while page := list(islice(found, SPANS_A_LINE)):
        yield line(page, resource)
