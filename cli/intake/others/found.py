"""What every reader of another loop's files gives back, and how JSON lines are read."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.masking import cut

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


def kept_of(line: bytes) -> str:
    """Return what is kept of a line; no cut goes through a secret."""
    text = line[: LINE_CHARS_KEPT + MARGIN_BYTES].decode("utf-8", "replace")
    return cut(text, LINE_CHARS_KEPT)


class JsonLines:
    """The objects of a file of JSON lines, and which of its lines were not understood."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.unread: list[Unread] = []
        self.understood = 0

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each object with the number of its line."""
        for number, line in enumerate(bytes_of(self.file).split(b"\n"), start=1):
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
    content = read_bytes(file, bytes_max=FILE_BYTES_MAX)
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
