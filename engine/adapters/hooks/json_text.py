"""Putting values into a JSON text and taking them out, with all else left as it stands.

A text is searched, not written anew: numbers, spaces, the order of keys and the style of
whoever wrote it stay. What is put in is known by its place, so that it can go again.
"""

import re
from json import JSONDecodeError, JSONDecoder, dumps
from typing import Any, NamedTuple

from ...errors import InvalidInputError

_SPACE = re.compile(r"[ \t\n\r]*")
_INDENT = re.compile(r"\n([ \t]+)[^ \t\r\n]")
_DECODER = JSONDecoder()
_BOM = "\ufeff"
NESTED_MAX = 200
"""Deeper texts are refused before Python's own limit is met."""


class TextSpan(NamedTuple):
    """A piece of a text: from its first character to behind its last."""

    start: int
    end: int


class Member(NamedTuple):
    """A key of an object, or an item of a list; an item has no key."""

    start: int
    """Where the key begins, or the item."""
    value: int
    end: int
    key: str = ""


class Container(NamedTuple):
    """An object or a list in a text, with what it holds."""

    start: int
    end: int
    members: list[Member]

    def named(self, key: str) -> Member | None:
        """Return the member of a key; None where there is none."""
        return next((one for one in self.members if one.key == key), None)


def parsed(text: str, *, file: str) -> Any:
    """Return what a text says; raise `InvalidInputError` where it is not one JSON value."""
    if text.count("[") + text.count("{") > NESTED_MAX and _depth(text) > NESTED_MAX:
        raise InvalidInputError(f"is nested deeper than {NESTED_MAX}", file=file)
    start = _skip(text, 1 if text.startswith(_BOM) else 0)
    try:
        value, end = _DECODER.raw_decode(text, start)
    except JSONDecodeError as error:
        raise InvalidInputError(
            f"is not JSON: {error.msg.lower()}",
            hint="repair it first; a remark like `// this` is not JSON",
            file=file,
            line=error.lineno,
        ) from error
    if _skip(text, end) != len(text):
        line = text.count("\n", 0, end) + 1
        raise InvalidInputError("more follows the JSON value", file=file, line=line)
    return value


def root(text: str) -> Container:
    """Return the outermost object of a text that was parsed."""
    return container(text, _skip(text, 1 if text.startswith(_BOM) else 0))


def container(text: str, start: int) -> Container:
    """Return the object or list that begins at a place of a text that was parsed."""
    is_object = text[start] == "{"
    found: list[Member] = []
    place = _skip(text, start + 1)
    while text[place] not in "]}":
        key, begin = "", place
        if is_object:
            key, place = _DECODER.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)
        _, end = _DECODER.raw_decode(text, place)
        found.append(Member(begin, place, end, key))
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return Container(start, place + 1, found)


def put(text: str, into: Container, value: Any, *, key: str = "") -> tuple[str, TextSpan]:
    """Return a text with one more member at a container's end, and where it was put."""
    style = _Style(text, into)
    said = style.written(value, key)
    if into.members:
        at = into.members[-1].end
        piece = "," + style.before_member + said
    else:
        at = into.start + 1
        piece = style.before_member + said + style.before_end
    return text[:at] + piece + text[at:], TextSpan(at, at + len(piece))


def taken_out(text: str, of: Container, which: Member) -> str:
    """Return a text without a member, nor the comma that went with it."""
    place = of.members.index(which)
    if place:
        return text[: of.members[place - 1].end] + text[which.end :]
    if len(of.members) > 1:
        return text[: which.start] + text[of.members[1].start :]
    return text[: of.start + 1] + text[of.end - 1 :]


class _Style:
    """How a text is laid out, so that what is put in looks like the rest of it."""

    def __init__(self, text: str, into: Container) -> None:
        self._newline = "\r\n" if "\r\n" in text else "\n"
        found = _INDENT.search(text)
        self._unit = found.group(1) if found else "  "
        self._is_flat = "\n" not in text.strip() and len(text.strip(_BOM + " \t\r\n")) > 2
        self._deep = _indent_of(text, into, self._unit)

    @property
    def before_member(self) -> str:
        return " " if self._is_flat else self._newline + self._deep

    @property
    def before_end(self) -> str:
        outer = self._deep[: len(self._deep) - len(self._unit)]
        return " " if self._is_flat else self._newline + outer

    def written(self, value: Any, key: str) -> str:
        if self._is_flat:
            said = dumps(value, ensure_ascii=False)
        else:
            said = dumps(value, ensure_ascii=False, indent=self._unit)
            said = said.replace("\n", self._newline + self._deep)
        return f"{dumps(key, ensure_ascii=False)}: {said}" if key else said


def _indent_of(text: str, into: Container, unit: str) -> str:
    """Return what stands before a member of a container on its line."""
    if into.members:
        line = text.rfind("\n", 0, into.members[-1].start) + 1
        before = text[line : into.members[-1].start]
        if not before.strip(" \t"):
            return before
    line = text.rfind("\n", 0, into.start) + 1
    found = _SPACE.match(text, line)
    outer = found.group().lstrip("\r\n") if found else ""
    return outer + unit


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _depth(text: str) -> int:
    """Return how deep brackets are nested at most; those in texts count, too."""
    deepest = depth = 0
    for one in text:
        depth += (one in "[{") - (one in "]}")
        deepest = max(deepest, depth)
    return deepest
