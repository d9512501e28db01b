"""Which format a report has: said beforehand, or told from what is in it."""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from . import (
    agent,
    cobertura,
    coverage_py,
    eslint,
    junit,
    lcov,
    mypy_lines,
    pointed,
    ruff,
    sarif,
)
from .json_values import check_size
from .report import COUNT_MAX, Found, Report
from .xml_events import root_of

T = TypeVar("T")

READERS: Mapping[str, Callable[[Report], Found]] = {
    "junit": junit.read,
    "cobertura": cobertura.read,
    "lcov": lcov.read,
    "coverage.py": coverage_py.read,
    "sarif": sarif.read,
    "ruff": ruff.read,
    "eslint": eslint.read,
    "mypy": mypy_lines.read,
    "agent": agent.read,
}
"""Each format that is known by its content, by the name it has on the command line."""

FORMATS = (*READERS, pointed.FORMAT)
"""The names of all formats."""

EXTENSION = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
"""What the format of an extension is like: whose it is, and what it is called."""


def is_format(name: str) -> bool:
    """Tell whether a format is called that; what looks like an extension's is asked for."""
    if name in FORMATS or not EXTENSION.fullmatch(name):
        return name in FORMATS
    # Imported here: it is asked for by a name that is none of ours.
    from ...extensions import installed

    return any(one.name == name for one in installed("report"))


def read_as(name: str, report: Report) -> Found:
    """Return what a report says in a format; an extension that fails is named."""
    if (reader := READERS.get(name)) is not None:
        return reader(report)
    from ...extensions import ExtensionError, loaded, named

    extension, read = loaded("report", name)
    with named(extension):
        found = read(report)
    if not isinstance(found, Found):
        raise ExtensionError(f"{extension.described()} gives {type(found).__name__}")
    for metric, count in found.counts.items():
        if type(count) is not int or not 0 <= count <= COUNT_MAX:
            raise ExtensionError(f"{extension.described()}: {metric} is no count: {count}")
    return found


_Keys = dict[str, msgspec.Raw]
"""The keys of an object; what they stand for is passed over."""

_OBJECTS = {
    "sarif": ("version", "runs"),
    "coverage.py": ("meta", "totals"),
    "agent": ("type",),
    "mypy": ("file", "line", "message"),
}
_LISTS = {
    "eslint": ("filePath", "messages"),
    "ruff": ("filename", "code", "message"),
    "agent": ("type",),
}
_ROOTS = {"testsuites": "junit", "testsuite": "junit", "coverage": "cobertura"}


def format_of(report: Report) -> str:
    """Return the name of a report's format; raise `InvalidInputError` for no known one."""
    begin = report.content[:4096].lstrip()[:1]
    if begin in (b"{", b"["):
        found = _of_json(report)
    elif begin == b"<" or report.content.startswith((b"\xff\xfe", b"\xfe\xff")):
        found = _ROOTS.get(root_of(report)[0])
    else:
        found = _of_text(report)
    if found is None:
        hint = f"known are {', '.join(FORMATS)}; FORMAT=FILE says which one it is"
        raise report.bad("its format is not known", hint=hint)
    return found


def _of_json(report: Report) -> str | None:
    content = report.content.strip()
    check_size(report, content)
    if content.startswith(b"["):
        listed = _decoded(report, content, list[_Keys])
        # A list of nothing is what a clean run of Ruff prints, and of no other.
        return _of_keys(listed[0], _LISTS) if listed else "ruff"
    try:
        # Perhaps an object in each line.
        keys = msgspec.json.decode(content.partition(b"\n")[0], type=_Keys)
    except (msgspec.DecodeError, ValueError, RecursionError):
        keys = _decoded(report, content, _Keys)
    return _of_keys(keys, _OBJECTS)


def _decoded(report: Report, content: bytes, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=shape)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise report.bad(f"not JSON: {error}") from error


def _of_keys(object_: _Keys, formats: Mapping[str, tuple[str, ...]]) -> str | None:
    for name, keys in formats.items():
        if object_.keys() >= {*keys}:
            return name
    # What one agent prints has no type.
    return "agent" if object_.keys() >= {"response", "stats"} else None


def _of_text(report: Report) -> str | None:
    if report.content.lstrip().startswith((b"TN:", b"SF:")):
        return "lcov"
    lines = report.content.strip().split(b"\n")
    found = mypy_lines.TEXT.fullmatch(lines[-1].strip())
    # An empty line may be anybody's; the sum at the end is mypy's.
    return "mypy" if found and (found["stated"] or b"Success: " in lines[-1]) else None
