"""Bounded parsers for untrusted JSON and XML, and custom metrics at JSON pointers.

JSON with a duplicate key is rejected. XML is read element by element, without entities.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

import msgspec

from .report import COUNT_MAX, DEPTH_MAX, VALUES_MAX, Found, Report

T = TypeVar("T")

# Matches an unterminated text as well, so that the search stays linear.
_TEXTS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_KEY_CHARS_SHOWN = 40
_TOO_DEEP = f"nested deeper than {DEPTH_MAX} levels"
_PATH = re.compile(r"(.*?) - at `\$?(.*)`", re.DOTALL)
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")

Count = Annotated[int, msgspec.Meta(ge=0, le=COUNT_MAX)]
FORMAT = "json"
_MISSING = object()


class Counted(msgspec.Struct):
    """An object that is only counted, so its fields are ignored."""


def decode(report: Report, shape: type[T]) -> T:
    """Return a report's content, decoded as the given type."""
    return decode_text(report, report.content, shape)


def decode_text(
    report: Report, content: bytes, shape: type[T], *, line: int | None = None
) -> T:
    """Return part of a report's content, decoded as the given type."""
    check_size(report, content, line=line)
    try:
        found = msgspec.json.decode(content, type=shape)
        # msgspec silently takes the last of duplicate keys.
        twice = duplicate_key(content)
    except RecursionError as error:
        raise report.bad(_TOO_DEEP, line=line) from error
    except msgspec.ValidationError as error:
        problem, field = _where(str(error))
        raise report.bad(problem, field=field, line=line) from error
    except (msgspec.DecodeError, ValueError) as error:
        raise report.bad(f"not JSON: {error}", line=line) from error
    if twice is not None:
        raise report.bad(f"duplicate key {twice}", line=line)
    return found


def check_size(report: Report, content: bytes, *, line: int | None = None) -> None:
    """Raise `InvalidInputError` for JSON that is too deeply nested or too large."""
    bare = _TEXTS.sub(b"", content)
    if bare.count(b",") + bare.count(b":") + bare.count(b"[") > VALUES_MAX:
        raise report.bad(f"contains more than {VALUES_MAX} keys and values", line=line)
    brackets = bare.translate(_BRACKETS, _NOT_BRACKETS)
    # Each iteration removes the innermost level.
    for _ in range(DEPTH_MAX):
        if not brackets:
            return
        brackets = brackets.replace(b"[]", b"")
    if b"[]" in brackets:
        raise report.bad(_TOO_DEEP, line=line)


def duplicate_key(content: bytes) -> str | None:
    """Return a duplicate key in a JSON object, or None; msgspec would accept duplicates."""
    twice: list[str] = []

    def notice(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs) and not twice:
            last = {name: place for place, (name, _) in enumerate(pairs)}
            twice.extend(n for place, (n, _) in enumerate(pairs) if last[n] != place)

    # Numbers remain text: they are not used here, and long ones are slow to parse.
    json.loads(content, object_pairs_hook=notice, parse_int=str, parse_float=str)
    return json.dumps(twice[0][:_KEY_CHARS_SHOWN]) if twice else None


def _where(message: str) -> tuple[str, str | None]:
    """Split a msgspec error message into its text and the path it contains."""
    if (found := _PATH.fullmatch(message)) is None:
        return message, None
    return found[1], found[2].removeprefix(".") or None


def read(report: Report, pointers: Mapping[str, str]) -> Found:
    """Return the metrics in a report, given their JSON pointers by name.

    Raise `InvalidInputError` if the report contains none of the metrics, or if a metric is
    not a number.
    """
    if not pointers:
        raise report.bad(
            "no custom metric has a pointer into a JSON report",
            hint="use `sprintlog iteration rules set --metric NAME --pointer /a/b` to set "
            "one",
        )
    given = decode(report, Any)
    found: dict[str, int | float] = {}
    for name, pointer in pointers.items():
        if (value := _at(given, pointer)) is _MISSING:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise report.bad(f"{name} is not a number", field=pointer)
        found[name] = value
    if not found:
        raise report.bad(f"contains none of {', '.join(pointers.values())}")
    return Found(own=found)


def _at(given: Any, pointer: str) -> Any:
    """Return the value at a JSON pointer (RFC 6901), or `_MISSING`."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(given, dict) and key in given:
            given = given[key]
        elif isinstance(given, list) and _INDEX.fullmatch(key) and int(key) < len(given):
            given = given[int(key)]
        else:
            return _MISSING
    return given


Attributes = dict[str, str]


class _Enough(Exception):  # noqa: N818
    """Raised to stop the parser after the first element."""


def walk(
    report: Report,
    *,
    start: Callable[[str, Attributes], None],
    end: Callable[[str], None] = lambda tag: None,
    text: Callable[[str], None] = lambda text: None,
) -> None:
    """Call `start` with each element's tag and attributes, and `end` after its contents.

    `text` receives the text between tags, in pieces. A document type that only refers to an
    external definition, as in some Cobertura reports, is ignored: nothing is fetched. A
    declaration within the file is rejected.
    """
    # Imported here: only XML reports need it.
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser

    class Parser(DefusedXMLParser):
        def defused_start_doctype_decl(
            self, name: Any, sysid: Any, pubid: Any, has_internal_subset: Any
        ) -> None:
            if has_internal_subset:
                super().defused_start_doctype_decl(name, sysid, pubid, has_internal_subset)

    parser = Parser(target=_Target(report, start, end, text), forbid_dtd=True)
    try:
        # In one call, because some versions of expat reparse a long token for each piece.
        parser.feed(report.content)
        parser.close()
    except DefusedXmlException as error:
        raise report.bad("declares entities or a document type") from error
    except ParseError as error:
        line, _ = error.position
        raise report.bad(f"not well-formed XML: {error}", line=line) from error
    except (ValueError, LookupError) as error:
        raise report.bad(f"not readable XML: {error}") from error


def root_of(report: Report) -> tuple[str, Attributes]:
    """Return the tag and attributes of a report's first element."""
    found: list[tuple[str, Attributes]] = []

    def start(tag: str, attributes: Attributes) -> None:
        found.append((tag, attributes))
        raise _Enough

    try:
        walk(report, start=start)
    except _Enough:
        return found[0]
    raise report.bad("contains no element")


class _Target:
    def __init__(
        self,
        report: Report,
        start: Callable[[str, Attributes], None],
        end: Callable[[str], None],
        text: Callable[[str], None],
    ) -> None:
        self._report, self._start, self._end, self.data = report, start, end, text
        self._depth = self._elements = 0

    def start(self, tag: str, attributes: Attributes) -> None:
        self._depth += 1
        self._elements += 1
        if self._depth > DEPTH_MAX:
            raise self._report.bad(f"nested deeper than {DEPTH_MAX} levels")
        if self._elements > VALUES_MAX:
            raise self._report.bad(f"contains more than {VALUES_MAX} elements")
        self._start(_local(tag), attributes)

    def end(self, tag: str) -> None:
        self._depth -= 1
        self._end(_local(tag))

    def close(self) -> None:
        pass


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
