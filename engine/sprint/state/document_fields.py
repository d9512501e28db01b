"""What a document that anybody may have written says: a field of the kind it should be."""

from enum import Enum
from typing import Any, Final


class Missing(Enum):
    """The marker for a field that a document does not have: `null` is a value."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


def text_of(data: Any, key: str) -> str | None:
    """Return a field that is text and not empty; None for anything else."""
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, str) and value else None


def mapping_of(data: Any, key: str) -> dict[str, Any]:
    """Return a field that is a mapping, else an empty one."""
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


def list_of(data: Any, key: str) -> list[Any]:
    """Return a field that is a list, else an empty one."""
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, list) else []


def count_of(data: dict[str, Any], key: str) -> int:
    """Return a field that is a whole number above 0, else 0."""
    value = data.get(key)
    return value if type(value) is int and value > 0 else 0
