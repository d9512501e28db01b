"""How far a log was sent to an address: a small file beside the log for each."""

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from sprintlog.engine.adapters.folders import opened
from sprintlog.engine.adapters.replace import FilePlace, read_file, replace_file
from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.envelope import Head
from sprintlog.engine.log.port import EventStore

PREFIX, SUFFIX = "sent-", ".json"
NAME_CHARS = 16
_FILE_BYTES_MAX = 4096


class _Kept(msgspec.Struct, frozen=True):
    position: int
    hash: str


class Sent(NamedTuple):
    """Where it is kept how far something was sent."""

    file: Path

    @property
    def lock(self) -> str:
        """Return the name of the lock that only one sender has."""
        return f"{self.file.stem}.lock"

    def position(self, log: EventStore) -> int:
        """Return up to where it was sent; 0 at first.

        Raise `RefusedError` where that was another log, or the file says nothing.
        """
        try:
            with opened(self.file.parent) as folder:
                spot = FilePlace(folder, self.file.name)
                content = read_file(spot, at_most=_FILE_BYTES_MAX)
            kept = msgspec.json.decode(content, type=_Kept)
        except FileNotFoundError:
            return 0
        except (OSError, msgspec.DecodeError) as error:
            raise self._refused("cannot be read") from error
        if kept.position == 0:
            return 0
        found = next(log.read(after=kept.position - 1, until=kept.position), None)
        if found is None or found.hash.hex() != kept.hash:
            raise self._refused("is about another log")
        return kept.position

    def keep(self, head: Head) -> None:
        """Keep that all up to here was taken."""
        said = msgspec.json.encode(_Kept(head.position, head.hash.hex()))
        try:
            replace_file(self.file, said + b"\n", mode=0o600)
        except OSError as error:
            raise self._refused(f"cannot be written: {error.strerror}") from error

    def _refused(self, problem: str) -> RefusedError:
        return RefusedError(
            f"{self.file} {problem}",
            hint="remove it, and all is sent again",
            file=str(self.file),
        )


def sent_to(folder: Path, kind: str, url: str, stream: str | None) -> Sent:
    """Return where it is kept how far a log was sent to an address."""
    text = "\0".join((kind, url, stream or ""))
    name = sha256(text.encode()).hexdigest()[:NAME_CHARS]
    return Sent(folder / f"{PREFIX}{name}{SUFFIX}")
