"""Events read out of the pages of a damaged log, each for itself and without SQLite.

Every page is tried as a leaf of the table of events, whatever it says it is: what comes
out is believed only when it fits the hash chain, so nothing else has to be right.
"""

from collections.abc import Iterator
from struct import unpack_from

from sprintlog.stores import DOCUMENT_BYTES_MAX, RecordedEvent

from .page_images import Image, PageImages

COLUMNS = len(RecordedEvent.__struct_fields__)
ROW_BYTES_MAX = DOCUMENT_BYTES_MAX + 64 * 1024

_CELLS_BEGIN = 8
_INTEGER_BYTES = (0, 1, 2, 3, 4, 6, 8)
_PAYLOAD = RecordedEvent.__struct_fields__.index("payload")
_OBSERVED = RecordedEvent.__struct_fields__.index("observed")

Found = tuple[RecordedEvent, bool]
"""An event, and whether its page is known as committed."""


class PageRows:
    """Where in a log's pages the event of each position may be."""

    def __init__(self, pages: PageImages) -> None:
        self._pages = pages
        # One number for each place: a large log has millions of them.
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
        """Return every position that something was found for, in order."""
        return sorted(self._places)

    @property
    def last_plausible(self) -> int:
        """Return the last position that stands beside another one.

        A damaged number can name any position at all, but hardly one beside another.
        """
        return max((p for p in self._places if p == 1 or p - 1 in self._places), default=0)

    def at(self, position: int) -> Iterator[Found]:
        """Yield all that may be the event of a position, committed ones first."""
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
        """Yield what a cell says; more than once when its pages can be read in two ways."""
        if self._last[0] != place >> 16:
            self._last = place >> 16, self._pages.content(image)
        for record in self._records(self._last[1], place & 0xFFFF):
            event = _event(position, record)
            if event is not None:
                yield event

    def _records(self, page: bytes, offset: int) -> Iterator[bytes]:
        """Yield a cell's record, with what did not fit on its page."""
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
        """Return what is written on a chain of pages, as far as there are any."""
        parts = []
        while size > 0:
            page = self._pages.newest(number, committed=committed)
            if page is None:
                break
            parts.append(page[4 : 4 + min(size, room)])
            size -= room
            number = int.from_bytes(page[:4])
        return b"".join(parts)


def _cells(page: bytes) -> Iterator[tuple[int, int]]:
    """Yield position and offset of every cell that may hold an event.

    The list of their places ends at a zero, or where the first cell begins. The page's
    own count is believed only where it is more than that.
    """
    counted = min(_CELLS_BEGIN + 2 * int.from_bytes(page[3:5]), len(page))
    end, at = len(page), _CELLS_BEGIN
    while at + 2 <= max(end, counted):
        # As SQLite does it: of a place only what can be one on a page counts.
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
    """Tell whether a record begins with a header of as many columns as an event has."""
    size = record[0] if record else 0
    # Each column has a number, whose last byte is below 128; the position's is 0.
    kinds = record[1:size]
    return kinds[:1] == b"\0" and sum(kind < 0x80 for kind in kinds) == COLUMNS


def _event(position: int, record: bytes) -> RecordedEvent | None:
    """Return what a record says, or None when it is no event at all."""
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
    """Return kind and bytes of every column, as far as there are any."""
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
    """Return a number of SQLite's variable length, and where it ends."""
    value = 0
    for byte in content[at : at + 8]:
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    # The ninth byte is taken whole; none of our numbers is that long.
    return value << 8, at + 1
