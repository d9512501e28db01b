"""How requests of the operator queue are shown to people."""

from typing import Any

import msgspec

from sprintlog.engine.sprint.events import RequestReopened, RequestReturned
from sprintlog.engine.sprint.queue.rules import Ruling
from sprintlog.projections.views.queue import RequestHistory, RequestWithHistory


def ruling_row(ruling: Ruling) -> list[str]:
    """Return what a rule decides as a row for people."""
    problem = f"refused: {ruling.problem}" if ruling.problem else ""
    by = f"by rule {ruling.rule}" if ruling.rule else ""
    return [ruling.request, ruling.decision or "no rule fits", by, problem]


def row_of(entry: dict[str, Any]) -> list[str]:
    """Return a request as a row of the list."""
    status, until = str(entry["status"]), entry.get("deferred-until")
    said = f"{status} ({until})" if until and status == "deferred" else status
    rest = [str(entry.get(key) or "") for key in ("priority", "type", "title")]
    return [entry["id"], said, *rest]


def lines_of(request: RequestWithHistory) -> list[str]:
    """Return a request as lines for people."""
    lines = [f"{request.id}  {request.status}  {request.priority} {request.type}"]
    lines.append(f"  {request.title}")
    if request.description not in (None, request.title):
        lines += [f"  {line}" for line in str(request.description).split("\n")]
    for name in _SHOWN:
        if (value := getattr(request, name)) is not None:
            shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            lines.append(f"  {name.replace('_', ' ')}: {shown}")
    return [*lines, *map(_line, request.history)]


_SHOWN = (
    *("created_at", "discovered_in", "taken_over_from", "context", "decided_at"),
    *("decision", "reasoning", "rule", "injection", "rejection_reason", "deferred_until"),
    "came_back_from",
)


def _line(said: RequestHistory) -> str:
    what = said.type
    if said.decision:
        by = f" by rule {said.rule}" if said.rule else ""
        what = f"{said.decision}{by}: {said.reasoning}"
    elif said.type == RequestReturned.type:
        what = f"came back, {said.until} was reached"
    elif said.type == RequestReopened.type:
        what = f"reopened: {said.reason}"
    voided = "" if said.in_force else "  (rolled back)"
    return f"  {said.at}  version {said.version}  {said.actor}  {what}{voided}"
