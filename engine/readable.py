r"""Readable escapes for bytes that are not UTF-8, which JSON readers can recover.

Python represents such bytes in arguments, names and output as lone surrogates, which UTF-8
cannot encode. They are recorded as `caf\xe9`, and in JSON the backslash is written as
`\u005c`: every parser reads both forms in the same way, but no encoder writes a literal
backslash like this, so `originals` can distinguish them (ADR 0104).
"""

import json
import re
from collections.abc import Callable
from shlex import quote
from typing import Any, Literal

import msgspec

from .errors import InvalidInputError

_NOT_UTF8 = "is not UTF-8"
_HALF = re.compile("[\ud800-\udfff]")
_SPELT = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u005c(?:x([89a-f][0-9a-f])|u(d[89a-f][0-9a-f]{2}))"
)


def readable(text: str) -> str:
    r"""Return the text with each byte that is not UTF-8 escaped, for example as `\xe9`."""
    return _HALF.sub(lambda half: "\\" + _spelt(half[0]), text)


def as_json(
    value: Any,
    enc_hook: Callable[[Any], Any] | None = None,
    order: Literal["sorted"] | None = None,
) -> bytes:
    """Return a value as JSON, with readable escapes for bytes that are not UTF-8.

    Raise `TypeError` for an object that neither msgspec nor the hook can encode.
    """

    def plain(item: Any) -> Any:
        if isinstance(item, msgspec.Raw):
            return originals(bytes(item))
        if enc_hook is None:
            raise TypeError(f"objects of type {type(item).__name__} cannot be encoded")
        return enc_hook(item)

    told = msgspec.to_builtins(value, order=order, enc_hook=plain)
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    return _HALF.sub(lambda half: "\\u005c" + _spelt(half[0]), text).encode()


def originals(content: bytes) -> Any:
    """Return the value that `as_json` encoded, including bytes that are not UTF-8."""
    return json.loads(_SPELT.sub(_half, content.decode()))


def quoted(text: str) -> str:
    r"""Return the text quoted for a shell, in the form `$'caf\xe9'` if it is not UTF-8."""
    if not _HALF.search(text):
        return quote(text)
    escaped = text.replace("\\", r"\\").replace("'", r"\'")
    return f"$'{readable(escaped)}'"


def check_utf8(text: str, field: str) -> None:
    """Raise `InvalidInputError`, naming the field, if the text is not UTF-8."""
    if _HALF.search(text):
        raise InvalidInputError(_NOT_UTF8, field=field)


def unprintable(text: str) -> str:
    """Return the reason why the text is unprintable."""
    return _NOT_UTF8 if _HALF.search(text) else "holds a control character"


def _spelt(half: str) -> str:
    code = ord(half)
    return f"x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"u{code:04x}"


def _half(spelt: re.Match[str]) -> str:
    code = int(spelt[3], 16) if spelt[3] else 0xDC00 + int(spelt[2], 16)
    return spelt[1] + chr(code)
