"""A log as traces of OpenTelemetry, in OTLP's JSON: one message on each line.

Ids follow from hashes of the log, so the same log gives the same spans, and whoever has
them knows them again.
"""

from collections.abc import Iterator
from itertools import islice

import msgspec

from .span import Attributes, line
from .spans import spans
from .told import LogTold
from .tool_callers import ToolCallers

SPANS_A_LINE = 256


def resource_of(telling: LogTold) -> Attributes:
    """Return what all spans of a log are from."""
    return {"service.name": "sprintlog", "sprintlog.log": telling.known.source}


def otlp_json(telling: LogTold, callers: ToolCallers) -> Iterator[bytes]:
    """Yield the spans of a log, many on a line."""
    resource = resource_of(telling)
    found = spans(telling, callers)
    while page := list(islice(found, SPANS_A_LINE)):
        yield line(page, resource)


class _PartialSuccess(msgspec.Struct, rename="camel", frozen=True):
    rejected_spans: int = 0
    error_message: str = ""


class _Answer(msgspec.Struct, rename="camel", frozen=True):
    partial_success: _PartialSuccess = _PartialSuccess()


def spans_left_out(answer: bytes) -> tuple[int, str]:
    """Return how many spans an endpoint did not keep, and why, as its answer says.

    The specification forbids to send them again. What is no such answer says nothing.
    """
    try:
        # JSON of Protobuf may have a number of 64 bits as text.
        said = msgspec.json.decode(answer, type=_Answer, strict=False).partial_success
    except (msgspec.DecodeError, UnicodeDecodeError):
        return 0, ""
    return max(said.rejected_spans, 0), said.error_message
