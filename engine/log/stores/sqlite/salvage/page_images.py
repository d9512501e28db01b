"""All images of pages in a log's files, read as bytes without SQLite.

A page can have several images: in the database, in the write-ahead log once for each
commit that changed it, and in a rollback journal before its change. SQLite shows only one
of them, up to the first damaged one; a rescue needs them all. The formats are described in
https://www.sqlite.org/fileformat2.html.
"""

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PAGE_BYTES = 4096
"""The size of a page if the database's header is unreadable."""
SUFFIXES = ("", "-wal", "-journal")
"""The suffixes of the three files."""

_MAGIC = b"SQLite format 3\0"
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_WAL_HEADER, _FRAME_HEADER = 32, 24
_DATABASE, _WAL, _JOURNAL = range(3)

Sums = tuple[int, int]


class Image(NamedTuple):
    """The place of one image of a page, and whether it was committed."""

    file: int
    offset: int
    number: int
    committed: bool
    """False if a crash, or damage before it, leaves that in doubt."""


class PageImages:
    """The images of all pages of one log; nothing is written, locked or recovered."""

    def __init__(self, path: Path) -> None:
        self._descriptors: list[int | None] = []
        self._unread: set[tuple[int, int]] = set()
        try:
            for suffix in SUFFIXES:
                self._descriptors.append(_open(path.with_name(path.name + suffix)))
            header = self._bytes(_DATABASE, 0, 100)
        except BaseException:
            self.close()
            raise
        self.page_bytes, reserved = _shape(header)
        self.usable = sorted({self.page_bytes - reserved, self.page_bytes}, reverse=True)
        """The possible sizes of a page's usable part; a damaged header may misstate it."""
        self.images = [*self._of_database(), *self._of_journal(), *self._of_wal()]
        self._newest = {image.number: image for image in self.images}
        self._committed = {i.number: i for i in self.images if i.committed}

    def close(self) -> None:
        """Close the files."""
        for descriptor in self._descriptors:
            if descriptor is not None:
                with suppress(OSError):
                    os.close(descriptor)
        self._descriptors.clear()

    @property
    def unread(self) -> int:
        """Return the number of places that the disk failed to read."""
        return len(self._unread)

    def header(self) -> bytes | None:
        """Return the database's header; None if it is damaged."""
        found = (self.newest(1, committed=True) or b"")[:100]
        return found if _is_known(found) else None

    def content(self, image: Image) -> bytes:
        """Return a page's bytes, filled with zeros if the disk fails or the file ends."""
        found = self._bytes(image.file, image.offset, self.page_bytes)
        return found.ljust(self.page_bytes, b"\0")

    def newest(self, number: int, *, committed: bool) -> bytes | None:
        """Return the newest bytes of a page, or None."""
        image = (self._committed if committed else self._newest).get(number)
        return self.content(image) if image else None

    def _of_database(self) -> Iterator[Image]:
        # A page with an older image in a journal, or a new page, may be uncommitted.
        older = {image.number for image in self._of_journal()}
        last = int.from_bytes(self._bytes(_JOURNAL, 16, 4)) if older else None
        for offset in range(0, self._size(_DATABASE), self.page_bytes):
            number = offset // self.page_bytes + 1
            committed = last is None or (number <= last and number not in older)
            yield Image(_DATABASE, offset, number, committed)

    def _of_journal(self) -> Iterator[Image]:
        """Yield the images of pages before an unfinished commit."""
        header = self._bytes(_JOURNAL, 0, 28)
        if not header.startswith(_JOURNAL_MAGIC) or len(header) < 28:
            return
        nonce, _, sector, page_bytes = struct.unpack(">4I", header[12:])
        if page_bytes != self.page_bytes:
            return
        record = 4 + page_bytes + 4
        end = self._size(_JOURNAL) - record
        for offset in range(max(sector, 28), end + 1, record):
            found = self._bytes(_JOURNAL, offset, record)
            page = found[4:-4]
            added = sum(page[place] for place in range(page_bytes - 200, 0, -200))
            if (nonce + added) & 0xFFFFFFFF != int.from_bytes(found[-4:]):
                return
            yield Image(_JOURNAL, offset + 4, int.from_bytes(found[:4]), True)

    def _of_wal(self) -> Iterator[Image]:
        """Yield the frames, each checked against its predecessor.

        SQLite stops at the first damaged frame. Here the checksum stored in that frame
        starts the next comparison, so that later frames are valid if all frames of their
        commit are.
        """
        header = self._bytes(_WAL, 0, _WAL_HEADER)
        order = ">" if header[3:4] and header[3] & 1 else "<"
        sums = _added(header[:24], (0, 0), order)
        salts = header[16:24]
        if sums != _sums(header[24:]):
            salts = self._bytes(_WAL, _WAL_HEADER + 8, 8)
        transaction: list[Image] = []
        whole = True
        step = _FRAME_HEADER + self.page_bytes
        for offset in range(_WAL_HEADER, self._size(_WAL) - _FRAME_HEADER, step):
            frame = self._bytes(_WAL, offset, step).ljust(_FRAME_HEADER, b"\0")
            stored = _sums(frame[16:24])
            added = _added(frame[24:], _added(frame[:8], sums, order), order)
            whole &= len(frame) == step and frame[8:16] == salts and added == stored
            number, pages_after_commit = struct.unpack(">2I", frame[:8])
            transaction.append(Image(_WAL, offset + _FRAME_HEADER, number, False))
            if pages_after_commit:
                yield from (image._replace(committed=whole) for image in transaction)
                transaction, whole = [], True
            sums = stored
        yield from transaction

    def _size(self, file: int) -> int:
        descriptor = self._descriptors[file]
        return 0 if descriptor is None else os.fstat(descriptor).st_size

    def _bytes(self, file: int, offset: int, count: int) -> bytes:
        """Return the readable bytes: fewer at the end, none in a bad sector."""
        descriptor = self._descriptors[file]
        if descriptor is None:
            return b""
        try:
            return os.pread(descriptor, count, offset)
        except OSError:
            self._unread.add((file, offset))
            return b""


def _open(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None


def _is_known(header: bytes) -> bool:
    return header.startswith(_MAGIC) and len(header) == 100


def _shape(header: bytes) -> tuple[int, int]:
    """Return the size of a page, and the number of reserved bytes in it."""
    said = int.from_bytes(header[16:18])
    if not _is_known(header) or said & (said - 1) or not 512 <= said <= 32768:
        return PAGE_BYTES, 0
    return said, min(header[20], 32)


def _added(content: bytes, sums: Sums, order: str) -> Sums:
    """Return the write-ahead log's checksum, continued over more bytes."""
    first, second = sums
    whole = len(content) // 8 * 8
    for one, other in struct.iter_unpack(order + "II", content[:whole]):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


def _sums(stored: bytes) -> Sums:
    first, second = struct.unpack(">II", stored.ljust(8, b"\0"))
    return first, second
