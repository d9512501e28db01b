"""A text that is looked for in files, and how their bytes may say it."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from sprintlog.engine.errors import InvalidInputError

from ..sql.proof import plain_file

_CHUNK = 1 << 20


class Needle:
    """A text that is looked for, in all the ways in which it is written down."""

    def __init__(self, text: str) -> None:
        if not text or "\n" in text:
            raise InvalidInputError("give one line of text", field="text")
        quoted = msgspec.json.encode(text)[1:-1]
        self.forms = tuple({text.encode(), quoted, text.replace("'", "''").encode()})
        """As it is, as JSON and as YAML quote it."""

    def is_in(self, content: bytes) -> bool:
        """Tell whether bytes hold the text."""
        return any(form in content for form in self.forms)

    def is_in_file(self, path: Path) -> bool:
        """Tell whether a plain file holds the text, in its name or in its bytes."""
        if self.is_in(os.fsencode(path.name)):
            return True
        before = b""
        with plain_file(path) as file:
            while chunk := file.read(_CHUNK):
                if self.is_in(before + chunk):
                    return True
                before = (before + chunk)[1 - max(map(len, self.forms)) :]
        return False


def files_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield every plain file below a folder, with its path from there."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(folder).as_posix(), path
