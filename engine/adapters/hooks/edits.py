"""Edits agents' JSON files: adds, finds and removes hooks without changing other text.

Numbers, whitespace, key order and the author's style remain unchanged, because values are
located in the text. The position of each addition is recorded so that the addition can be
removed.
"""

import re
from collections.abc import Iterator, Mapping
from json import JSONDecodeError, JSONDecoder, dumps
from typing import Any, NamedTuple

import msgspec

from ...errors import InvalidInputError
from ...own_files import own_text

_SPACE = re.compile(r"[ \t\n\r]*")
_INDENT = re.compile(r"\n([ \t]+)[^ \t\r\n]")
_DECODER = JSONDecoder()
_BOM = "\ufeff"
NESTED_MAX = 200
"""The maximum nesting depth, which is lower than Python's own limit."""


class TextSpan(NamedTuple):
    """A range of characters in a string; the end is exclusive."""

    start: int
    end: int


class Member(NamedTuple):
    """A member of an object, or an item in a list, which has no key."""

    start: int
    """The start of the key, or of an item without a key."""
    value: int
    end: int
    key: str = ""


class Container(NamedTuple):
    """An object or a list in JSON text, with its members."""

    start: int
    end: int
    members: list[Member]

    def named(self, key: str) -> Member | None:
        """Return the member with the given key, or None."""
        return next((one for one in self.members if one.key == key), None)


def parsed(text: str, *, file: str) -> Any:
    """Parse JSON text; raise `InvalidInputError` unless it is exactly one JSON value."""
    if text.count("[") + text.count("{") > NESTED_MAX and _depth(text) > NESTED_MAX:
        raise InvalidInputError(f"is nested deeper than {NESTED_MAX} levels", file=file)
    start = _skip(text, 1 if text.startswith(_BOM) else 0)
    try:
        value, end = _DECODER.raw_decode(text, start)
    except JSONDecodeError as error:
        raise InvalidInputError(
            f"is not JSON: {error.msg.lower()}",
            hint="fix the file first; comments such as `// this` are not valid JSON",
            file=file,
            line=error.lineno,
        ) from error
    if _skip(text, end) != len(text):
        line = text.count("\n", 0, end) + 1
        problem = "contains more text after the JSON value"
        raise InvalidInputError(problem, file=file, line=line)
    return value


def root(text: str) -> Container:
    """Return the outermost object in valid JSON text."""
    return container(text, _skip(text, 1 if text.startswith(_BOM) else 0))


def container(text: str, start: int) -> Container:
    """Return the object or list that starts at an offset in valid JSON text."""
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


def taken_out(text: str, of: Container, which: Member) -> str:
    """Return the text without a member and its comma."""
    if place := of.members.index(which):
        return text[: of.members[place - 1].end] + text[which.end :]
    if len(of.members) > 1:
        return text[: which.start] + text[of.members[1].start :]
    return text[: of.start + 1] + text[of.end - 1 :]


class _Style:
    """The layout of JSON text, which additions follow."""

    def __init__(self, text: str, into: Container) -> None:
        self._newline = "\r\n" if "\r\n" in text else "\n"
        found = _INDENT.search(text)
        self._unit = found.group(1) if found else "  "
        self._is_flat = "\n" not in text.strip() and len(text.strip(_BOM + " \t\r\n")) > 2
        self._deep = _indent_of(text, into, self._unit)
        outer = self._deep[: len(self._deep) - len(self._unit)]
        self.before_member = " " if self._is_flat else self._newline + self._deep
        self.before_end = " " if self._is_flat else self._newline + outer

    def written(self, value: Any, key: str) -> str:
        if self._is_flat:
            said = dumps(value, ensure_ascii=False)
        else:
            said = dumps(value, ensure_ascii=False, indent=self._unit)
            said = said.replace("\n", self._newline + self._deep)
        return f"{dumps(key, ensure_ascii=False)}: {said}" if key else said


def _indent_of(text: str, into: Container, unit: str) -> str:
    """Return the indentation of a container's members."""
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
    """Return the maximum nesting depth of brackets, including brackets in strings."""
    deepest = depth = 0
    for one in text:
        depth += (one in "[{") - (one in "]}")
        deepest = max(deepest, depth)
    return deepest


NAME = "sprintlog"
BLANK = "\ufeff \t\r\n"


class Edit:
    """A text to which values are added, and the positions of the additions."""

    def __init__(self, text: str) -> None:
        """Start with the text, without any additions."""
        self.text = text
        self.spans: list[TextSpan] = []

    def append(self, piece: str) -> None:
        """Append a piece of text."""
        at = len(self.text)
        self.text += piece
        self.spans.append(TextSpan(at, len(self.text)))

    def put(self, into: Container, value: Any, *, key: str = "") -> None:
        """Add a value to the end of a container, and adjust the earlier spans."""
        style = _Style(self.text, into)
        said = style.before_member + style.written(value, key)
        at = into.members[-1].end if into.members else into.start + 1
        piece = f",{said}" if into.members else said + style.before_end
        self.text, end = self.text[:at] + piece + self.text[at:], at + len(piece)
        by, moved, is_inside = end - at, [], False
        for begin, stop in self.spans:
            is_inside = is_inside or begin < at < stop
            moved.append(TextSpan(begin + by * (begin >= at), stop + by * (stop > at)))
        self.spans = moved if is_inside else [*moved, TextSpan(at, end)]


def cut(text: str, spans: list[TextSpan]) -> str:
    """Return the text without the additions at the given spans."""
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return text


class AgentFile(msgspec.Struct, frozen=True, kw_only=True):
    """The base class for an agent's configuration file and the content to install in it."""

    agent: str
    what: str
    """The kind of content, such as `hooks`, or `mcp` for sprintlog's server."""
    project: str
    """The file's path below the project's root."""
    user: str = ""
    """The file's path below the folder that `home` names."""
    home: tuple[str, str] = ("", "")
    """The variable that names the agent's folder, and the default folder."""
    content: str = ""
    """The text to add, unless it results from other fields."""
    asset: str = ""
    """The file of this package that contains the text to add."""
    is_named: bool = True
    """Whether sprintlog's content can be recognized without remembering it."""
    reasons: Mapping[str, tuple[str, ...]] = {}
    """Reasons why the content may not be used, with remedies, by precondition."""

    @property
    def text(self) -> str:
        """Return the text to add."""
        return own_text(__name__, self.asset) if self.asset else self.content

    def ours(self, text: str, *, file: str) -> dict[str, Any]:
        """Return sprintlog's content in a text: values by event or by name.

        Raise `InvalidInputError` if the text cannot be read or has another format.
        """
        raise NotImplementedError

    def wanted(self) -> dict[str, Any]:
        """Return the content that this version installs."""
        return {NAME: self.text}

    def install(self, text: str | None, *, file: str) -> Edit:
        """Return the text with one copy of sprintlog's content, after other content."""
        raise NotImplementedError

    def without(self, text: str, *, file: str) -> str:
        """Return the text without sprintlog's content, including containers left empty."""
        raise NotImplementedError

    def is_bare(self, text: str, *, file: str) -> bool:
        """Return whether the text equals a new file without sprintlog's content."""
        return not text.strip(BLANK)


class JsonForm(AgentFile, frozen=True):
    """A JSON file with an object that contains servers, or lists of handlers, by name."""

    key: str = "mcpServers"
    begins: Mapping[str, Any] = {}
    """The initial content of a new file."""
    entry: Mapping[str, Any] = {}
    events: tuple[str, ...] = ()
    """The names under which lists are required."""

    def entries(self) -> dict[str, Any]:
        """Return the entries to add, by name."""
        return {NAME: self.entry}

    def compared(self, value: Any) -> Any:
        """Return the part of an entry that distinguishes versions; None if not ours."""
        return value

    def located(self, text: str) -> Iterator[tuple[str, Container, Member]]:
        """Yield sprintlog's entries: the name, and the member with its container."""
        if (held := self.held(text)) and (member := held.named(NAME)):
            yield NAME, held, member

    def wanted(self) -> dict[str, Any]:
        """Return the compared part of each entry."""
        return {name: [self.compared(one)] for name, one in self.entries().items()}

    def ours(self, text: str, *, file: str) -> dict[str, Any]:
        """Return sprintlog's entries by name, after checking the object."""
        ours: dict[str, Any] = {}
        if text.strip(BLANK):
            self._check(text, file=file)
            for name, _, one in self.located(text):
                value = parsed(text[one.value : one.end], file=file)
                ours.setdefault(name, []).append(self.compared(value))
        return ours

    def install(self, text: str | None, *, file: str) -> Edit:
        """Return the text with sprintlog's content after third-party content."""
        if text and text.strip(BLANK):
            edit = Edit(self.without(text, file=file))
        else:
            edit = Edit(text or "")
            edit.append("{}\n")
            for key, value in self.begins.items():
                edit.put(root(edit.text), value, key=key)
        for name, value in self.entries().items():
            new = [value] if self.events else value
            if (held := self.held(edit.text)) is None:
                edit.put(root(edit.text), {name: new}, key=self.key)
            elif self.events and (member := held.named(name)):
                edit.put(container(edit.text, member.value), value)
            else:
                edit.put(held, new, key=name)
        return edit

    def without(self, text: str, *, file: str) -> str:
        """Return the text without sprintlog's entries and containers left empty."""
        for name in self.ours(text, file=file):
            while found := next((x for x in self.located(text) if x[0] == name), None):
                text = taken_out(text, *found[1:])
            for key in (name, self.key):
                outer = root(text) if key == self.key else self.held(text)
                member = outer and outer.named(key)
                if outer and member and not container(text, member.value).members:
                    text = taken_out(text, outer, member)
        return text

    def is_bare(self, text: str, *, file: str) -> bool:
        """Return whether the text equals a new file without sprintlog's content."""
        return not text.strip(BLANK) or parsed(text, file=file) in ({}, self.begins)

    def held(self, text: str) -> Container | None:
        """Return the object at the key, located in the text; None if it is missing."""
        member = root(text).named(self.key)
        return container(text, member.value) if member else None

    def _check(self, text: str, *, file: str) -> None:
        """Check the object at the key; only names of sprintlog's must not be duplicated."""
        said = parsed(text, file=file)
        if not isinstance(said, dict):
            raise InvalidInputError("is not a JSON object", file=file)
        only = "" if self.events else NAME
        _refuse_twice(root(text), only and self.key, "", file=file)
        found = said.get(self.key, {})
        if not isinstance(found, dict):
            raise InvalidInputError("is not an object", file=file, field=self.key)
        if held := self.held(text):
            _refuse_twice(held, only, "" if only else f"{self.key}.", file=file)
        for name in self.events:
            if not isinstance(found.get(name, []), list):
                field = f"{self.key}.{name}"[:100]
                raise InvalidInputError("is not a list", file=file, field=field)


def _refuse_twice(found: Container, only: str, where: str, *, file: str) -> None:
    seen: set[str] = set()
    for one in found.members:
        if one.key in seen and only in ("", one.key):
            field = f"{where}{one.key}"[:100]
            raise InvalidInputError("occurs twice", file=file, field=field)
        seen.add(one.key)
