"""State files on disk, written atomically; third-party edits are detected and stored.

Files are compared by digest, never by parsing. A file with content that sprintlog once
wrote is stale; any other file was edited by a third party.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from sprintlog.engine import hashes
from sprintlog.engine.adapters import replace
from sprintlog.engine.adapters.folders import opened_below
from sprintlog.engine.errors import BusyError, RefusedError
from sprintlog.engine.log.port import Digests, Locks
from sprintlog.engine.log.stores.descriptors import read_whole
from sprintlog.engine.service.place.location import CHECKSUM_SUFFIX, Location, wrong_place
from sprintlog.engine.service.port import Service

if TYPE_CHECKING:
    from .kept_blocks import KeptBlocks
    from .sums import Sum

CHECKSUM_BYTES_MAX = 1024
EDITS = "edits"
FINISHED = "finished"
"""The folder of the last state files of finished sprints whose paths were reused."""
LOCK = "files.lock"
SAFE = "the events are safe in the log; run `sprintlog rebuild` to write the file"
IN_THE_WAY = (
    "the events are safe in the log; move the existing file "
    "elsewhere, then run `sprintlog rebuild`"
)
_EDIT_OF = "/edit of/"
"""The prefix of an unsettled edit's path; no state file's path starts with it."""


class Seen(msgspec.Struct, frozen=True):
    """The current content at a state file's path."""

    content: bytes | None
    """None if there is no file."""
    digest: bytes
    since: int | None
    """The version with this content; None if sprintlog never wrote it."""

    @property
    def is_foreign(self) -> bool:
        """Return whether the content was written by a program other than sprintlog."""
        return self.content is not None and self.since is None


class WrittenFiles:
    """The state files in a work tree, and the digests of everything written to them."""

    def __init__(self, location: Location, digests: Digests, locks: Locks) -> None:
        self.digests = digests
        self._location = location
        self._locks = locks
        self._hashed: dict[str, list[tuple[bytes, bytes]]] = {}
        """The contents of each path with their digests, newest last."""
        self._stood: dict[str, bytes] = {}
        """The contents of each path when it was last read or written."""
        self._looked: dict[str, Seen] = {}
        """The contents found at each path since it was last written."""
        self._statuses: dict[str, replace.FileStatus | None] = {}
        """The statuses of the files immediately after they were last written."""
        self._sums: dict[str, Sum] = {}

    @cached_property
    def blocks(self) -> "KeptBlocks":
        """Return the stored blocks of large files."""
        # Imported here: most files are generated completely.
        from .kept_blocks import KeptBlocks

        return KeptBlocks(self._location.folder)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock under which all state files are compared and written."""
        with ExitStack() as stack:
            try:
                stack.enter_context(self._locks.hold(LOCK))
            except BusyError as error:
                # Recording has succeeded, so this must not be reported as a conflict.
                raise RefusedError(error.message, hint=SAFE, **error.fields) from error
            yield

    @cached_property
    def _ours(self) -> os.stat_result:
        return os.stat(self._location.folder)

    @contextmanager
    def _spot(self, path: str, *, make: bool = False) -> Iterator[replace.FilePlace]:
        """Open the folder of a state file below the work tree, without following links.

        Raise `RefusedError` for an invalid path, which a third-party log may contain.
        """
        if problem := wrong_place(path):
            raise RefusedError(f"{path}: {problem}", file=path, field="path")
        folder, _, name = path.rpartition("/")
        with opened_below(self._location.root, folder, make=make) as descriptor:
            if os.path.samestat(os.fstat(descriptor), self._ours):
                raise RefusedError(f"{path}: is in the folder of the log", file=path)
            yield replace.FilePlace(descriptor, name)

    def look(self, path: str) -> Seen:
        """Return the content at a path, and whether sprintlog wrote it."""
        with naming(path, "cannot be read"):
            try:
                with self._spot(path) as spot:
                    content = replace.read_file(spot, like=self._stood.get(path, b""))
            except FileNotFoundError:
                return Seen(None, b"", None)
        if content != self._stood.get(path):
            # Whatever the file's status, sprintlog did not write this content.
            self._statuses.pop(path, None)
        self._stood[path] = content
        seen = self._looked[path] = self._seen(path, content)
        return seen

    def look_at_status(self, path: str) -> Seen | None:
        """Return the content last written by this process if the file's status is the same.

        This is probably the current content. The caller must then call `look`, or `write`,
        which compares all bytes with it.
        """
        known = self._statuses.get(path)
        if known is None:
            return None
        gone = suppress(FileNotFoundError)
        with naming(path, "cannot be read"), gone, self._spot(path) as spot:
            if replace.status_of(spot) == known:
                return self._seen(path, self._stood[path])
        return None

    def digest(self, path: str, content: bytes) -> bytes:
        """Return the SHA-256 of a path's current or future content.

        The most recently hashed content is recognized by comparison, which takes a tenth of
        the time.
        """
        hashed = self._hashed.setdefault(path, [])
        for known, digest in hashed:
            if known == content:
                return digest
        if len(content) > hashes.LITTLE_BYTES:
            hashes.hash_much()
        found = hashes.sha256(content).digest()
        hashed[:] = [*hashed[-1:], (content, found)]
        return found

    def digest_after(self, path: str, content: bytes, *, like: bytes, same: int) -> bytes:
        """Return the digest of content whose first `same` bytes equal those of `like`.

        Long-running processes use this to hash only the end of the content.
        """
        if content == like:
            return self.digest(path, content)
        if (known := self._sums.get(path)) is None:
            # Imported here: a process that ends hashes the whole file once.
            from .sums import Sum

            known = self._sums[path] = Sum()
        digest = known.digest(content, like=like, same=same)
        self._hashed[path] = [*self._hashed.get(path, [])[-1:], (content, digest)]
        return digest

    def _seen(self, path: str, content: bytes) -> Seen:
        digest = self.digest(path, content)
        return Seen(content, digest, self.digests.since(path, digest))

    def edited_version(self, path: str, digest: bytes, *, newest: int) -> int:
        """Return the version on which an edit is based.

        This is the version that was newest when the edit was first seen. It does not change
        until `settle` is called, even if files are written or processes are killed.
        """
        key = _EDIT_OF + path
        if (known := self.digests.since(key, digest)) is None:
            self.digests.know(key, digest, version=newest)
            return newest
        return known

    def settle(self, path: str) -> None:
        """Forget displaced files and edits, which have all been stored by now."""
        self.digests.forget(_EDIT_OF + path)
        with self._spot(path) as spot:
            replace.forget_left_behind(spot)

    def write(self, path: str, content: bytes, *, version: int) -> Seen | None:
        """Write a state file atomically, and its checksum file if there is one.

        Return the displaced file if another process wrote it after the last check; `settle`
        removes it. The digest is stored first, so that a crash in between results in a
        stale file rather than an edit.
        """
        with naming(path, "cannot be written"), self._spot(path, make=True) as spot:
            digest = self.digest(path, content)
            self.digests.know(path, digest, version=version)
            displaced = replace.swap_file(spot, content, like=self._stood.get(path, b""))
            seen = self._looked.pop(path, None)
            if displaced is None:
                seen = None
            elif seen is None or seen.content != displaced:
                seen = self._seen(path, displaced)
            if seen is None or not seen.is_foreign:
                seen = None
                replace.forget_left_behind(spot)
            # If the file system cannot exchange files, the next look must read the file.
            is_exchanged = displaced is not None and seen is None
            self._statuses[path] = replace.status_of(spot) if is_exchanged else None
            _write_checksum(spot, digest)
        # The content is known, so it need not be read again.
        self._hashed[path], self._stood[path] = [(content, digest)], content
        return seen

    def recover(self, path: str) -> Seen | None:
        """Return the content moved by a process that was killed, if a third party wrote it.

        The moved file remains until `settle` is called, so that a second crash loses
        nothing.
        """
        with suppress(FileNotFoundError), self._spot(path) as spot:
            left = replace.left_behind(spot)
            seen = None if left is None else self._seen(path, left)
            if seen is None or seen.is_foreign:
                return seen
            replace.forget_left_behind(spot)
        return None

    def write_checksum(self, path: str, content: bytes) -> None:
        """Update the checksum file, if there is one."""
        with self._spot(path) as spot:
            _write_checksum(spot, self.digest(path, content))

    def keep_edit(self, path: str, seen: Seen) -> str:
        """Store third-party content in the log's folder; return the copy's name."""
        folder = self._location.folder / EDITS
        folder.mkdir(mode=0o700, exist_ok=True)
        name = _name_of_copy(path, seen.digest)
        copy = folder / name
        if not copy.exists():
            replace.replace_file(copy, seen.content or b"", mode=0o600)
        return name

    def hand_over(self, path: str, *, of: str) -> None:
        """Store a finished sprint's last file in the log's folder, which frees its path.

        The file then counts as older than the new content, not as edited.
        """
        # Imported here: no other command encodes a sprint id in a file name.
        from urllib.parse import quote

        seen = self.look(path)
        if seen.content is not None:
            folder = self._location.folder / FINISHED
            folder.mkdir(mode=0o700, exist_ok=True)
            kept = folder / f"{quote(of, safe='')}.{Path(path).name}"
            replace.replace_file(kept, seen.content, mode=0o600)
        self.digests.forget(path)
        if seen.content is not None:
            self.digests.know(path, seen.digest, version=0)

    def kept(self, path: str, digest: bytes) -> bytes | None:
        """Return the stored content with the given digest; None if missing or damaged."""
        copy = self._location.folder / EDITS / _name_of_copy(path, digest)
        with suppress(OSError):
            content = read_whole(copy)
            return content if hashes.sha256(content).digest() == digest else None
        return None

    def checksum_says(self, path: str) -> str | None:
        """Return the checksum stored with a state file, or None if there is none."""
        with suppress(FileNotFoundError, replace.NotPlainError), self._spot(path) as spot:
            text = replace.read_file(_checksum(spot), at_most=CHECKSUM_BYTES_MAX)
            return text.decode(errors="replace").strip()
        return None


class FilesService(Service, Protocol):
    """A workspace with its files on disk."""

    files: WrittenFiles


@contextmanager
def naming(path: str, problem: str) -> Iterator[None]:
    """Convert a system error into an error that names the state file and a remedy."""
    try:
        yield
    except OSError as error:
        stands_there = error.errno in (errno.ENOTDIR, errno.ELOOP, errno.EFBIG)
        raise RefusedError(
            f"{path}: {problem}: {error.strerror}",
            hint=IN_THE_WAY
            if isinstance(error, replace.NotPlainError) or stands_there
            else SAFE,
            file=path,
        ) from error


def _name_of_copy(path: str, digest: bytes) -> str:
    return f"{Path(path).stem}-{digest.hex()[:16]}{Path(path).suffix}"


def _checksum(spot: replace.FilePlace) -> replace.FilePlace:
    return spot.beside(spot.name + CHECKSUM_SUFFIX)


def _write_checksum(spot: replace.FilePlace, digest: bytes) -> None:
    side = _checksum(spot)
    text = digest.hex().encode()
    with suppress(FileNotFoundError, replace.NotPlainError):
        if replace.read_file(side, at_most=CHECKSUM_BYTES_MAX).strip() != text:
            replace.replace_in(side, text)
