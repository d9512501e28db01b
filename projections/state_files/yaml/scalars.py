"""Scalars as YAML that every reader parses identically, in the plainest safe style.

Tests with PyYAML, js-yaml and `yaml` determined which words, numbers and times must be
quoted: text that any of them reads as another type is never written plain.
"""

import math
import re
from functools import cache

import msgspec

LINE_STEP = "  "
"""The indentation of nested values."""
WORD_MAX = 64
"""The maximum length of a text that counts as a word, which may be repeated."""

_UNPRINTABLE = (
    "[^ -~\u00a1-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
# The fastest check whether a text needs escapes is the length of its JSON form, which
# escapes nearly the same characters. For texts with quotes, all safe characters are removed
# instead.
_as_json = msgspec.json.Encoder().encode
_OF_LINES = bytes(range(32, 127))
_OF_BLOCKS = b"\n" + _OF_LINES
_NOT_FIRST = frozenset(" -?:,[]{}#&*!|=>'\"%@`")
_FIRST_OF_NUMBERS = frozenset("0123456789+._")
_SPECIAL_FIRST = _NOT_FIRST | _FIRST_OF_NUMBERS
# Words that YAML 1.1, YAML 1.2 or a parser reads as another type.
WORDS = frozenset(
    case
    for word in ("null", "true", "false", "y", "n", "yes", "no", "on", "off", "~", "<<")
    for case in (word, word.capitalize(), word.upper())
)
_NUMBER_OR_TIME = r"""
      [0-9]{4}-[0-9]{2}-[0-9]{2}
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ ]+)
      [0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?
      (?:[ ]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?
    | [-+]?[0-9_]+(?::[0-9_]+)+(?:\.[0-9_]*)?
    | [-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?
    | [-+]?\.(?:[0-9_]+(?:[eE][-+]?[0-9]+)?|inf|Inf|INF)|\.(?:nan|NaN|NAN)
    | [-+]?0(?:b[01_]+|o[0-7_]+|x[0-9a-fA-F_]+)"""
# Recognized by their shape, because compiling the pattern is slow.
_ANY_DIGIT = str.maketrans("123456789", "000000000")
_USUAL_TIMES = ("0000-00-00T00:00:00Z", "0000-00-00T00:00:00.000Z")
_SHORT_ESCAPES = dict(
    zip('\0\a\b\t\n\v\f\r\x1b"\\\x85\xa0\u2028\u2029', '0abtnvfre"\\N_LP', strict=True)
)
_TO_ESCAPE = rf'["\\]|{_UNPRINTABLE}'


class UnwritableError(Exception):
    """YAML cannot represent the value; the value's path is completed during propagation."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.path: list[str | int] = []


def line_of(text: str) -> str:
    """Return a line of text in the plainest safe style."""
    if not text:
        return "''"
    size, first = len(text), text[0]
    # Most texts start with a letter and fail only this check.
    is_special = first in _SPECIAL_FIRST
    if is_special and first in _FIRST_OF_NUMBERS and _is_number_or_time(text):
        return f"'{text}'"
    if not (
        # The fastest check comes first; a function call would cost as much as the check.
        (size <= WORD_MAX and text.isprintable())
        or (text.isascii() and len(_as_json(text)) == size + 2 and "\x7f" not in text)
        or _is_printable(text)
    ):
        return _quoted(text)
    if (
        (is_special and first in _NOT_FIRST)
        or text[-1] == " "
        or (size <= 5 and text in WORDS)
        # Searching for one character is ten times as fast, and most texts contain neither.
        or (":" in text and (": " in text or text[-1] == ":"))
        or ("#" in text and " #" in text)
    ):
        return "'" + text.replace("'", "''") + "'" if "'" in text else f"'{text}'"
    return text


def _is_number_or_time(text: str) -> bool:
    shape = text.translate(_ANY_DIGIT)
    # An elapsed time may have any number of hours.
    if shape in _USUAL_TIMES or shape.lstrip("0") == ":00:00":
        return True
    return _compiled(_NUMBER_OR_TIME).fullmatch(text) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a compiled pattern, compiled on first use because few files need it."""
    return re.compile(pattern, re.VERBOSE)


def _is_printable(text: str, plain: bytes = _OF_LINES) -> bool:
    """Return whether text requires no escapes; `str.isprintable` is too strict here."""
    if text.isascii():
        return not text.encode().translate(None, plain)
    if plain is _OF_BLOCKS:
        text = text.replace("\n", "")
    return text.isprintable() or _compiled(_UNPRINTABLE).search(text) is None


def block_of(text: str, pad: str) -> str:
    """Return text with line breaks as a literal block whose lines start with `pad`."""
    lines = text.split("\n")
    # As in `line_of`, but JSON escapes each line break as two characters.
    quick = text.isascii() and "\x7f" not in text
    is_plain = quick and len(_as_json(text)) == len(text) + 1 + len(lines)
    if not is_plain and not _is_printable(text, _OF_BLOCKS):
        return _quoted(text)
    indicator = ""
    if text[0] in " \n" and text.lstrip("\n")[:1] == " ":
        indicator = str(len(LINE_STEP))
        if not text.rstrip("\n").rpartition("\n")[2].strip(" "):
            # The `yaml` package drops the spaces at the end of such a block.
            return _quoted(text)
    chomping = "-"
    if not lines[-1]:
        lines.pop()
        chomping = "" if lines[-1] else "+"
    if "" in lines:
        indented = "".join([pad + line if line else "\n" for line in lines])
        return f"|{indicator}{chomping}{indented}"
    return f"|{indicator}{chomping}{pad}{pad.join(lines)}"


def _quoted(text: str) -> str:
    return '"' + _compiled(_TO_ESCAPE).sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF:
        raise UnwritableError("half a surrogate pair is not a character")
    if char in _SHORT_ESCAPES:
        return f"\\{_SHORT_ESCAPES[char]}"
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}"


def float_of(number: float) -> str:
    """Return a float's shortest digits in JavaScript's notation, always with a point."""
    if not math.isfinite(number):
        raise UnwritableError(f"a number must be finite, not {number}")
    text = repr(number)
    if "e" not in text:
        return text
    mantissa, power = text.split("e")
    exponent = int(power)
    sign, digits = "-" if number < 0 else "", mantissa.lstrip("-").replace(".", "")
    # JavaScript uses exponents from 1e21 upwards and from 1e-7 downwards.
    if 0 < exponent < 21:
        return f"{sign}{digits.ljust(exponent + 1, '0')}.0"
    if -7 < exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}e{exponent:+d}"
