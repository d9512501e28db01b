"""Collects output of any length: its start, its end and its digest."""

import re
from collections.abc import Callable
from hashlib import sha256

from ...masking import masked_spans

HEAD_BYTES = 8 * 1024
TAIL_BYTES = 24 * 1024
MARGIN_BYTES = 8 * 1024
"""The number of bytes kept around a cut, so that tokens at the cut are recognized."""

_TAIL_KEPT = TAIL_BYTES + MARGIN_BYTES


class Output:
    """Collects output incrementally, and stores only the parts that will be shown."""

    def __init__(self, listen: Callable[[bytes], None] = lambda chunk: None) -> None:
        self._listen = listen
        """Called with each chunk."""
        self.bytes = 0
        """The number of bytes received."""
        self._missed = 0
        self._digest = sha256()
        self._head = bytearray()
        self._tail = bytearray()

    @property
    def sha256(self) -> str | None:
        """Return the output's SHA-256 in hexadecimal; None if some output was missed."""
        return None if self._missed else self._digest.hexdigest()

    def miss(self, count: int) -> None:
        """Count bytes that were lost after the last bytes received."""
        self.bytes += count
        self._missed += count

    def feed(self, chunk: bytes) -> None:
        """Process the next bytes."""
        self.bytes += len(chunk)
        self._digest.update(chunk)
        room = HEAD_BYTES + MARGIN_BYTES - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > 8 * _TAIL_KEPT:
            del self._tail[:-_TAIL_KEPT]
        self._listen(chunk)

    def text(self) -> str:
        """Return the output as text; long output is shortened in the middle, with a note.

        Bytes that are not UTF-8 become lone surrogates, as in file names. A cut never
        splits a character or a token that would be masked; a token at a cut is omitted.
        """
        if self._missed:
            return f"{self._kept()}\n{note(f'{self._missed} bytes not recorded')}\n"
        return self._kept()

    def _kept(self) -> str:
        head, tail = bytes(self._head), bytes(self._tail[-_TAIL_KEPT:])
        seen = self.bytes - self._missed
        if len(head) + len(tail) == seen:
            return _decoded(head + tail)
        first = _cut_before(_decoded(head), len(_decoded(head[:HEAD_BYTES])))
        last = _cut_after(_decoded(tail), len(_decoded(tail[-TAIL_BYTES:])))
        out = seen - len(_encoded(first)) - len(_encoded(last))
        return f"{first}\n{note(f'{out} bytes left out')}\n{last}"


def note(text: str) -> str:
    """Return a note from sprintlog that can be inserted into output."""
    return f"[sprintlog: {text}]"


def _cut_before(text: str, end: int) -> str:
    for first, last in sorted(masked_spans(text), reverse=True):
        end = first if first < end < last else end
    return re.sub("[\udcc2-\udcf4][\udc80-\udcbf]{0,2}\\Z", "", text[:end])


def _cut_after(text: str, length: int) -> str:
    begin = len(text) - length
    for first, last in sorted(masked_spans(text), key=lambda span: span[1]):
        begin = last if first < begin < last else begin
    return re.sub("\\A[\udc80-\udcbf]{1,3}", "", text[begin:])


def _decoded(content: bytes) -> str:
    # Each byte that is not UTF-8 is one character here, so that bytes can be counted.
    return content.decode("utf-8", "surrogateescape")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
