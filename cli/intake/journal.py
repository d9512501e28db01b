"""Field-by-field validation of an untrusted progress.json; its models and JSON Schema.

The models are derived from the parts of the journal: six closed objects. The reader
distinguishes fields of a later schema version from mistakes (JRN-111).
"""

from typing import Annotated, Any, NamedTuple, get_args, get_origin

import pydantic
from msgspec import structs

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.journal import foreign, parts
from sprintlog.engine.journal.parts import REQUIRED
from sprintlog.projections.state_files.yaml.writer import field_path

from .fields import Flag, OneOf, Text
from .files import load, naming, within

Moment = Annotated[
    str, pydantic.Field(strict=True, json_schema_extra={"format": "date-time"})
]


class ClosedModel(pydantic.BaseModel):
    """An object without additional properties."""

    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, json_schema_serialization_defaults_required=False
    )


def _whole(value: object) -> object:
    """Convert 1.0 to 1, which the schema also accepts."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _pattern(pattern: str) -> Any:
    # In JSON Schema, `\d` matches only ASCII digits.
    return Annotated[
        str, pydantic.Field(strict=True, pattern=pattern.replace(r"\d", "[0-9]"))
    ]


_KINDS: dict[Any, Any] = {str: Text, bool: Flag}
"""Maps the type of a journal part's field to the type of the model's field."""


def _model_of(
    part: type[parts.ClosedObject], name: str, description: str
) -> type[ClosedModel]:
    """Return the model of a journal part, based on the types and rules of its fields."""
    rules = parts.rules_of(part)
    known = (field for field in structs.fields(part) if field.name in rules)
    fields: dict[str, Any] = {one.name: _field(one, rules[one.name]) for one in known}
    model = pydantic.create_model(name, __base__=ClosedModel, __doc__=description, **fields)
    _KINDS[part] = model
    return model


def _field(field: structs.FieldInfo, rule: parts.FieldRule) -> Any:
    """Return the type of a field and its default value: `...` for a required field."""
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
        limits = pydantic.Field(strict=True, ge=rule.least)
        return Annotated[int, limits, pydantic.BeforeValidator(_whole)], default
    if get_origin(field.type) is tuple:
        return list[_KINDS[kind]], default or []  # type: ignore[valid-type]
    if field.name == "still_valid":
        return Flag, True
    if default is None:
        # An omitted field is empty or false, but null is invalid.
        default = False if kind is bool else _KINDS[kind]()
    return _KINDS[kind], default


_model_of(parts.Observation, "ObservationModel", "A finding captured during execution.")
_model_of(parts.Context, "IterationContext", "How an iteration came about.")
ProgressEntry = _model_of(
    parts.Entry, "ProgressEntry", "A single iteration's progress record."
)
LearningModel = _model_of(
    parts.Learning, "LearningModel", "A persistent learning that applies across iterations."
)
PatternModel = _model_of(
    parts.Pattern, "PatternModel", "A codebase pattern discovered during execution."
)


class JournalModel(ClosedModel):
    """Structured progress tracking for Ralph CLI execution history."""

    model_config = pydantic.ConfigDict(
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


JOURNAL_BYTES_MAX = 64 * 1024 * 1024
"""The maximum size of a journal; each part is recorded as a separate event."""

UNKNOWN = "extra_forbidden"
_OPTIONAL = ("category", "severity", "action_taken", "recovery_action", "confidence")
"""Enums that may be empty, as in the specification's structs (JRN-075)."""
_NEEDED = {
    "missing": REQUIRED,
    UNKNOWN: "there is no such field in this version of the schema",
    "string_pattern_mismatch": "is not of the form that its ids have",
}


class ReadJournal(NamedTuple):
    """A parsed progress.json."""

    document: dict[str, Any]
    unknown: list[str]
    """Fields that this version of the schema does not define."""


def read_journal(content: bytes, *, file: str) -> ReadJournal:
    """Return a progress.json as data; raise `InvalidInputError` naming the invalid field.

    The version is checked first. Fields that version 1.0 does not define are rejected in
    version 1.0 and reported in later versions.
    """
    document = load(within(JOURNAL_BYTES_MAX, content, file=file), file=file)
    if not isinstance(document, dict):
        raise InvalidInputError("must be a JSON object", file=file)
    if unlike := foreign.stranger(document):
        raise InvalidInputError(f"is {unlike}", file=file, hint=foreign.ELSEWHERE)
    schema = _schema(document, file)
    unknown: list[str] = []
    try:
        JournalModel.model_validate(document)
    except pydantic.ValidationError as error:
        for found in error.errors(include_url=False):
            if found["type"] == UNKNOWN and schema > foreign.FIRST_SCHEMA:
                unknown.append(field_path(found["loc"]))
                continue
            if found["input"] == "" and found["loc"][-1] in _OPTIONAL:
                continue
            raise _invalid(found, file) from error
    return ReadJournal(document, unknown)


def _schema(document: dict[str, Any], file: str) -> tuple[int, int]:
    version = document.get("version")
    if version is None or version == "":
        raise InvalidInputError(REQUIRED, file=file, field="version")
    with naming(file):
        return foreign.schema_version(str(version))


def _invalid(found: Any, file: str) -> InvalidInputError:
    """Return an error, worded as in the specification if possible."""
    field = field_path(found["loc"])
    kind, given = found["type"], found["input"]
    if kind in ("word", "string_pattern_mismatch") and given == "":
        problem = REQUIRED
    elif kind == "word":
        allowed = found["ctx"]["allowed"]
        problem = f'invalid value "{str(given)[:40]}"; allowed: {allowed}'
    elif kind == "greater_than_equal":
        problem = f"must be >= {found['ctx']['ge']}"
    else:
        problem = _NEEDED.get(kind, str(found["msg"]))
    return InvalidInputError(problem, file=file, field=field)
