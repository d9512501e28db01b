"""JSON of any shape, of which metrics of one's own are read where pointers say they are."""

from collections.abc import Mapping
from typing import Any

from .json_values import decode
from .report import Found, Report

FORMAT = "json"
_MISSING = object()


def read(report: Report, pointers: Mapping[str, str]) -> Found:
    """Return the metrics that the report has, by their names and pointers.

    Raise `InvalidInputError` where it has none of them, or something else than a number.
    """
    if not pointers:
        raise report.bad(
            "no metric of your own says where it is in a JSON report",
            hint="`sprintlog rules set --metric NAME --pointer /a/b` says it",
        )
    given = decode(report, Any)
    found: dict[str, int | float] = {}
    for name, pointer in pointers.items():
        value = _at(given, pointer)
        if value is _MISSING:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise report.bad(f"{name} is not a number", field=pointer)
        found[name] = value
    if not found:
        raise report.bad(f"has none of {', '.join(pointers.values())}")
    return Found(own=found)


def _at(given: Any, pointer: str) -> Any:
    """Return what a JSON pointer names (RFC 6901), `_MISSING` where nothing is there."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(given, dict) and key in given:
            given = given[key]
        elif isinstance(given, list) and _is_index(key) and int(key) < len(given):
            given = given[int(key)]
        else:
            return _MISSING
    return given


def _is_index(key: str) -> bool:
    is_number = key.isascii() and key.isdigit() and len(key) < 10
    return is_number and (key == "0" or not key.startswith("0"))
