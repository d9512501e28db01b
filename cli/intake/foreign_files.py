"""Shared code of the readers for other loops' files, including JSON lines."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.log.stores.descriptors import held_open
from sprintlog.engine.masking import cut
from sprintlog.engine.sprint.state import times

from . import files
from .shapes import shaped

FILE_BYTES_MAX = 64 * 1024 * 1024
"""The maximum size of another loop's file; larger files are refused."""
LINE_CHARS_KEPT = 2_000
"""The number of characters stored from a line that was not understood."""
MARGIN_BYTES = 8 * 1024
"""Bytes read beyond the stored characters, to recognize a secret that crosses the limit."""
_UNNAMED = re.compile(r"[^a-z0-9._-]+")


class Unread(NamedTuple):
    """A line or part of a file that could not be read."""

    file: str
    line: int
    """The line number; 0 for a part that is not a line."""
    problem: str
    text: str

    @classmethod
    def of(cls, file: str, problem: str, what: object) -> Self:
        """Return an instance for a part of the data that could not be read."""
        return cls(file, 0, problem, kept_of(what))


class ForeignFile:
    """A file from another tool, read within size limits; errors contain its name."""

    def __init__(
        self, file: Path, *, below: Path | None = None, content: bytes | None = None
    ) -> None:
        self.file, self._name, self._below = file, str(file), below
        self._content = content

    @property
    def content(self) -> bytes:
        """Return the file's bytes; raise `InvalidInputError` if there are too many."""
        if self._content is None:
            self._content = bytes_of(self.file, below=self._below)
        return self._content

    def text(self) -> str:
        """Return the file's text."""
        return files.decoded(self.content, file=self._name)

    def json(self) -> Any:
        """Return the file's JSON data."""
        return files.load(self.content, file=self._name)

    def yaml(self, text: str) -> Any:
        """Return the data of a YAML section in the file."""
        return files.yaml_of(text.encode(), file=self._name)

    def data(self) -> Any:
        """Return the file's JSON or YAML data."""
        return files.load_either(self.content, file=self._name)

    def lines(self) -> tuple[list[tuple[int, dict[str, Any]]], list[Unread]]:
        """Return the JSON objects with their line numbers, and all other lines."""
        return json_lines(self.content, file=self._name)

    def metrics(self, document: object) -> dict[str, Any]:
        """Return the validated metrics in an iteration's document."""
        # Imported here: pydantic is slow to start.
        from .metrics import checked_document

        return checked_document(document, file=self._name)

    def check(self, model: Any, data: object) -> Any:
        """Return data as a msgspec struct; raise `InvalidInputError` if it is invalid."""
        return shaped(model, data, file=self._name)

    def time(self, text: str, field: str | None = None) -> str:
        """Return a time in the log's format; raise `InvalidInputError` if it is invalid."""
        return self.normalised(text, file=self._name, field=field)

    @staticmethod
    def normalised(text: str, *, file: str | None = None, field: str | None = None) -> str:
        """Normalize a time from any file; raise `InvalidInputError` if it is invalid."""
        with files.naming(file, field):
            return times.normalise(text)


def kept_of(what: object) -> str:
    """Return the beginning of a line or of data, truncated so that no secret is split."""
    line = what if isinstance(what, bytes) else msgspec.json.encode(what)
    text = line[: LINE_CHARS_KEPT + MARGIN_BYTES].decode("utf-8", "replace")
    return cut(text, LINE_CHARS_KEPT)


def json_lines(
    content: bytes, *, file: str
) -> tuple[list[tuple[int, dict[str, Any]]], list[Unread]]:
    """Return each object with its line number, and the lines that are not objects."""
    objects, unread = [], []
    for number, line in enumerate(content.split(b"\n"), start=1):
        if isinstance(found := json_of(line), dict):
            objects.append((number, found))
        elif line.strip():
            unread.append(Unread(file, number, "not a JSON object", kept_of(line)))
    return objects, unread


def json_of(text: bytes) -> Any:
    """Return parsed JSON, or None if the text is not valid JSON."""
    try:
        return msgspec.json.decode(files.without_mark(text))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def bytes_of(file: Path, *, below: Path | None = None) -> bytes:
    """Return a file's bytes; raise `InvalidInputError` if the file is too long.

    If `below` is given, the file must be a regular file reached from that folder without
    links.
    """
    if below is not None:
        return plain_bytes(file, below=below)
    content = files.read_bytes(file, bytes_max=FILE_BYTES_MAX)
    return files.within(FILE_BYTES_MAX, content, file=str(file))


def plain_bytes(file: Path, *, below: Path | None = None) -> bytes:
    """Return the bytes of a file that the user did not specify and that may be hostile.

    It must be a regular file reached from the folder `below` without links.
    """
    folder = file.parent if below is None else below
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    check_no_link(file, below=folder)
    with files.opening(file), held_open(file, flags) as held:
        if not stat.S_ISREG(os.fstat(held).st_mode):
            raise InvalidInputError("is not a file", file=str(file))
        with open(held, "rb", closefd=False) as opened:
            content = opened.read(FILE_BYTES_MAX + 1)
    return files.within(FILE_BYTES_MAX, content, file=str(file))


def check_no_link(file: Path, *, below: Path) -> None:
    """Raise `InvalidInputError` if the path from `below` to the file contains a link."""
    inner = [part for part in file.parents if below in part.parents]
    if any(part.is_symlink() for part in (file, *inner)):
        raise InvalidInputError("is a symbolic link, which is not followed", file=str(file))


def name_from(*texts: object) -> str:
    """Return a sprint id derived from the first text that contains usable characters."""
    for text in texts:
        name = _UNNAMED.sub("-", str(text or "").lower()).strip("-._")[:60]
        if name:
            return name
    return "imported"


_ITEM = r"(?:[-*+]|\d{1,9}[.)]) "
_BOX = re.compile(rf"([ \t]*){_ITEM}\[([ xX])\][ \t]+(\S.*)")
_UNMARKED = re.compile(rf"{_ITEM}(?!\[[ xX]\]\s)")
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(r"[ \t]*(```|~~~)")


class Checkbox(NamedTuple):
    """A ticked or unticked item of a Markdown list."""

    line: int
    headings: tuple[str, ...]
    """The headings above the item, top level first."""
    depth: int
    """The indentation in columns."""
    done: bool
    text: str

    @staticmethod
    def missing(text: str) -> int:
        """Return the number of unindented Markdown list items without check boxes."""
        return sum(_UNMARKED.match(line) is not None for _, line in _outside_code(text))


def read_text(file: Path, *, below: Path | None = None) -> str:
    """Return the text of a regular file reached from `below` without links."""
    return files.decoded(plain_bytes(file, below=below), file=str(file))


def load_json(file: Path, *, below: Path | None = None) -> Any:
    """Return a JSON file's data; errors contain the file name."""
    return files.load(plain_bytes(file, below=below), file=str(file))


def load_yaml(file: Path, *, below: Path | None = None) -> Any:
    """Return a YAML file's data (core schema only); errors contain the line number."""
    return files.yaml_of(plain_bytes(file, below=below), file=str(file))


def load_json_lines(
    file: Path, *, below: Path | None = None
) -> tuple[list[tuple[int, dict[str, Any]]], list[Unread]]:
    """Return each object with its line number, and the lines that are not objects."""
    return json_lines(plain_bytes(file, below=below), file=str(file))


def checkboxes(text: str) -> Iterator[Checkbox]:
    """Yield the check box items in Markdown text, except those in code blocks."""
    headings: dict[int, str] = {}
    for number, line in _outside_code(text):
        if found := _HEADING.match(line):
            level = len(found[1])
            headings = {at: said for at, said in headings.items() if at < level}
            headings[level] = found[2].strip(" #")
        elif found := _BOX.match(line):
            above = tuple(headings[at] for at in sorted(headings))
            depth = len(found[1].expandtabs(4))
            yield Checkbox(number, above, depth, found[2] != " ", found[3].strip())


def _outside_code(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines outside code blocks with their numbers."""
    fence = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if found := _FENCE.match(line):
            fence = "" if fence == found[1] else fence or found[1]
        elif not fence:
            yield number, line
