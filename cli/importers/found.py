"""What every reader of another loop's files gives back, and how JSON lines are read."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import msgspec

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.log.stores.descriptors import held_open
from sprintlog.engine.masking import cut
from sprintlog.engine.sprint.iterations.facts import Fact

from ..intake.files import opening, read_bytes, within, without_mark

FILE_BYTES_MAX = 64 * 1024 * 1024
"""A longer file of another loop is refused."""
ITERATIONS_MAX = 10_000
"""No iteration has a higher number: each becomes an event."""
LINE_CHARS_KEPT = 2_000
"""So much is kept of a line that was not understood."""
MARGIN_BYTES = 8 * 1024
"""Looked at behind what is kept, so that a secret is seen whole."""
_OF_TOOLS = {"tasks", "scripts", "ralph", "docs"}
"""Folders that hold the files of a loop."""
_UNNAMED = re.compile(r"[^a-z0-9._-]+")


class Unread(NamedTuple):
    """A line, or a part of a file, that was not understood."""

    file: str
    line: int
    """0 where it is no line."""
    problem: str
    text: str

    @classmethod
    def of(cls, file: str, problem: str, what: object) -> Self:
        """Return a part that is data."""
        return cls(file, 0, problem, kept_of(what))


class FoundLoop(NamedTuple):
    """What the files of a loop say."""

    name: str
    """What its sprint may be called."""
    goal: str
    facts: list[Fact]
    found: dict[str, int]
    unread: list[Unread]
    max_iterations: int = 0
    """How many the loop allows; 0 for no limit."""
    more: Mapping[str, Any] = MappingProxyType({})
    """What else is kept in the sprint's document."""


def kept_of(what: object) -> str:
    """Return what is kept of a line, or of data; no cut goes through a secret."""
    line = what if isinstance(what, bytes) else msgspec.json.encode(what)
    text = line[: LINE_CHARS_KEPT + MARGIN_BYTES].decode("utf-8", "replace")
    return cut(text, LINE_CHARS_KEPT)


class JsonLines:
    """The objects of a file of JSON lines, and which of its lines were not understood."""

    def __init__(self, file: Path, *, below: Path | None = None) -> None:
        self.file = file
        self._below = below
        self.unread: list[Unread] = []
        self.understood = 0

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each object with the number of its line."""
        content = bytes_of(self.file, below=self._below)
        for number, line in enumerate(content.split(b"\n"), start=1):
            if not line.strip():
                continue
            if isinstance(found := json_of(line), dict):
                self.understood += 1
                yield number, found
            else:
                self.refuse(number, "not a JSON object", line, was_understood=False)

    def refuse(
        self, number: int, problem: str, line: object, *, was_understood: bool = True
    ) -> None:
        """Take a line back: nobody knows what it says."""
        self.understood -= was_understood
        self.unread.append(Unread(str(self.file), number, problem, kept_of(line)))

    def check(self) -> None:
        """Raise `InvalidInputError` where nothing at all was understood."""
        if self.understood:
            return
        if not self.unread:
            raise InvalidInputError("is empty", file=str(self.file))
        first = self.unread[0]
        raise InvalidInputError(first.problem, file=str(self.file), line=first.line)


def json_of(text: bytes) -> Any:
    """Return the data of a text in JSON; None if it is not JSON."""
    try:
        return msgspec.json.decode(without_mark(text))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def bytes_of(file: Path, *, below: Path | None = None) -> bytes:
    """Return a file's bytes; raise `InvalidInputError` for one that is too long.

    One that was found in the folder `below` must be a plain file that no link leads to.
    """
    if below is not None:
        return plain_bytes(file, below=below)
    content = read_bytes(file, bytes_max=FILE_BYTES_MAX)
    return within(FILE_BYTES_MAX, content, file=str(file))


def plain_bytes(file: Path, *, below: Path | None = None) -> bytes:
    """Return the bytes of a file that nobody named: whoever put it there may be hostile.

    It must be a plain file, and `below` a folder by no link.
    """
    folder = file.parent if below is None else below
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    check_no_link(file, below=folder)
    with opening(file), held_open(file, flags) as held:
        if not stat.S_ISREG(os.fstat(held).st_mode):
            raise InvalidInputError("is no file", file=str(file))
        with open(held, "rb", closefd=False) as opened:
            content = opened.read(FILE_BYTES_MAX + 1)
    return within(FILE_BYTES_MAX, content, file=str(file))


def check_no_link(file: Path, *, below: Path) -> None:
    """Raise `InvalidInputError` where a file is reached by a link within a folder."""
    inner = [part for part in file.parents if below in part.parents]
    if any(part.is_symlink() for part in (file, *inner)):
        raise InvalidInputError("is a link, which is not followed", file=str(file))


def folder_of(file: Path) -> str:
    """Return the name of the project that a file is of: folders of tools are skipped."""
    names = (folder.name for folder in file.resolve().parents)
    return next((x for x in names if x not in _OF_TOOLS and not x.startswith(".")), "")


def name_from(*texts: object) -> str:
    """Return the id of a sprint made of the first text that has letters for one."""
    for text in texts:
        name = _UNNAMED.sub("-", str(text or "").lower()).strip("-._")[:60]
        if name:
            return name
    return "imported"
