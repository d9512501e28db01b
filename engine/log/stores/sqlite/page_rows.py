"""Reads events from all page images in a damaged log, without SQLite.

A page can have several images: one in the database, one in the write-ahead log for each
commit that changed it, and one in a rollback journal from before its change. SQLite shows
only one of them, and none beyond the first damaged one. Each image is read as a leaf of the
event table, regardless of its header, because the caller accepts only events that match the
hash chain. The formats are described in https://www.sqlite.org/fileformat2.html.
"""

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from struct import unpack_from
from typing import NamedTuple

from ...envelope import DOCUMENT_BYTES_MAX, RecordedEvent

PAGE_BYTES = 4096
"""The page size that is assumed if the database's header is unreadable."""
SUFFIXES = ("", "-wal", "-journal")
"""The suffixes of the log's three files."""

_MAGIC = b"SQLite format 3\0"
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_WAL_HEADER, _FRAME_HEADER = 32, 24
_DATABASE, _WAL, _JOURNAL = range(3)

Sums = tuple[int, int]


class Image(NamedTuple):
    """The location of a page image, and whether the image was committed."""

    file: int
    offset: int
    number: int
    committed: bool
    """False if a crash or earlier damage makes this uncertain."""


class PageImages:
    """The images of all pages in a log, read without writing, locking or recovering it."""

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
        """Close all files."""
        for descriptor in self._descriptors:
            if descriptor is not None:
                with suppress(OSError):
                    os.close(descriptor)
        self._descriptors.clear()

    @property
    def unread(self) -> int:
        """Return the number of locations that could not be read from the disk."""
        return len(self._unread)

    def header(self) -> bytes | None:
        """Return the database's header; None if it is damaged."""
        found = (self.newest(1, committed=True) or b"")[:100]
        return found if _is_known(found) else None

    def content(self, image: Image) -> bytes:
        """Return an image's bytes, padded with zeros if the disk fails or the file ends."""
        found = self._bytes(image.file, image.offset, self.page_bytes)
        return found.ljust(self.page_bytes, b"\0")

    def newest(self, number: int, *, committed: bool) -> bytes | None:
        """Return the newest bytes of a page, or None if there are none."""
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
        """Yield the page images from before an unfinished commit."""
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

        SQLite stops at the first damaged frame. Here, checking continues with the checksum
        stored in that frame, so later frames are valid if all frames in their commit are
        valid.
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
        """Return the readable bytes: fewer at the file's end, none in a bad sector."""
        if (descriptor := self._descriptors[file]) is None:
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
    """Return the page size, and the number of reserved bytes per page."""
    said = int.from_bytes(header[16:18])
    if not _is_known(header) or said & (said - 1) or not 512 <= said <= 32768:
        return PAGE_BYTES, 0
    return said, min(header[20], 32)


def _added(content: bytes, sums: Sums, order: str) -> Sums:
    """Return a write-ahead log checksum, extended by more bytes."""
    first, second = sums
    whole = len(content) // 8 * 8
    for one, other in struct.iter_unpack(order + "II", content[:whole]):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


def _sums(stored: bytes) -> Sums:
    first, second = struct.unpack(">II", stored.ljust(8, b"\0"))
    return first, second


COLUMNS = len(RecordedEvent.__struct_fields__)
ROW_BYTES_MAX = DOCUMENT_BYTES_MAX + 64 * 1024

_CELLS_BEGIN = 8
_INTEGER_BYTES = (0, 1, 2, 3, 4, 6, 8)
_PAYLOAD = RecordedEvent.__struct_fields__.index("payload")
_OBSERVED = RecordedEvent.__struct_fields__.index("observed")

Found = tuple[RecordedEvent, bool]
"""An event, and whether its page is known to be committed."""


class PageRows:
    """The possible locations of each position's event in a log's pages."""

    def __init__(self, pages: PageImages) -> None:
        self._pages = pages
        # One number per location, because a large log has millions of them.
        self._places: dict[int, int] = {}
        self._further: dict[int, list[int]] = {}
        self._last: tuple[int, bytes] = (-1, b"")
        for index, image in enumerate(pages.images):
            for position, offset in _cells(pages.content(image)):
                self._add(position, index << 16 | offset)

    def _add(self, position: int, place: int) -> None:
        if self._places.setdefault(position, place) != place:
            self._further.setdefault(position, []).append(place)

    @property
    def positions(self) -> list[int]:
        """Return all positions for which data was found, in order."""
        return sorted(self._places)

    @property
    def last_plausible(self) -> int:
        """Return the last position that is adjacent to another position.

        A number read from damaged data can be any position, but is unlikely to be adjacent
        to another one.
        """
        return max((p for p in self._places if p == 1 or p - 1 in self._places), default=0)

    def at(self, position: int) -> Iterator[Found]:
        """Yield all candidates for the event at a position, committed ones first."""
        first = self._places.get(position)
        places = [] if first is None else [first, *self._further.get(position, ())]
        found = [(place, self._pages.images[place >> 16]) for place in places]
        seen: list[RecordedEvent] = []
        for committed in (True, False):
            for place, image in found:
                if image.committed is not committed:
                    continue
                for event in self._read(position, place, image):
                    if event not in seen:
                        seen.append(event)
                        yield event, committed

    def _read(self, position: int, place: int, image: Image) -> Iterator[RecordedEvent]:
        """Yield a cell's events; there are several if its pages can be read in two ways."""
        if self._last[0] != place >> 16:
            self._last = place >> 16, self._pages.content(image)
        for record in self._records(self._last[1], place & 0xFFFF):
            if (event := _event(position, record)) is not None:
                yield event

    def _records(self, page: bytes, offset: int) -> Iterator[bytes]:
        """Yield a cell's record, including the part on overflow pages."""
        size, begin = _varint(page, offset)
        _, begin = _varint(page, begin)
        for usable in self._pages.usable:
            most, least = usable - 35, (usable - 12) * 32 // 255 - 23
            if size <= most:
                yield page[begin : begin + size]
                continue
            local = least + (size - least) % (usable - 4)
            end = begin + (local if local <= most else least)
            number = int.from_bytes(page[end : end + 4])
            for committed in (True, False):
                more = self._overflow(
                    number, size - end + begin, usable - 4, committed=committed
                )
                yield page[begin:end] + more

    def _overflow(self, number: int, size: int, room: int, *, committed: bool) -> bytes:
        """Return the contents of a chain of overflow pages, up to a missing page."""
        parts = []
        while size > 0:
            if (page := self._pages.newest(number, committed=committed)) is None:
                break
            parts.append(page[4 : 4 + min(size, room)])
            size -= room
            number = int.from_bytes(page[:4])
        return b"".join(parts)


def _cells(page: bytes) -> Iterator[tuple[int, int]]:
    """Yield the position and offset of every cell that may contain an event.

    The array of cell offsets ends at a zero or at the first cell. The page's own cell count
    is used only if it is larger.
    """
    counted = min(_CELLS_BEGIN + 2 * int.from_bytes(page[3:5]), len(page))
    end, at = len(page), _CELLS_BEGIN
    while at + 2 <= max(end, counted):
        # As in SQLite: only the bits of an offset that a page can have are used.
        offset = unpack_from(">H", page, at)[0] & len(page) - 1
        at += 2
        if offset == 0 and at > counted:
            return
        if offset < at:
            continue
        size, begin = _varint(page, offset)
        position, begin = _varint(page, begin)
        if 0 < position < 2**62 and size <= ROW_BYTES_MAX and _may_begin(page[begin:]):
            end = min(end, offset)
            yield position, offset


def _may_begin(record: bytes) -> bool:
    """Return whether a record's header has the same number of columns as an event."""
    size = record[0] if record else 0
    # Each column has a number, whose last byte is below 128; the position's is 0.
    kinds = record[1:size]
    return kinds[:1] == b"\0" and sum(kind < 0x80 for kind in kinds) == COLUMNS


def _event(position: int, record: bytes) -> RecordedEvent | None:
    """Return the event in a record, or None if it is not an event."""
    columns = _columns(record)
    if len(columns) != COLUMNS:
        return None
    values = [_value(kind, content) for kind, content in columns]
    values[0] = position
    if columns[_PAYLOAD][0] > 11:
        values[_PAYLOAD] = columns[_PAYLOAD][1]
    if values[_OBSERVED] in (0, 1):
        values[_OBSERVED] = values[_OBSERVED] == 1
    return RecordedEvent(*values)  # type: ignore[arg-type]


def _columns(record: bytes) -> list[tuple[int, bytes]]:
    """Return the type and bytes of every column that can be read."""
    body, at = _varint(record, 0)
    columns = []
    while at < min(body, len(record)):
        kind, at = _varint(record, at)
        columns.append(kind)
    found = []
    for kind in columns:
        size = _INTEGER_BYTES[kind] if kind < 7 else kind // 2 - 6 if kind > 11 else 0
        content = record[body : body + size]
        if len(content) < size:
            break
        body += size
        found.append((kind, content))
    return found


def _value(kind: int, content: bytes) -> object:
    if kind in (8, 9):
        return kind - 8
    if 0 < kind < 7:
        return int.from_bytes(content, signed=True)
    if kind < 12:
        return None
    return content if kind % 2 == 0 else content.decode(errors="replace")


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """Return a variable-length integer in SQLite's format, and its end offset."""
    value = 0
    for byte in content[at : at + 8]:
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    # All bits of the ninth byte count, but no number in a log is that long.
    return value << 8, at + 1
