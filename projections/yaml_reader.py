"""YAML 1.2 core from strangers: read event by event, bounded, one clear refusal.

libyaml's composer recurses and dies at great depth, and expands aliases without a bound;
its events do neither, and each knows its line.
"""

import re
from typing import Any

import yaml

from sprintlog.engine.errors import InvalidInputError

BYTES_MAX = 8 * 1024 * 1024
DEPTH_MAX = 64

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", re.ASCII)
_CORE = "tag:yaml.org,2002:"


def load(data: bytes, *, file: str | None = None) -> Any:
    """Return what a YAML document says, as JSON would hold it.

    Raise `InvalidInputError` with file, line and field for anything that is not one
    plain, bounded document.
    """
    return _Reading(file).read(data)


class _Reading:
    """One document on its way from events to data."""

    def __init__(self, file: str | None) -> None:
        self._file = file
        self._root: list[Any] = []
        self._open: list[Any] = [self._root]
        self._keys: list[str | None] = [None]
        """For each open mapping the key that waits for its value."""
        self._documents = 0

    def read(self, data: bytes) -> Any:
        """Return the document's value."""
        if len(data) > BYTES_MAX:
            raise self._refuse(f"is larger than {BYTES_MAX} bytes")
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise self._refuse("is not UTF-8", line=line) from error
        try:
            for event in yaml.parse(text, Loader=_LOADER):
                self._take(event)
        except yaml.YAMLError as error:
            raise self._explained(error) from error
        if not self._root:
            raise self._refuse("is empty; a mapping of fields is expected", line=1)
        return self._root[0]

    def _take(self, event: Any) -> None:
        line = event.start_mark.line + 1
        match event:
            case yaml.AliasEvent():
                raise self._refuse("an alias (`*`) is not allowed; write it out", line=line)
            case yaml.ScalarEvent():
                self._take_scalar(event, line)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._enter(event, line)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._open.pop()
                self._keys.pop()
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise self._refuse("holds more than one document", line=line)
            case _:
                return

    def _enter(self, event: Any, line: int) -> None:
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        self._check_plain(event, line, ("map",) if is_mapping else ("seq",))
        if self._wants_key():
            raise self._refuse("a key must be text, not a collection", line=line)
        if len(self._open) > DEPTH_MAX:
            raise self._refuse(f"is nested deeper than {DEPTH_MAX} levels", line=line)
        holder: Any = {} if is_mapping else []
        self._put(holder)
        self._open.append(holder)
        self._keys.append(None)

    def _take_scalar(self, event: Any, line: int) -> None:
        self._check_plain(event, line, ("str", "int", "float", "bool", "null"))
        if self._wants_key():
            key = event.value
            if key in self._open[-1]:
                raise self._refuse(f"the key {key[:60]!r} is there twice", line=line)
            self._keys[-1] = key
            return
        plain = event.implicit[0] or (event.tag or "")[len(_CORE) :] not in ("", "str")
        self._put(self._value(event.value, line) if plain else event.value)

    def _value(self, text: str, line: int) -> Any:
        """Return what a plain scalar stands for in YAML 1.2's core schema."""
        if text in _NULL:
            return None
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        if _INT.fullmatch(text):
            number = int(text, 0) if text[:2] in ("0o", "0x") else _bounded(text)
            if number is None or not -(2**63) <= number < 2**63:
                raise self._refuse(f"{text[:40]} is beyond 64 bits", line=line, field=True)
            return number
        if _FLOAT.fullmatch(text):
            value = float(text)
            if value in (float("inf"), float("-inf")):
                raise self._refuse(f"{text[:40]} is not finite", line=line, field=True)
            return value
        if _NOT_FINITE.fullmatch(text):
            raise self._refuse(f"{text} is not a finite number", line=line, field=True)
        return text

    def _put(self, value: Any) -> None:
        holder = self._open[-1]
        if isinstance(holder, dict):
            holder[self._keys[-1]] = value
            self._keys[-1] = None
        else:
            holder.append(value)

    def _wants_key(self) -> bool:
        return isinstance(self._open[-1], dict) and self._keys[-1] is None

    def _check_plain(self, event: Any, line: int, allowed: tuple[str, ...]) -> None:
        if event.anchor is not None:
            raise self._refuse("an anchor (`&`) is not allowed", line=line)
        tag = event.tag
        if tag not in (None, "!") and tag.removeprefix(_CORE) not in allowed:
            raise self._refuse(f"the tag {tag[:60]!r} is not allowed", line=line)

    def _field(self) -> str:
        text = ""
        for holder, key in zip(self._open[1:], self._keys[1:], strict=True):
            if isinstance(holder, list):
                text += f"[{len(holder)}]"
            elif key is not None:
                text += f".{key}" if text else key
        return text

    def _refuse(
        self, problem: str, *, line: int | None = None, field: bool = False
    ) -> InvalidInputError:
        where = self._field() if field else None
        return InvalidInputError(problem, file=self._file, line=line, field=where)

    def _explained(self, error: yaml.YAMLError) -> InvalidInputError:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None)
        line = mark.line + 1 if mark else None
        said = str(problem or error).split("\n")[0]
        return self._refuse(f"not YAML: {said}", line=line)


def _bounded(text: str) -> int | None:
    """Return a decimal number, or None for one whose length alone is too much."""
    return int(text) if len(text.lstrip("+-0")) <= 19 else None
