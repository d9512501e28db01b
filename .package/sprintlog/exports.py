"""A log's events for export to other tools: verified, masked, and marked if discarded."""

from .engine.sessions.names import session_stream as session_stream
from .projections.history.exported_events import (
    ExportedEvent as ExportedEvent,
    ExportedLog as ExportedLog,
    survey as survey,
)
