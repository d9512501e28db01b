"""From the bytes that an agent's command prints to what it says: the way in.

Output is an agent's when its last line is, when at least half of its lines are, or when
any states figures: a script may print words of its own around it. It may also be one
object or one list of JSON. Everything else is plain words. Lines that are not
understood are counted and passed over.
"""

import re
from itertools import chain

from ...sprint.agent.answers import Answer, repeats
from . import claude, codex, copilot, gemini, opencode
from .answer import Gathering
from .items import Items
from .values import is_cut, mapping, parse

ANSWER_BYTES_MAX = 4 * 1024 * 1024
"""How much of the end of an output is read as words or as one object."""
LINE_BYTES_MAX = 16 * 1024 * 1024
"""A longer line is passed over."""

_READERS = (opencode.read, copilot.read, gemini.read, codex.read, claude.read)
"""Those with the clearest marks first: what is in a message tells whose it is."""
_JSON_LINE = re.compile(rb'^[ \t]*[{\[][^\n"]*"[^\n]*[}\]][ \t\r]*$', re.MULTILINE)
_OPENS = re.compile(rb"^[{\[][ \t\r]*$", re.MULTILINE)
_CLOSES = re.compile(rb"^[}\]][ \t\r]*$", re.MULTILINE)


class Hearing:
    """Takes the output of one run as it comes; no more is held than may be needed."""

    def __init__(self, *, told: str = "") -> None:
        self._told = told
        self._told_lines = {
            line.strip().encode("utf-8", "replace") for line in told.split("\n")
        } - {b""}
        """A line that only repeats one of them is nobody's message."""
        self._gathering = Gathering()
        self._end = bytearray()
        self._bytes = 0
        self._rest = bytearray()
        """What came after the last end of a line."""
        self._lines = 0
        self._known = 0
        self._ends_known = False
        """Whether the last line was understood."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._bytes += len(chunk)
        self._end += chunk
        if len(self._end) > 2 * ANSWER_BYTES_MAX:
            del self._end[:-ANSWER_BYTES_MAX]
        whole, newline, rest = chunk.rpartition(b"\n")
        if newline:
            self._take(bytes(self._rest) + whole + newline)
            self._rest = bytearray(rest)
        elif len(self._rest) <= LINE_BYTES_MAX:
            self._rest += chunk

    def answer(self) -> Answer:
        """Return what the agent says; to be called once, after the last bytes."""
        half = bytes(self._rest)
        ended_known = self._ends_known
        self._take(half)
        # The last line of an output that was cut is not held against it.
        is_known = self._ends_known or (ended_known and is_cut(half))
        answer = self._gathering.answer(unknown=self._lines - self._known)
        is_known = is_known or 2 * self._known >= self._lines or answer.usage is not None
        if self._known and is_known:
            return answer
        content = bytes(self._end[-ANSWER_BYTES_MAX:])
        return self._whole(content) or _plain(content)

    def _take(self, block: bytes) -> None:
        """Take whole lines."""
        if not block.strip():
            return
        ends = block.count(b"\n") - block.count(b"\n\n")
        self._lines += ends + (not block.endswith(b"\n"))
        last = 0
        for line in _JSON_LINE.finditer(block):
            if len(line[0]) > LINE_BYTES_MAX or line[0].strip() in self._told_lines:
                continue
            known = [items for items in _messages(parse(line[0])) if items is not None]
            if known:
                self._known += 1
                last = line.end()
            for item in chain.from_iterable(known):
                self._gathering.take(item)
        self._ends_known = last > 0 and not block[last:].strip()

    def _whole(self, content: bytes) -> Answer | None:
        """Return what one object or list says that is all of the output, or amid words."""
        if self._bytes > ANSWER_BYTES_MAX:
            return None
        pieces = [content.strip()]
        opens, closes = _OPENS.search(content), list(_CLOSES.finditer(content))
        if opens and closes:
            pieces.append(content[opens.start() : closes[-1].end()])
        for piece in pieces:
            if repeats(piece.decode("utf-8", "replace"), self._told):
                continue
            messages = _messages(parse(piece) if piece[:1] in (b"{", b"[") else None)
            known = [items for items in messages if items is not None]
            if known and 2 * len(known) >= len(messages):
                gathering = Gathering()
                for item in chain.from_iterable(known):
                    gathering.take(item)
                return gathering.answer(unknown=len(messages) - len(known))
        return None


def hear(content: bytes, *, told: str = "") -> Answer:
    """Return what an agent says whose command printed this.

    What only repeats lines of `told` is none of the agent's own.
    """
    hearing = Hearing(told=told)
    hearing.feed(content)
    return hearing.answer()


def _messages(found: object) -> list[Items | None]:
    """Return what an object, or each one of a list, says; None for an unknown one."""
    listed = found if isinstance(found, list) else [found]
    return [
        next((x for read in _READERS if (x := read(mapping(one))) is not None), None)
        for one in listed
    ]


def _plain(content: bytes) -> Answer:
    """Return the answer of a command that answers in words: all that it printed."""
    return Answer(content.decode("utf-8", "replace"), is_cut=is_cut(content))
