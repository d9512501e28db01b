"""Block YAML that every reader reads the same, written as js-yaml 4 writes it.

The text equals js-yaml's `dump(document, {lineWidth: -1, noRefs: true})` except where
one of the other readers would not get the value back: floats keep a point and sign
their exponent (`1.0`, `1.0e+22`); words that somebody takes for a number (`+.5`, `1_`,
`1e400`) are quoted; so are blocks that both begin and end in spaces. Keys stay in
insertion order, also those that JavaScript takes for indices.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from sprintlog.engine.errors import InvalidInputError

DEPTH_MAX = 64
INTEGER_MAX = 2**63 - 1
INTEGER_MIN = -(2**63)

_STEP = "  "
_PAD_MAX = len("\n") + len(_STEP) * (DEPTH_MAX - 1)
# A reader looks this far for the colon of a key; js-yaml counts in UTF-16 units.
_LOOK_AHEAD_MAX = 1024
_TOO_DEEP = f"nested deeper than {DEPTH_MAX} levels"
_WORD_MAX = 64
_KNOWN_MAX = 512

_UNPRINTABLE = re.compile(
    "[^ -~\u00a1-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
# Tables that turn every character which needs an escape into a zero byte.
_LINE_MARKS = bytes(range(32, 127)).rjust(127, b"\0").ljust(256, b"\0")
_BLOCK_MARKS = _LINE_MARKS[:10] + b"\n" + _LINE_MARKS[11:]
_SIMPLE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NOT_FIRST = frozenset(" -?:,[]{}#&*!|=>'\"%@`")
# What YAML 1.1, YAML 1.2 or one of their readers takes for another type.
_WORDS = frozenset(
    case
    for word in ("null", "true", "false", "y", "n", "yes", "no", "on", "off", "~", "<<")
    for case in (word, word.capitalize(), word.upper())
)
_NUMBER_OR_TIME = re.compile(
    r"""[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]Z
    | [0-9][0-9]:[0-9][0-9]:[0-9][0-9]
    | [0-9]{4}-[0-9]{2}-[0-9]{2}
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ ]+)
      [0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?
      (?:[ ]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?
    | [-+]?[0-9_]+(?::[0-9_]+)+(?:\.[0-9_]*)?
    | [-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?
    | [-+]?\.(?:[0-9_]+(?:[eE][-+]?[0-9]+)?|inf|Inf|INF)|\.(?:nan|NaN|NAN)
    | [-+]?0(?:b[01_]+|o[0-7_]+|x[0-9a-fA-F_]+)""",
    re.VERBOSE,
)
_SHORT_ESCAPES = dict(
    zip('\0\a\b\t\n\v\f\r\x1b"\\\x85\xa0\u2028\u2029', '0abtnvfre"\\N_LP', strict=True)
)
_TO_ESCAPE = re.compile(rf'["\\]|{_UNPRINTABLE.pattern}')


class _UnwritableError(Exception):
    """A value that YAML cannot hold; collects the path to it on the way up."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.path: list[str | int] = []


def dump(document: Mapping[str, Any]) -> str:
    """Return the document as YAML text; refuse, by field, what cannot be read back."""
    return _rendered(dict(document), indent=0) if document else "{}\n"


def dump_entry(key: str, value: object, *, indent: int = 0) -> str:
    """Return one `key: value`; the entries of a document, joined, are its `dump`."""
    return _rendered({key: value}, indent=indent)


def dump_item(value: object, *, indent: int = 2, path: Iterable[str | int] = ()) -> str:
    """Return one `- value` of a sequence that stands `indent` columns in.

    The dump of `{"phases": phases}` is the line `phases:` and the items of its phases,
    joined. An error puts `path`, where the item stands, before the path inside it.
    """
    return _rendered([value], indent=indent, path=path)


def field_path(parts: Iterable[str | int]) -> str:
    """Return a path as people write it: `phases[3].steps[0].prompt`."""
    path = ""
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif _SIMPLE_KEY.fullmatch(part):
            path += f".{part}" if path else part
        else:
            shown = json.dumps(part[:40], ensure_ascii=not part.isprintable())
            path += f"[{shown}]"
    return path


class _Page:
    """The pieces of one text, joined only once; line breaks stand before their line."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.heads: dict[str, dict[str, str]] = {}
        self.words = {"": "''"}

    def collection(self, node: dict[Any, Any] | list[Any], lead: str, pad: str) -> None:
        """Add a collection's lines, which start with `pad`; the first with `lead`."""
        if len(pad) > _PAD_MAX:
            raise _UnwritableError(_TOO_DEEP)
        if isinstance(node, dict):
            self.mapping(node, lead, pad)
        else:
            self.sequence(node, lead, pad)

    def mapping(self, node: dict[Any, Any], lead: str, pad: str) -> None:
        """Add `key: value` for each entry."""
        below = pad + _STEP
        pieces, words = self.pieces, self.words
        heads = self.heads.setdefault(pad, {})
        key: Any = None
        try:
            for key, value in node.items():
                if type(key) is not str:
                    raise _UnwritableError(f"a key must be a string, not {_named(key)}")
                head = heads.get(key)
                if head is None:
                    head = heads[key] = _head(key, pad, words)
                if lead:
                    head = lead + head[len(pad) :]
                    lead = ""
                if type(value) is str:
                    block = "\n" in value
                    text = _block(value, below) if block else _line(value, words)
                    pieces += head, text
                elif value and isinstance(value, (dict, list)):
                    if head.endswith(f"{pad}: "):
                        # Behind `? key` a collection starts on the line of its `:`.
                        self.collection(value, head, below)
                    else:
                        pieces.append(head[:-1])
                        self.collection(value, "", below)
                else:
                    pieces += head, _atom(value, below)
        except _UnwritableError as error:
            error.path.append(key if type(key) is str else _named(key))
            raise

    def sequence(self, node: list[Any], lead: str, pad: str) -> None:
        """Add `- value` for each item."""
        below = pad + _STEP
        for index, value in enumerate(node):
            head = f"{lead or pad}- "
            lead = ""
            try:
                if type(value) is str:
                    block = "\n" in value
                    text = _block(value, below) if block else _line(value, self.words)
                    self.pieces += head, text
                elif value and isinstance(value, (dict, list)):
                    self.collection(value, head, below)
                else:
                    self.pieces += head, _atom(value, below)
            except _UnwritableError as error:
                error.path.append(index)
                raise


def _rendered(
    node: dict[Any, Any] | list[Any], *, indent: int, path: Iterable[str | int] = ()
) -> str:
    page = _Page()
    try:
        page.collection(node, "", "\n" + " " * indent)
    except _UnwritableError as error:
        parts = error.path[::-1]
        if isinstance(node, list):
            parts[:1] = path
        raise InvalidInputError(str(error), field=field_path(parts)) from None
    page.pieces[0] = page.pieces[0][1:]
    return "".join([*page.pieces, "\n"])


def _atom(value: object, pad: str) -> str:
    """Return anything but text and collections with members."""
    if value is None:
        return "null"
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        if INTEGER_MIN <= value <= INTEGER_MAX:
            return str(value)
        raise _UnwritableError("an integer must fit in 64 bits with its sign")
    if type(value) is float:
        return _float(value)
    if isinstance(value, (dict, list)):
        if len(pad) > _PAD_MAX:
            raise _UnwritableError(_TOO_DEEP)
        return "{}" if isinstance(value, dict) else "[]"
    raise _UnwritableError(f"YAML cannot hold {_named(value)}")


def _head(key: str, pad: str, known: dict[str, str]) -> str:
    """Return a key and its colon, or a `?` and a key that is too long for a line."""
    text = _line(key, known)
    if len(text.encode("utf-16-le")) > 2 * _LOOK_AHEAD_MAX:
        return f"{pad}? {text}{pad}: "
    return f"{pad}{text}: "


def _line(text: str, known: dict[str, str]) -> str:
    """Return a line of text in the plainest style that is safe; remember words."""
    size = len(text)
    if size <= _WORD_MAX and text in known:
        return known[text]
    first = text[0]
    if first in "0123456789+._" and _NUMBER_OR_TIME.fullmatch(text):
        line = f"'{text}'"
    elif not ((size <= _WORD_MAX and text.isprintable()) or _is_printable(text)):
        line = _quoted(text)
    elif (
        first in _NOT_FIRST
        or text[-1] in " :"
        or (size <= 5 and text in _WORDS)
        # One character is found five times as fast as two.
        or (":" in text and ": " in text)
        or ("#" in text and " #" in text)
    ):
        line = "'" + text.replace("'", "''") + "'"
    else:
        line = text
    if size <= _WORD_MAX and len(known) < _KNOWN_MAX:
        known[text] = line
    return line


def _is_printable(text: str, marks: bytes = _LINE_MARKS) -> bool:
    """Tell whether text can stand unescaped; Python's own idea of it is narrower."""
    if text.isascii():
        return 0 not in text.encode().translate(marks)
    if marks is _BLOCK_MARKS:
        text = text.replace("\n", "")
    return text.isprintable() or _UNPRINTABLE.search(text) is None


def _block(text: str, pad: str) -> str:
    """Return text with line breaks as a literal block, its lines starting with `pad`."""
    if not _is_printable(text, _BLOCK_MARKS):
        return _quoted(text)
    body = text.removesuffix("\n")
    lines = body.split("\n")
    indicator = str(len(_STEP)) if text.lstrip("\n")[:1] == " " else ""
    if indicator and not text.rstrip("\n").rpartition("\n")[2].strip(" "):
        # The `yaml` package loses the spaces that end such a block.
        return _quoted(text)
    chomping = ("" if lines[-1] else "+") if body != text else "-"
    indented = [pad + line if line else "\n" for line in lines]
    return f"|{indicator}{chomping}{''.join(indented)}"


def _quoted(text: str) -> str:
    return '"' + _TO_ESCAPE.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF:
        raise _UnwritableError("half a surrogate pair is not a character")
    if char in _SHORT_ESCAPES:
        return f"\\{_SHORT_ESCAPES[char]}"
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}"


def _float(number: float) -> str:
    """Return the shortest digits, in JavaScript's notation but always with a point."""
    if not math.isfinite(number):
        raise _UnwritableError(f"a number must be finite, not {number}")
    text = repr(number)
    if "e" not in text:
        return text
    mantissa, power = text.split("e")
    exponent = int(power)
    sign, digits = "-" if number < 0 else "", mantissa.lstrip("-").replace(".", "")
    # JavaScript writes an exponent from 1e21 upwards and from 1e-7 downwards.
    if 0 < exponent < 21:
        return f"{sign}{digits.ljust(exponent + 1, '0')}.0"
    if -7 < exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}e{exponent:+d}"


def _named(value: object) -> str:
    """Return a few words for a value that has no place in YAML."""
    return f"a value of type {type(value).__name__}"
