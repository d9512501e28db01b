"""State files on disk: written whole or not at all, and edits by others noticed and kept.

A file is compared by digest, never by parsing: one whose bytes we ever wrote is merely
stale, any other was edited by somebody else (DESIGN.md section 5, drift).
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.stores.descriptors import give_back, read_whole
from sprintlog.engine.log.stores.sqlite_reading import SqliteReading

from .location import Location
from .replacing import forget_left_behind, left_behind, replace_file, swap_file

CHECKSUM_SUFFIX = ".checksum"
CHECKSUM_BYTES_MAX = 1024
EDITS = "edits"
LOCK = "files.lock"
MODE = 0o644


class Seen(NamedTuple):
    """What stands at a state file's path now."""

    content: bytes | None
    """None when there is no file."""
    digest: bytes
    since: int | None
    """The version whose bytes these are; None when we never wrote them."""

    @property
    def is_foreign(self) -> bool:
        """Tell whether somebody else wrote these bytes."""
        return self.content is not None and self.since is None


class StateFiles:
    """The state files of one work tree, and the digests of all we ever wrote."""

    def __init__(self, location: Location, log: SqliteReading) -> None:
        self._location = location
        self._log = log

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the one lock under which state files are compared and written."""
        descriptor = os.open(
            self._location.folder / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            give_back(descriptor)

    def resolve(self, path: str) -> Path:
        """Return where a state file is; raise `RefusedError` outside the work tree."""
        root = self._location.root.resolve()
        target = (root / path).resolve()
        if not target.is_relative_to(root):
            raise RefusedError(
                f"{path}: leads out of the work tree {root}", file=path, field="path"
            )
        return target

    def look(self, path: str) -> Seen:
        """Return what stands at a path, and whether we wrote it."""
        try:
            content = read_whole(self.resolve(path))
        except FileNotFoundError:
            return Seen(None, b"", None)
        except OSError as error:
            raise RefusedError(
                f"{path}: cannot be read: {error.strerror}", file=path
            ) from error
        return self._seen(path, content)

    def _seen(self, path: str, content: bytes) -> Seen:
        digest = sha256(content).digest()
        return Seen(content, digest, self.since(path, digest))

    def written(self, path: str) -> list[tuple[bytes, int]]:
        """Return what stood at a path: digest and version of each, newest first."""
        return list(
            self._log.rows(
                "SELECT digest, version FROM written WHERE path = ? ORDER BY version DESC",
                (path,),
            )
        )

    def newest(self, path: str, *, until: int) -> int:
        """Return the newest version ever written to a path; 0 when there is none."""
        ((version,),) = self._log.rows(
            "SELECT coalesce(max(version), 0) FROM written WHERE path = ? AND version <= ?",
            (path, until),
        )
        return int(version)

    def since(self, path: str, digest: bytes) -> int | None:
        """Return the version that these bytes were written for, None if never."""
        rows = self._log.rows(
            "SELECT version FROM written WHERE path = ? AND digest = ?", (path, digest)
        )
        return rows[0][0] if rows else None

    def known(self) -> set[str]:
        """Return the paths that we ever wrote to, in any work tree."""
        return {path for (path,) in self._log.rows("SELECT DISTINCT path FROM written")}

    def know(self, path: str, digest: bytes, *, version: int) -> None:
        """Keep the digest of bytes that stand for a version, before they are written."""
        self._log.rows(
            "INSERT INTO written (path, digest, version) VALUES (?, ?, ?)"
            " ON CONFLICT (path, digest) DO UPDATE SET version = excluded.version",
            (path, digest, version),
        )

    def write(self, path: str, content: bytes, *, version: int) -> Seen | None:
        """Write a state file whole or not at all, and its checksum where one exists.

        Return what was displaced if somebody else put it there after the last look. The
        digest is known first: a crash in between leaves a stale file, not an edit.
        """
        target = self.resolve(path)
        try:
            self.know(path, sha256(content).digest(), version=version)
            target.parent.mkdir(parents=True, exist_ok=True)
            displaced = swap_file(target, content, mode=MODE)
        except OSError as error:
            raise RefusedError(
                f"{path}: cannot be written: {error.strerror}",
                hint="the events are safe in the log; `sprintlog rebuild` writes the file",
                file=path,
            ) from error
        self.write_checksum(path, content)
        if displaced is None:
            return None
        seen = self._seen(path, displaced)
        return seen if seen.is_foreign else None

    def recover(self, path: str) -> Seen | None:
        """Return what a killed process had displaced, if somebody else wrote it.

        It stays aside until `forget_displaced`, so a second crash loses nothing either.
        """
        left = left_behind(self.resolve(path))
        if left is None:
            return None
        seen = self._seen(path, left)
        if seen.is_foreign:
            return seen
        self.forget_displaced(path)
        return None

    def forget_displaced(self, path: str) -> None:
        """Remove what a killed process had displaced; it is kept by now."""
        forget_left_behind(self.resolve(path))

    def write_checksum(self, path: str, content: bytes) -> None:
        """Bring the side file with the sha256 up to date, where one exists."""
        target = self.resolve(path)
        side = target.with_name(target.name + CHECKSUM_SUFFIX)
        text = sha256(content).hexdigest().encode()
        if side.is_file() and read_whole(side).strip() != text:
            replace_file(side, text, mode=MODE)

    def keep_edit(self, path: str, seen: Seen) -> str:
        """Keep somebody else's bytes in the log's folder; return the copy's name."""
        folder = self._location.folder / EDITS
        folder.mkdir(mode=0o700, exist_ok=True)
        name = _name_of_copy(path, seen.digest)
        copy = folder / name
        if not copy.exists():
            replace_file(copy, seen.content or b"", mode=0o600)
        return name

    def kept(self, path: str, digest: bytes) -> bytes | None:
        """Return bytes that were kept, by their digest; None where they are not whole."""
        try:
            content = read_whole(
                self._location.folder / EDITS / _name_of_copy(path, digest)
            )
        except OSError:
            return None
        return content if sha256(content).digest() == digest else None

    def checksum_says(self, path: str) -> str | None:
        """Return what the checksum beside a state file says; None where there is none."""
        target = self.resolve(path)
        side = target.with_name(target.name + CHECKSUM_SUFFIX)
        if not side.is_file():
            return None
        return read_whole(side, at_most=CHECKSUM_BYTES_MAX).decode(errors="replace").strip()


def _name_of_copy(path: str, digest: bytes) -> str:
    return f"{Path(path).stem}-{digest.hex()[:16]}{Path(path).suffix}"
