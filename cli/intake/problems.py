"""Problems that pydantic finds in a file of a user, and its unknown keys."""

from collections.abc import Container
from difflib import get_close_matches
from itertools import islice
from typing import Any

from pydantic import BaseModel, ValidationError

from sprintlog.engine.sprint.compile.problems import Definition, Problem

from .shapes import MESSAGE, UNKNOWN_MAX, unknown_keys

TOLD_MAX = 10_000
"""More mistakes than this in one file are only counted."""
_CODES = {
    "missing": "missing-field",
    "word": "unknown-word",
    "empty-prompt": "empty-prompt",
    "string_too_short": "bad-id",
    "string_too_long": "bad-id",
    "greater_than": "out-of-range",
    "greater_than_equal": "out-of-range",
    "less_than_equal": "out-of-range",
}
_BELONGS = {
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
}
_KINDS = {
    str: "text",
    list: "a list",
    dict: "a mapping",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


def shape_problems(model: type[BaseModel], definition: Definition) -> list[Problem]:
    """Return what is wrong with the shape of a file, all of it."""
    try:
        model.model_validate(definition.data)
    except ValidationError as error:
        if (count := error.error_count()) > TOLD_MAX:
            # Told one by one they would take more memory than the file is worth.
            message = f"{count} values are not what their fields take"
            return [Problem("wrong-type", message, definition.file)]
        found = error.errors(include_url=False, include_context=False)
        return [_problem(one, definition.file) for one in found]
    return []


def unknown_fields(
    model: type[BaseModel],
    definition: Definition,
    *,
    variables: Container[str],
    missing: Container[tuple[str, tuple[int | str, ...]]],
) -> list[Problem]:
    """Return the keys of a file that no field has.

    But those that a template names, and slips for which the right one is missed already.
    """
    file = definition.file
    found = (
        Problem("unknown-field", MESSAGE, file, one.path, one.hint)
        for one in unknown_keys(model, definition.data)
        if one.path[-1] not in variables
        and (file, (*one.path[:-1], one.close)) not in missing
    )
    return list(islice(found, UNKNOWN_MAX))


def _problem(error: Any, file: str) -> Problem:
    kind, given, path = error["type"], error["input"], tuple(error["loc"])
    code = _CODES.get(kind)
    belongs = _BELONGS.get(kind)
    message, hint = str(error["msg"]), None
    if code is None and given is None:
        code = "no-value"
        message = f"there is no value; {belongs or 'one'} belongs here"
        hint = _hint_for_nothing(belongs)
    elif code is None:
        code = "wrong-type"
        if belongs:
            kinds = _KINDS.get(type(given), "something else")
            message = f"{belongs} belongs here, not {kinds}"
            hint = _hint_for_type(belongs, given, path)
    elif code == "missing-field":
        message = "is missing"
        close = get_close_matches(str(path[-1]), map(str, given), n=1)
        hint = f"is `{close[0]}` meant for it?" if close else None
    elif code == "bad-id":
        message = "an id is 1 to 128 printable characters"
    elif code == "out-of-range":
        # pydantic's words with its first ones left out: the number must be …
        message = message.replace("Input should be", "must be")
    return Problem(code, message, file, path, hint)


def _hint_for_nothing(belongs: str | None) -> str | None:
    if belongs == "a list":
        return "list what belongs there, each with `- `, or leave the key out"
    if belongs == "a mapping":
        return "write its fields below it, or leave the key out"
    return None


def _hint_for_type(belongs: str, given: Any, path: tuple[int | str, ...]) -> str | None:
    if belongs == "text" and isinstance(given, int | float):
        return "put it in quotes"
    if belongs == "a mapping" and isinstance(given, str) and isinstance(path[-1], int):
        return "write `- prompt: …`" if "phases" not in path else "write `- id: …`"
    return None
