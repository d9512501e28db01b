"""Edits of agents' JSON files: hooks are added, found and removed; all other text stays.

Numbers, spaces, the order of keys and the author's style are unchanged, because values are
located in the text. An addition is recorded by its position, so that it can be removed.
"""

import re
from json import JSONDecodeError, JSONDecoder, dumps
from typing import Any, NamedTuple

from ...errors import InvalidInputError
from .forms import PLUGIN_MARK, HookForm, plugin

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
    """An object or a list in a text, with its members."""

    start: int
    end: int
    members: list[Member]

    def named(self, key: str) -> Member | None:
        """Return the member of a key; None if there is none."""
        return next((one for one in self.members if one.key == key), None)


def parsed(text: str, *, file: str) -> Any:
    """Return the value of a text; raise `InvalidInputError` unless it is one JSON value."""
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
    """Return a text with a member added to the end of a container, and its position."""
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
    """Return how deep brackets are nested at most; those in texts count, too."""
    deepest = depth = 0
    for one in text:
        depth += (one in "[{") - (one in "]}")
        deepest = max(deepest, depth)
    return deepest


_NEW = "{}\n"
_BLANK = "\ufeff \t\r\n"


class Edit(NamedTuple):
    """What becomes of a file's text."""

    text: str
    spans: list[TextSpan]
    """The additions, by their positions in the new text."""


def installed_events(text: str | None, form: HookForm, *, file: str) -> list[str]:
    """Return the events that call us; raise `InvalidInputError` for a text unread."""
    if text is None:
        return []
    if form.is_plugin:
        return [*form.events] if text.startswith(PLUGIN_MARK) else []
    hooks = _checked(text, form, file=file).get("hooks", {})
    return [name for name, found in hooks.items() if any(_ours_in(found, form))]


def is_current(text: str | None, form: HookForm, *, file: str) -> bool:
    """Return whether exactly the hooks of this version are installed."""
    if text is None:
        return False
    if form.is_plugin:
        return text == plugin()
    hooks = _checked(text, form, file=file).get("hooks", {})
    ours = {name: [*_ours_in(found, form)] for name, found in hooks.items()}
    wanted = {name: [form.command(name)] for name in form.events}
    return {name: said for name, said in ours.items() if said} == wanted


def install(text: str | None, form: HookForm, *, file: str) -> Edit:
    """Return a text with our hooks, each once, after third-party hooks.

    Raise `InvalidInputError` if the text cannot be read, or has another format.
    """
    if form.is_plugin:
        if text is not None and not text.startswith(PLUGIN_MARK):
            raise InvalidInputError("is not ours, and stays as it is", file=file)
        made = plugin()
        return Edit(made, [TextSpan(0, len(made))])
    if text is None or not text.strip(_BLANK):
        begin = text or ""
        text = begin + _NEW
        spans = [TextSpan(len(begin), len(text))]
        for key, value in form.begins.items():
            text, spans = _put(text, spans, root(text), value, key=key)
    else:
        text, spans = without(text, form, file=file), []
    if root(text).named("hooks") is None:
        text, spans = _put(text, spans, root(text), {}, key="hooks")
    for event in form.events:
        text, spans = _install_one(text, spans, form, event)
    return Edit(text, spans)


def cut(text: str, spans: list[TextSpan]) -> str:
    """Return a text without its additions."""
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return text


def is_bare(text: str, form: HookForm, *, file: str) -> bool:
    """Return whether a text equals a new file without hooks."""
    if not text.strip(_BLANK):
        return True
    if form.is_plugin:
        return text.startswith(PLUGIN_MARK)
    return parsed(text, file=file) in ({}, form.begins)


def without(text: str, form: HookForm, *, file: str) -> str:
    """Return a text without our hooks, found by their commands, and empty remains."""
    if form.is_plugin or not installed_events(text, form, file=file):
        return text
    for event in installed_events(text, form, file=file):
        while found := _first_of_ours(text, form, event):
            text = taken_out(text, *found)
        text = _tidied(text, event)
    if (hooks := root(text).named("hooks")) and not container(text, hooks.value).members:
        text = taken_out(text, root(text), hooks)
    return text


def _checked(text: str, form: HookForm, *, file: str) -> dict[str, Any]:
    """Return the value of a text, checked to have the shape of hooks."""
    said = parsed(text, file=file)
    if not isinstance(said, dict):
        raise InvalidInputError("is no JSON object", file=file)
    _refuse_twice(root(text), "", file=file)
    if "hooks" not in said:
        return said
    if not isinstance(said["hooks"], dict):
        raise InvalidInputError("is no object", file=file, field="hooks")
    hooks = root(text).named("hooks")
    assert hooks is not None
    _refuse_twice(container(text, hooks.value), "hooks.", file=file)
    for name, found in said["hooks"].items():
        if not isinstance(found, list) and name in form.events:
            field = f"hooks.{name}"[:100]
            raise InvalidInputError("is no list", file=file, field=field)
    return said


def _refuse_twice(found: Container, where: str, *, file: str) -> None:
    seen: set[str] = set()
    for one in found.members:
        if one.key in seen:
            field = f"{where}{one.key}"[:100]
            raise InvalidInputError("is there twice", file=file, field=field)
        seen.add(one.key)


def _install_one(
    text: str, spans: list[TextSpan], form: HookForm, event: str
) -> tuple[str, list[TextSpan]]:
    hooks = root(text).named("hooks")
    assert hooks is not None
    events = container(text, hooks.value)
    held = events.named(event)
    if held is None:
        return _put(text, spans, events, [form.entry(event)], key=event)
    return _put(text, spans, container(text, held.value), form.entry(event))


def _put(
    text: str, spans: list[TextSpan], into: Container, value: Any, *, key: str = ""
) -> tuple[str, list[TextSpan]]:
    """Put a value in; what was put in before moves, or grows around it."""
    text, (at, end) = put(text, into, value, key=key)
    moved, is_inside = [], False
    for one in spans:
        begin, stop = one
        is_inside = is_inside or begin < at < stop
        by = end - at
        moved.append(TextSpan(begin + by * (begin >= at), stop + by * (stop > at)))
    return text, moved if is_inside else [*moved, TextSpan(at, end)]


def _ours_in(found: object, form: HookForm) -> list[str]:
    """Return our commands in an event's list."""
    said = []
    for one in found if isinstance(found, list) else []:
        group = one.get("hooks") if form.in_groups and isinstance(one, dict) else [one]
        handlers = group if isinstance(group, list) else []
        said += [each[form.command_key] for each in handlers if form.is_ours(each)]
    return said


def _first_of_ours(text: str, form: HookForm, event: str) -> tuple[Any, Any] | None:
    """Return our first entry in an event's list, with the container to remove it from."""
    hooks = root(text).named("hooks")
    held = hooks and container(text, hooks.value).named(event)
    if held is None or text[held.value] != "[":
        return None
    entries = container(text, held.value)
    for entry in entries.members:
        value = parsed(text[entry.start : entry.end], file=event)
        if not form.in_groups:
            if form.is_ours(value):
                return entries, entry
            continue
        if not (isinstance(value, dict) and isinstance(value.get("hooks"), list)):
            continue
        ours = [n for n, one in enumerate(value["hooks"]) if form.is_ours(one)]
        if ours and len(value["hooks"]) == 1:
            return entries, entry
        if ours:
            group = container(text, entry.start).named("hooks")
            assert group is not None
            handlers = container(text, group.value)
            return handlers, handlers.members[ours[0]]
    return None


def _tidied(text: str, event: str) -> str:
    """Return a text without an event's list that is empty."""
    hooks = root(text).named("hooks")
    assert hooks is not None
    events = container(text, hooks.value)
    held = events.named(event)
    if held is None or container(text, held.value).members:
        return text
    return taken_out(text, events, held)
