"""Checks of documents for invalid fields, and for keys that a schema does not define.

Unknown keys are found with msgspec or pydantic schemas.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple, TypeVar, get_args, get_origin

import msgspec
from msgspec import structs

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.plan.shape import find_problem
from sprintlog.projections.state_files.yaml.writer import field_path

Path = tuple[str | int, ...]
MESSAGE = "is unknown and has no effect"
UNKNOWN_MAX = 1_000
"""The maximum number of unknown keys reported for one file."""


Checked = TypeVar("Checked", bound=msgspec.Struct)


def shaped(
    shape: type[Checked],
    data: object,
    *,
    file: str,
    line: int | None = None,
    is_closed: bool = False,
) -> Checked:
    """Return data as a struct.

    Raise `InvalidInputError` for the first invalid field or, if `is_closed`, for the first
    unknown field.
    """
    try:
        made = msgspec.convert(data, shape)
    except msgspec.ValidationError as error:
        problem = find_problem(shape, data)
        assert problem is not None
        field, value, hint = problem.field or None, problem.value, None
        if isinstance(value, str) and re.match("expected `(int|float)", problem.message):
            # YAML reads such a number as text.
            hint = "write numbers unquoted and shortened, such as 7 or 1.5; not "
            hint += value[:40]
        raise InvalidInputError(
            problem.message, file=file, line=line, field=field, hint=hint
        ) from error
    if is_closed and (unknown := next(unknown_keys(shape, data), None)):
        field, hint = field_path(unknown.path), unknown.hint
        raise InvalidInputError(MESSAGE, file=file, line=line, field=field, hint=hint)
    return made


class Unknown(NamedTuple):
    """An unknown key in a document."""

    path: Path
    close: str | None
    """The known key that was probably intended."""

    @property
    def hint(self) -> str | None:
        """Return a "did you mean" question for the most similar known key."""
        return f"did you mean {self.close}?" if self.close else None


def unknown_keys(model: type, data: Any, path: Path = ()) -> Iterator[Unknown]:
    """Yield the keys that a schema does not define, in document order."""
    if not isinstance(data, dict):
        return
    fields = _fields(model)
    known = [*fields, *getattr(model, "known_beside", ())]
    takes_any = getattr(model, "takes_any", False)
    for key, value in data.items():
        if key in fields:
            yield from _below(fields[key], value, (*path, key))
        elif key not in known:
            close = _close_to(str(key), known)
            # If the mapping accepts any key, only probable typing errors are reported.
            if close or not takes_any:
                yield Unknown((*path, key), close)


def _close_to(key: str, known: Sequence[str]) -> str | None:
    """Return the known key that was probably intended."""
    word = key.replace("_", "-")
    # Transposed letters count as two differences, so such a key would not be found.
    same_letters = (one for one in known if sorted(one) == sorted(word))
    close = get_close_matches(word, known, n=1, cutoff=0.7)
    return next(same_letters, close[0] if close else None)


def _below(annotation: Any, value: Any, path: Path) -> Iterator[Unknown]:
    """Yield the unknown keys in a field's value, according to the schemas in its type."""
    kinds = get_args(annotation)
    if hasattr(annotation, "known_beside"):
        yield from unknown_keys(annotation, value, path)
    elif (within := get_origin(annotation)) in (list, dict):
        if isinstance(value, within):
            for key, one in value.items() if within is dict else enumerate(value):
                yield from _below(kinds[-1], one, (*path, key))
    else:
        for kind in kinds:
            yield from _below(kind, value, path)


@cache
def _fields(model: Any) -> Mapping[str, Any]:
    """Return the types of a schema's fields by their document keys."""
    if (of_pydantic := getattr(model, "model_fields", None)) is None:
        return {field.encode_name: field.type for field in structs.fields(model)}
    return {field.alias or name: field.annotation for name, field in of_pydantic.items()}
