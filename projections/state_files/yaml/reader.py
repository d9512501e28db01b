"""YAML 1.2 as data: only the core schema, without features that could exhaust a reader.

The text is read event by event, so that depth, aliases and tags are checked before any data
is built. PyYAML's own loaders are recursive and implement YAML 1.1.
"""

import json
import re
from itertools import islice
from typing import Any, NoReturn

import msgspec
import yaml

from sprintlog.engine.errors import InvalidInputError

from .scalars import float_of
from .writer import DEPTH_MAX, INTEGER_MAX, INTEGER_MIN, NODES_MAX, field_path

BYTES_MAX = 8 * 2**20

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAGS = "tag:yaml.org,2002:"
_NUMBER_DIGITS_MAX = 1000
_DIRECTIVES_MAX = 64
_SHOWN_MAX = 40
_KEPT_MAX = 1000
_NOTHING: Any = object()

# Line and paragraph separators are text in YAML 1.2 but line breaks in YAML 1.1.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
)
# libyaml compares each directive with all previous ones.
_DIRECTIVE = re.compile(r"[\r\n]%")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_BREAK = re.compile(r"\r\n?|\n")
# JSON is valid YAML except for surrogate pairs in escapes, and some unescaped characters.
_PAIR = re.compile(rb"(?:\\\\)*\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_RAW = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_TYPED_FIRST = frozenset("0123456789+-.~nNtTfF")
_WORDS: dict[str, object] = {
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_SCALAR_TYPES: dict[str, type] = {
    "null": type(None),
    "bool": bool,
    "int": int,
    "float": float,
}


class UnreadError(Exception):
    """The text is not allowed; the message describes the allowed text."""


class Frame:
    """A collection that is being read, and the key for the next value."""

    __slots__ = ("items", "key")

    def __init__(self, items: dict[str, Any] | list[Any]) -> None:
        self.items = items
        self.key: str | None = None


def load(data: bytes, *, file: str | None = None, builder: "Builder | None" = None) -> Any:
    """Return the parsed YAML; reject anything but plain data, naming the line and field."""
    if len(data) > BYTES_MAX:
        raise InvalidInputError(
            f"is too large; at most {BYTES_MAX} bytes are allowed", file=file
        )
    builder, line = builder or Builder(), 1
    if _is_json(data):
        data, builder.is_json = _as_yaml(data), True
    _check_characters(data, file)
    try:
        events: Any = yaml.parse(data, Loader=_LOADER)
        for event in events:
            line = event.start_mark.line + 1
            builder.take(event)
    except UnreadError as error:
        raise InvalidInputError(
            str(error), file=file, line=line, field=field_path(builder.path()) or None
        ) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # Without libyaml, escapes beyond Unicode raise an error of Python itself.
        raise _syntax_error(error, file) from None
    if builder.root is _NOTHING:
        raise InvalidInputError(
            "contains no YAML document; exactly one is required", file=file, line=1
        )
    return builder.root


class Builder:
    """The data read so far, and the path to the position of the next event."""

    def __init__(self) -> None:
        self.root: Any = _NOTHING
        self.stack: list[Frame] = []
        self.documents = 0
        self.nodes = 0
        self.is_json = False
        """Whether the text is JSON, in which numbers are unambiguous."""

    def take(self, event: Any) -> None:
        """Process a parse event."""
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self.scalar(event)
        elif kind is yaml.MappingStartEvent:
            self.open({}, event, "map")
        elif kind is yaml.SequenceStartEvent:
            self.open([], event, "seq")
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self.stack.pop()
        elif kind is yaml.AliasEvent:
            _refuse_alias(f"*{event.anchor}")
        elif kind is yaml.DocumentStartEvent:
            self.documents += 1
            if self.documents > 1:
                raise UnreadError("a second document starts; only one is allowed")

    def count(self, event: Any) -> None:
        """Count a node; reject a node over the limit, or one with an anchor."""
        self.nodes += 1
        if self.nodes > NODES_MAX:
            raise UnreadError(f"contains more than {NODES_MAX} keys and values")
        if event.anchor is not None:
            _refuse_alias(f"&{event.anchor}")

    def scalar(self, event: Any) -> None:
        """Process a scalar: a key if one is expected, otherwise a value."""
        self.count(event)
        text: str = event.value
        frame = self.stack[-1] if self.stack else None
        if frame is not None and frame.key is None and type(frame.items) is dict:
            if event.tag is not None:
                _tagged(text, event.tag)
            if text in frame.items:
                self.repeat(f"duplicate key {_shown(text)}")
            frame.key = _whole(text)
        elif event.tag is not None:
            self.store(_tagged(text, event.tag))
        elif event.style or (text and text[0] not in _TYPED_FIRST):
            self.store(_whole(text))
        elif text or frame is not None:
            self.store(self.resolve(text))

    def resolve(self, text: str) -> Any:
        """Return the value of a plain scalar according to the core schema."""
        return _resolved(text)

    def repeat(self, problem: str) -> None:
        """Raise an error for a duplicate key."""
        raise UnreadError(problem)

    def open(self, items: dict[str, Any] | list[Any], event: Any, tag: str) -> None:
        """Process the start of a collection."""
        self.count(event)
        if event.tag is not None and event.tag != _TAGS + tag:
            _refuse_tag(event.tag)
        if self.stack:
            frame = self.stack[-1]
            if type(frame.items) is dict and frame.key is None:
                raise UnreadError("a key is a collection; keys must be plain words")
        if len(self.stack) >= DEPTH_MAX:
            raise UnreadError(f"nested deeper than {DEPTH_MAX} levels")
        self.store(items)
        self.stack.append(Frame(items))

    def store(self, value: Any) -> None:
        """Store a value in its collection, or as the root."""
        if not self.stack:
            self.root = value
            return
        frame = self.stack[-1]
        if isinstance(frame.items, list):
            frame.items.append(value)
        elif frame.key is not None:
            frame.items[frame.key] = value
            frame.key = None

    def path(self) -> list[str | int]:
        """Return the path of the field to which the next event belongs."""
        parts: list[str | int] = []
        for depth, frame in enumerate(self.stack, start=1):
            inside = depth < len(self.stack)
            if isinstance(frame.items, list):
                parts.append(len(frame.items) - inside)
            elif inside:
                parts.append(next(reversed(frame.items)))
            elif frame.key is not None:
                parts.append(frame.key)
        return parts


class AsWritten(Builder):
    """Preserves numbers as text if writing them would change them.

    A commit's short id or a version, such as `6673e79` or `1.10`, is a number in YAML only
    by accident.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[tuple[tuple[str | int, ...], str]] = []
        """The path and text of the first such values."""

    def resolve(self, text: str) -> Any:
        """Return a plain scalar's value; a number that would be rewritten remains text."""
        if self.is_json:
            return super().resolve(text)
        try:
            value = super().resolve(text)
        except UnreadError:
            if _INTEGER.fullmatch(text) or not _FLOAT.fullmatch(text):
                raise
            value = None
        if text in _WORDS or not text or isinstance(value, str):
            return value
        if value is not None:
            written = str(value) if type(value) is int else float_of(value)
            if written == text:
                return value
        if len(self.kept) < _KEPT_MAX:
            self.kept.append((tuple(self.path()), text))
        return text


def _whole(text: str) -> str:
    """Return the text; reject lone surrogates, which only PyYAML accepts."""
    if not text.isascii() and _SURROGATE.search(text):
        raise UnreadError("half a surrogate pair is not a character")
    return text


def _resolved(text: str) -> Any:
    """Return the value of a plain scalar according to the core schema."""
    if not text or text in _WORDS:
        return _WORDS.get(text)
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        number = float(text) if len(text) <= _NUMBER_DIGITS_MAX else float("inf")
        if number in (float("inf"), float("-inf")):
            raise UnreadError(f"the number {_shown(text)} is too large")
        return number
    if _NOT_FINITE.fullmatch(text):
        raise UnreadError(f"{text} is not a finite number; quote it if it is text")
    return text


def _integer(text: str) -> int:
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    digits = text[2:] if base != 10 else text
    # Converting a megabyte of digits would take minutes.
    number = int(digits, base) if len(text) <= _NUMBER_DIGITS_MAX else INTEGER_MAX + 1
    if not INTEGER_MIN <= number <= INTEGER_MAX:
        raise UnreadError(
            f"the integer {_shown(text)} does not fit in 64 bits; quote it if it is text"
        )
    return number


def _tagged(text: str, tag: str) -> Any:
    """Return the value of a scalar with an explicit type."""
    name = tag.removeprefix(_TAGS)
    if tag == _TAGS + "str":
        return _whole(text)
    if tag == name or name not in _SCALAR_TYPES:
        _refuse_tag(tag)
    value = _resolved(text)
    if name == "float" and type(value) is int:
        return float(value)
    if type(value) is not _SCALAR_TYPES[name]:
        raise UnreadError(f"{_shown(text)} does not match its tag !!{name}")
    return value


def _refuse_alias(name: str) -> NoReturn:
    raise UnreadError(
        f"anchors and aliases ({_shown(name)[1:-1]}) are not allowed; write the value out"
    )


def _refuse_tag(tag: str) -> NoReturn:
    raise UnreadError(
        f"the tag {_shown(tag)} is not allowed here; "
        "only !!str, !!int, !!float, !!bool, !!null, !!seq and !!map are"
    )


def _check_characters(data: bytes, file: str | None) -> None:
    """Reject content that is not valid UTF-8 or that contains control characters."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"byte {error.start} is not UTF-8; the file must be UTF-8",
            file=file,
            line=_line(data[: error.start].decode()),
        ) from None
    found = _FORBIDDEN.search(text, 1 if text.startswith("\ufeff") else 0)
    if found:
        raise InvalidInputError(
            f"the character U+{ord(found[0]):04X} is not allowed here; "
            "write it as an escape in double quotes",
            file=file,
            line=_line(text[: found.start()]),
        )
    found = next(islice(_DIRECTIVE.finditer(text), _DIRECTIVES_MAX, None), None)
    if found:
        raise InvalidInputError(
            f"more than {_DIRECTIVES_MAX} directives; none is required",
            file=file,
            line=_line(text[: found.end()]),
        )


def _line(before: str) -> int:
    return len(_LINE_BREAK.findall(before)) + 1


def _syntax_error(error: Exception, file: str | None) -> InvalidInputError:
    problem = getattr(error, "problem", None) or "the text is not YAML"
    context = getattr(error, "context", None)
    mark = getattr(error, "problem_mark", None)
    said = f"{problem} ({context})" if context else str(problem)
    if not said.isprintable():
        said = _shown(said)[1:-1]
    return InvalidInputError(
        f"is not YAML: {said}", file=file, line=mark.line + 1 if mark else None
    )


def _shown(text: str) -> str:
    """Return part of the source, shortened and safe to print."""
    cut = text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "…"
    return json.dumps(cut, ensure_ascii=not cut.isprintable())


def _is_json(data: bytes) -> bool:
    """Return whether the data is a JSON object or list."""
    if data[:64].lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        msgspec.json.decode(data)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return False
    return True


def _as_yaml(data: bytes) -> bytes:
    """Return JSON after replacing escapes and characters that YAML does not allow.

    In JSON, these occur only in strings, so nothing else changes, not even the lines.
    """
    escaped = _RAW.sub(lambda found: f"\\u{ord(found[0]):04x}", data.decode())
    return _PAIR.sub(_character, escaped.encode())


def _character(found: re.Match[bytes]) -> bytes:
    """Return the backslashes that precede a surrogate pair, followed by its character."""
    slashes, high, low = found[0][:-12], int(found[0][-10:-6], 16), int(found[0][-4:], 16)
    return slashes + chr(0x10000 + ((high - 0xD800) << 10) + low - 0xDC00).encode()
