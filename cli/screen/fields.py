"""The fields of an answer that `--fields` selects.

Names are checked against the types of the command's answers before the command runs; names
below an event's data or in a document are not checked.
"""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec

from sprintlog.engine.errors import InvalidInputError
from sprintlog.projections.views.answers import ANSWERS, RECORDED

NAMES_MAX = 100
Tree = dict[str, "Tree"]
"""Names mapped to the names nested in them; an empty mapping selects the complete value."""


def read(command: str, text: str) -> Tree:
    """Parse the value of `--fields`; raise `InvalidInputError` for an unknown field."""
    names = [name.strip() for name in text.split(",")]
    parts = [part for name in names for part in name.split(".")]
    if len(names) > NAMES_MAX or not all(parts):
        raise InvalidInputError(f"{text[:60]!r}: use names such as a,b.c", field="--fields")
    kinds = ANSWERS.get(command, RECORDED)
    tree: Tree = {}
    whole = {tuple(name.split(".")) for name in names}
    for name in names:
        path = name.split(".")
        _check(command, name, [one for kind in kinds for one in _structs(kind)])
        if any(tuple(path[:depth]) in whole for depth in range(1, len(path))):
            continue
        at = tree
        for part in path:
            at = at.setdefault(part, {})
    return tree


def chosen(answer: Any, tree: Tree) -> Any:
    """Return only the selected fields of an answer decoded from JSON.

    A field that exists only in another answer type of the command is null.
    """
    if not tree:
        return answer
    if isinstance(answer, list):
        return [chosen(item, tree) for item in answer]
    if not isinstance(answer, dict):
        return None
    return {name: chosen(answer.get(name), below) for name, below in tree.items()}


def _check(command: str, name: str, kinds: Sequence[Any]) -> None:
    """Raise `InvalidInputError` unless one of the answer types has the field."""
    said = ""
    for part in name.split("."):
        if any(kind is Any for kind in kinds):
            return
        fields = [field for kind in kinds for field in msgspec.structs.fields(kind)]
        found = [field.type for field in fields if field.encode_name == part]
        if not found:
            where = f"{said} of `{command}`" if said else f"the answer of `{command}`"
            others = [*dict.fromkeys(field.encode_name for field in fields)]
            raise InvalidInputError(_unknown(where, part, others), field="--fields")
        kinds = [one for kind in found for one in _structs(kind)]
        said = f"{said}.{part}" if said else part


def _structs(kind: Any) -> Iterator[Any]:
    """Yield the structs that a type contains, and `Any` for types that accept any name."""
    origin = get_origin(kind)
    if origin in (Union, UnionType) or origin in (list, tuple):
        for part in get_args(kind):
            if part is not Ellipsis:
                yield from _structs(part)
    elif origin is dict or kind in (Any, dict, msgspec.Raw, object):
        yield Any
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind


def _unknown(where: str, name: str, others: Sequence[str]) -> str:
    near = get_close_matches(name, others, 1)
    meant = f"; did you mean {near[0]}?" if near else ""
    has = f"it has {', '.join(others)}" if others else "it has none"
    return f"{where} has no field {name[:60]!r}{meant} ({has})"
