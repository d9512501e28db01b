"""What remains of an event whose words were erased: its place in the story, and figures."""

from typing import Any

import msgspec
from msgspec import structs

ERASED = "[erased]"
"""What is said in the place of a text."""


def remains(event: msgspec.Struct, stays: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of an event without its words.

    `stays` names the texts that others refer to, those within a field after a dot. Every
    other text is `ERASED`. Lists of texts and objects of any shape are empty: their
    lengths and their keys would say something, too.
    """
    return {
        name: _of(getattr(event, name), name, stays) for name in event.__struct_fields__
    }


def _of(value: Any, name: str, stays: tuple[str, ...]) -> Any:
    if name in stays:
        return value
    if isinstance(value, str):
        return value and ERASED
    if isinstance(value, msgspec.Struct):
        inner = (n for n in value.__struct_fields__)
        changed = {n: _of(getattr(value, n), f"{name}.{n}", stays) for n in inner}
        return structs.replace(value, **changed)
    if isinstance(value, list | tuple):
        whole = (one for one in value if isinstance(one, msgspec.Struct))
        return type(value)(_of(one, name, stays) for one in whole)
    return {} if isinstance(value, dict) else value
