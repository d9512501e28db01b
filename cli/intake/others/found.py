"""What every reader of another loop's files gives back, and how JSON lines are read."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import msgspec

from sprintlog.engine.errors import InvalidInputError, NotFoundError
from sprintlog.engine.log.stores.descriptors import held_open
from sprintlog.engine.masking import cut
from sprintlog.engine.sprint.iterations.facts import Fact

from ..files import read_bytes

FILE_BYTES_MAX = 64 * 1024 * 1024
"""A longer file of another loop is refused."""
LINE_CHARS_KEPT = 2_000
"""So much is kept of a line that was not understood."""
MARGIN_BYTES = 8 * 1024
"""Looked at behind what is kept, so that a secret is seen whole."""
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
        return cls(file, 0, problem, kept_of(msgspec.json.encode(what)))


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


def kept_of(line: bytes) -> str:
    """Return what is kept of a line; no cut goes through a secret."""
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
        content = (
            bytes_of(self.file)
            if self._below is None
            else plain_bytes(self.file, below=self._below)
        )
        for number, line in enumerate(content.split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                found = msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                found = None
            if isinstance(found, dict):
                self.understood += 1
                yield number, found
            else:
                self.refuse(number, "not a JSON object", line, was_understood=False)

    def refuse(
        self, number: int, problem: str, line: object, *, was_understood: bool = True
    ) -> None:
        """Take a line back: nobody knows what it says."""
        self.understood -= was_understood
        raw = line if isinstance(line, bytes) else msgspec.json.encode(line)
        text = kept_of(raw)
        self.unread.append(Unread(str(self.file), number, problem, text))

    def check(self) -> None:
        """Raise `InvalidInputError` where nothing at all was understood."""
        if self.understood:
            return
        if not self.unread:
            raise InvalidInputError("is empty", file=str(self.file))
        first = self.unread[0]
        raise InvalidInputError(first.problem, file=str(self.file), line=first.line)


def bytes_of(file: Path) -> bytes:
    """Return a file's bytes; raise `InvalidInputError` for one that is too long."""
    return _within(read_bytes(file, bytes_max=FILE_BYTES_MAX), file)


def plain_bytes(file: Path, *, below: Path | None = None) -> bytes:
    """Return the bytes of a file that nobody named: whoever put it there may be hostile.

    It must be a plain file, and `below` a folder by no link.
    """
    folder = file.parent if below is None else below
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    check_no_link(file, below=folder)
    try:
        with held_open(file, flags) as held:
            if not stat.S_ISREG(os.fstat(held).st_mode):
                raise InvalidInputError("is no file", file=str(file))
            with open(held, "rb", closefd=False) as opened:
                return _within(opened.read(FILE_BYTES_MAX + 1), file)
    except FileNotFoundError as error:
        raise NotFoundError(f"{file}: there is no such file", file=str(file)) from error
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise InvalidInputError(problem, file=str(file)) from error


def check_no_link(file: Path, *, below: Path) -> None:
    """Raise `InvalidInputError` where a file is reached by a link within a folder."""
    inner = [part for part in file.parents if below in part.parents]
    if any(part.is_symlink() for part in (file, *inner)):
        raise InvalidInputError("is a link, which is not followed", file=str(file))


def _within(content: bytes, file: Path) -> bytes:
    if len(content) > FILE_BYTES_MAX:
        limit = FILE_BYTES_MAX // 2**20
        raise InvalidInputError(f"is longer than {limit} MiB", file=str(file))
    return content


def name_from(*texts: object) -> str:
    """Return the id of a sprint made of the first text that has letters for one."""
    for text in texts:
        name = _UNNAMED.sub("-", str(text or "").lower()).strip("-._")[:60]
        if name:
            return name
    return "imported"
