"""Answers about the past: differences, blame, a sprint's history and its decisions."""

from typing import Any

from msgspec import Struct

from sprintlog.engine.sprint.state.document_fields import MISSING
from sprintlog.engine.sprint.state.patch import FieldChange

from ..history import blame, blame_lines, decisions, differences, replay
from ..history.blame_files import Standing
from .events import WholeEvent, envelope, filled


class ComparedPoint(Struct, frozen=True):
    """A compared point; for the journal, `sprint` contains the journal's name."""

    sprint: str
    version: int


class DifferenceAnswer(Struct, frozen=True):
    """The differences between two points of a state file."""

    file: str
    old: ComparedPoint
    new: ComparedPoint
    changes: list[FieldChange]


class BlameAnswer(Struct, frozen=True):
    """The event that set a field, and its causes."""

    field: str
    present: bool
    value: Any
    reason: str | None
    event: WholeEvent
    brought_back: WholeEvent | None
    """The effective event that the value comes from, if it is another event."""
    causes: list[WholeEvent]
    was_present: bool
    """Whether the field existed before the event."""
    before: Any
    """The value before the event."""
    session: str | None
    """The agent session in which the event occurred, `AGENT-ID`."""


class BlamedLine(Struct, frozen=True):
    """A line of a state file, and the event that set its value."""

    line: int
    text: str
    field: str
    version: int
    position: int
    type: str
    at: str
    actor: str
    brought_back: int | None


class StepAnswer(Struct, frozen=True):
    """An event and its changes, as JSON Patch and field by field."""

    version: int
    position: int
    at: str
    actor: str
    type: str
    reason: str | None
    changes: list[Any]
    fields: list[FieldChange]


class Audit(Struct, frozen=True):
    """A sprint's decisions up to a version."""

    sprint: str
    version: int
    decisions: list[decisions.Decision]


def difference(found: differences.Difference) -> DifferenceAnswer:
    """Return the differences between two points."""
    return DifferenceAnswer(
        found.file.path, _point(found.old), _point(found.new), found.changes()
    )


def blamed(found: blame.Blame) -> BlameAnswer:
    """Return the event that set a field, and its causes."""
    is_there, origin = found.value is not MISSING, found.brought_back
    was_there = found.before is not MISSING
    return BlameAnswer(
        found.field,
        is_there,
        found.value if is_there else None,
        found.reason,
        envelope(found.event),
        None if origin is None else envelope(origin),
        [*map(envelope, found.causes)],
        was_there,
        found.before if was_there else None,
        found.session,
    )


def blamed_line(found: blame_lines.Line) -> BlamedLine:
    """Return a line, and the event that set it."""
    event, origin = found.event, found.brought_back
    return filled(
        BlamedLine,
        event,
        line=found.number,
        text=found.text,
        field=found.field,
        brought_back=None if origin is None else origin.version,
    )


def step(found: replay.ReplayStep) -> StepAnswer:
    """Return an event with its changes."""
    event, reason, fields = found.event, found.reason, found.changes()
    patch = found.json_patch()
    return filled(StepAnswer, event, reason=reason, changes=patch, fields=fields)


def _point(standing: Standing) -> ComparedPoint:
    return ComparedPoint(standing.subject, standing.version)
