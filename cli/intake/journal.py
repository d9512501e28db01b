"""Read a progress.json from a stranger and check it field by field."""

from typing import Any, NamedTuple

from pydantic import ValidationError

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.journal.intake.foreign import FIRST_SCHEMA, schema_version
from sprintlog.engine.journal.intake.strangers import ELSEWHERE, stranger
from sprintlog.engine.journal.state.shapes import REQUIRED

from .files import naming, within
from .journal_models import JournalModel
from .json_reader import load
from .progress import field_path

JOURNAL_BYTES_MAX = 64 * 1024 * 1024
"""Each of its parts becomes an event of its own, so a long file is no large event."""

UNKNOWN = "extra_forbidden"
_OPTIONAL = ("category", "severity", "action_taken", "recovery_action", "confidence")
"""Enums that may be empty: the specification's structs accept that (JRN-075)."""
_NEEDED = {
    "missing": REQUIRED,
    UNKNOWN: "there is no such field in this version of the schema",
    "string_pattern_mismatch": "is not of the form that its ids have",
}


class ReadJournal(NamedTuple):
    """A progress.json that was read."""

    document: dict[str, Any]
    unknown: list[str]
    """Fields that only a later version of the schema knows."""


def read_journal(content: bytes, *, file: str) -> ReadJournal:
    """Return a progress.json as data; raise `InvalidInputError` naming the field.

    The version is looked at before anything else. Fields that version 1.0 does not have
    are refused in 1.0, and told in a later one.
    """
    document = load(within(JOURNAL_BYTES_MAX, content, file=file), file=file)
    if not isinstance(document, dict):
        raise InvalidInputError("is not a JSON object", file=file)
    if unlike := stranger(document):
        raise InvalidInputError(f"is {unlike}", file=file, hint=ELSEWHERE)
    schema = _schema(document, file)
    unknown: list[str] = []
    try:
        JournalModel.model_validate(document)
    except ValidationError as error:
        for found in error.errors(include_url=False):
            if found["type"] == UNKNOWN and schema > FIRST_SCHEMA:
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
        return schema_version(str(version))


def _invalid(found: Any, file: str) -> InvalidInputError:
    """Return a mistake in the words of the specification where it has some."""
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
