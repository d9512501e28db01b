"""Bounded reading of untrusted files, and strict parsing of JSON without duplicate keys."""

import codecs
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.engine.log.envelope import DOCUMENT_BYTES_MAX
from sprintlog.engine.log.stores.descriptors import read_whole
from sprintlog.projections.state_files.yaml.writer import DEPTH_MAX, NODES_MAX

_NO_NUMBER = re.compile(rb"[:\[,]\s*(-?Infinity|NaN)\b")
"""Matches the non-standard numbers that Python writes as JSON."""


def load(
    text: bytes,
    *,
    file: str | None = None,
    line: int | None = None,
    field: str | None = None,
) -> Any:
    """Return the parsed JSON; raise `InvalidInputError` naming the location of an error."""
    try:
        text = without_mark(text)
        value = msgspec.json.decode(text)
        keys, nodes = _size(value)
        twice = None
        # If no text contains a colon, the number of colons equals the number of keys.
        if text.count(b":") != keys:
            from sprintlog.engine.adapters.reports.parsers import duplicate_key

            twice = duplicate_key(text)
    except RecursionError:
        problem = f"nested deeper than {DEPTH_MAX} levels"
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problem = f"not JSON: {error}"
        if (word := _NO_NUMBER.search(text)) is not None:
            problem = f"not JSON: {word[1].decode()} is not a number; use null for unknown"
    else:
        if nodes <= NODES_MAX and twice is None:
            return value
        problem = f"contains more than {NODES_MAX} keys and values"
        if twice is not None:
            problem = f"duplicate key {twice}"
    raise InvalidInputError(problem, file=file, line=line, field=field)


def without_mark(text: bytes) -> bytes:
    """Return text as UTF-8 without its byte order mark, which may indicate UTF-16."""
    if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return text.decode("utf-16").encode()
    return text.removeprefix(codecs.BOM_UTF8)


def _size(value: Any) -> tuple[int, int]:
    """Return the number of keys in a value, and the total number of keys and values."""
    keys = 0
    values = [value]
    for found in values:
        if isinstance(found, dict):
            keys += len(found)
            values.extend(found.values())
        elif isinstance(found, list):
            values.extend(found)
    return keys, keys + len(values)


STANDARD_INPUT = "-"


def read_bytes(path: Path, *, bytes_max: int = DOCUMENT_BYTES_MAX) -> bytes:
    """Return a file's bytes; raise `NotFoundError` or `InvalidInputError` on failure."""
    with opening(path):
        # Limits the memory for endless files; the extra byte is refused later.
        return read_whole(path, at_most=bytes_max + 1)


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """Raise `NotFoundError` or `InvalidInputError` if the block cannot read a file."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFoundError(f"{path}: there is no such file", file=str(path)) from error
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise InvalidInputError(problem, file=str(path)) from error


@contextmanager
def naming(
    file: str | None, field: str | None = None, *, only_fields: bool = False
) -> Iterator[None]:
    """Make errors in the block include the file and, unless already included, the field.

    With `only_fields`, only errors about a field are changed.
    """
    try:
        yield
    except RefusedError as error:
        named = error.fields.get("field")
        if only_fields and (named is None or "file" in error.fields):
            raise
        problem, field = error.message.removeprefix(f"{named}: "), named or field
        raise InvalidInputError(problem, file=file, field=field, hint=error.hint) from error


def read_text(name: str) -> str:
    """Return a file's text, or standard input for `-`; raise errors like `read_bytes`."""
    if name == STANDARD_INPUT:
        content = sys.stdin.buffer.read(DOCUMENT_BYTES_MAX + 1)
    else:
        content = read_bytes(Path(name))
    return decoded(within(DOCUMENT_BYTES_MAX, content, file=name), file=name)


def within(bytes_max: int, content: bytes, *, file: str) -> bytes:
    """Return a file's bytes; raise `InvalidInputError` if there are too many."""
    if len(content) > bytes_max:
        raise InvalidInputError(f"is longer than {bytes_max // 2**20} MiB", file=file)
    return content


def decoded(content: bytes, *, file: str) -> str:
    """Return a file's text; raise `InvalidInputError` if it is not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError("is not UTF-8", file=file) from error


def yaml_of(content: bytes, *, file: str) -> Any:
    """Return YAML data (core schema only); errors contain the line of the mistake."""
    # Imported here: the YAML parser starts slowly, and most files are JSON.
    from sprintlog.projections.state_files.yaml.reader import load as load_yaml

    return load_yaml(content, file=file)


def load_either(content: bytes, *, file: str) -> Any:
    """Return the data of a JSON or YAML file."""
    is_json = content.lstrip()[:1] in (b"{", b"[")
    return (load if is_json else yaml_of)(content, file=file)
