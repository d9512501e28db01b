"""Reads a stranger's JSON: nothing in it is relied on, and what is not there is absent."""

import json
import re
from typing import Any

import msgspec

Data = dict[str, Any]
"""An object of JSON."""
_COUNT_MAX, _AMOUNT_MAX = 10**13, 10**9
"""Larger ones are no figures: sums of a million counts fit in 64 bits."""
_LITERAL_CHARS = 6
"""How far before the end of a cut text its reader may stop: `fals`, or half an escape."""
_BEGIN = re.compile(r'[{\[]\s*(?:["{\[]|\Z)')


def parse(content: bytes) -> object:
    """Return the JSON value that the bytes are; None when they are none."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # It is strict about halves of surrogate pairs, which cut texts have, and bytes.
        if content.isascii() and b"\\u" not in content:
            return None
        try:
            return json.loads(content.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None


def is_cut(content: bytes) -> bool:
    """Tell whether the bytes are a JSON object or list without its end."""
    text = content.decode("utf-8", "replace").strip()
    if not _BEGIN.match(text):
        return False
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        ends = error.pos >= len(text) - _LITERAL_CHARS and error.msg != "Extra data"
        return ends or error.msg.startswith("Unterminated")
    except (ValueError, RecursionError):
        return False
    return False


def count(value: object) -> int | None:
    """Return a count, None for anything else."""
    return value if type(value) is int and 0 <= value < _COUNT_MAX else None


def amount(value: object) -> float | None:
    """Return an amount of money, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if 0 <= number < _AMOUNT_MAX else None


def text(value: object) -> str:
    """Return a text in which every character can be written; empty for anything else."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def mapping(value: object) -> Data:
    """Return an object of JSON; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[Data]:
    """Return the objects in a list."""
    return [one for one in _list(value) if isinstance(one, dict)]


def texts(value: object) -> list[str]:
    """Return the texts in a list."""
    return [text(one) for one in _list(value) if text(one)]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
