"""Models of progress.json, derived from its parts; its JSON Schema is made from these.

Six closed objects. The code that reads the file distinguishes fields of a later schema
version from mistakes, since that depends on the version (JRN-111).
"""

from typing import Annotated, Any, get_args, get_origin

from msgspec import structs
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from sprintlog.engine.journal.state import shapes

from .fields import Flag, OneOf, Text

Moment = Annotated[str, Field(strict=True, json_schema_extra={"format": "date-time"})]


class ClosedModel(BaseModel):
    """An object without any other property."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, json_schema_serialization_defaults_required=False
    )


def _whole(value: object) -> object:
    """Take 1.0 for 1, as the schema does."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _pattern(pattern: str) -> Any:
    # Of digits it means the ten of ASCII, as in the schema's own dialect.
    return Annotated[str, Field(strict=True, pattern=pattern.replace(r"\d", "[0-9]"))]


_KINDS: dict[Any, Any] = {str: Text, bool: Flag}
"""The type of a field by that of the same field of a part."""


def _model_of(
    part: type[shapes.ClosedObject], name: str, description: str
) -> type[ClosedModel]:
    """Return the model of a part, by the types and the rules of its fields."""
    rules = shapes.rules_of(part)
    known = (field for field in structs.fields(part) if field.name in rules)
    fields: dict[str, Any] = {one.name: _field(one, rules[one.name]) for one in known}
    model = create_model(name, __base__=ClosedModel, __doc__=description, **fields)
    _KINDS[part] = model
    return model


def _field(field: structs.FieldInfo, rule: shapes.FieldRule) -> Any:
    """Return the type of a field and its default, `...` where it must be given."""
    is_needed = field.required or rule.is_needed or rule.pattern
    default = ... if is_needed else field.default
    kind, *_ = get_args(field.type) or (field.type,)
    if rule.words:
        return Annotated[str, OneOf(rule.words)], default
    if rule.pattern:
        return _pattern(rule.pattern), default
    if rule.is_moment:
        return Moment, default
    if rule.least is not None:
        limits = Field(strict=True, ge=rule.least)
        return Annotated[int, limits, BeforeValidator(_whole)], default
    if get_origin(field.type) is tuple:
        return list[_KINDS[kind]], default or []  # type: ignore[valid-type]
    if field.name == "still_valid":
        return Flag, True
    if default is None:
        # What a file leaves out is empty or false; null is neither.
        default = False if kind is bool else _KINDS[kind]()
    return _KINDS[kind], default


ObservationModel = _model_of(
    shapes.Observation, "ObservationModel", "A finding captured during execution."
)
IterationContext = _model_of(
    shapes.Context, "IterationContext", "How an iteration came about."
)
ProgressEntry = _model_of(
    shapes.Entry, "ProgressEntry", "A single iteration's progress record."
)
LearningModel = _model_of(
    shapes.Learning,
    "LearningModel",
    "A persistent learning that applies across iterations.",
)
PatternModel = _model_of(
    shapes.Pattern, "PatternModel", "A codebase pattern discovered during execution."
)


class JournalModel(ClosedModel):
    """Structured progress tracking for Ralph CLI execution history."""

    model_config = ConfigDict(
        title="Ralph Progress",
        json_schema_extra={
            "$id": "https://ralph.dev/schemas/progress.json",
            "description": "Structured progress tracking for Ralph CLI execution history",
        },
    )

    version: _pattern(r"^\d+\.\d+$")  # type: ignore[valid-type]
    created_at: Moment
    project_name: Text = ""
    entries: list[ProgressEntry]  # type: ignore[valid-type]
    learnings: list[LearningModel] = []  # type: ignore[valid-type]
    patterns: list[PatternModel] = []  # type: ignore[valid-type]
