"""Reads the output of an agent's command: the answer and the activity.

A script may print additional text, so output is attributed to an agent if the last line, at
least half of the lines, or a line with figures is in the agent's format. The output may
also be a single JSON object or list. Everything else is plain text. Unrecognized lines are
counted and ignored.
"""

import re
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from sprintlog.answers import Answer, repeats

from . import antigravity, claude, codex, copilot, cursor, droid, gemini, opencode, pi
from .items import Fork, Item, Items
from .outcome import Activity, ActivityCollector, AnswerCollector
from .values import is_cut, mapping, parse

ANSWER_BYTES_MAX = 4 * 1024 * 1024
"""The number of bytes at the end of an output that are read as text or as one object."""
LINE_BYTES_MAX = 16 * 1024 * 1024
"""The maximum length of a line or a document's entry; longer ones are skipped."""
DOCUMENT_BYTES_MAX = 64 * 1024 * 1024
"""The maximum length of a session file that is one document. Some have tens of MiB: a 63
MiB document was imported with a maximum resident set of 89 MiB, and the most hostile
document of that length with 575 MiB."""
_COMMAS_MAX = 4_000_000
"""The maximum number of commas, because each value requires memory, however short it is.
Sessions contain about one comma per 30 bytes."""

READERS: tuple[tuple[str, "Read | type[copilot.Chat]"], ...] = (
    ("antigravity", antigravity.read),
    ("opencode", opencode.read),
    ("copilot", copilot.read),
    ("copilot-chat", copilot.Chat),
    ("pi", pi.read),
    ("droid", droid.read),
    ("gemini", gemini.read_session),
    ("gemini", gemini.read),
    ("codex", codex.read_rollout),
    ("codex", codex.read),
    ("cursor", cursor.read),
    ("claude", claude.read),
)
"""The readers, those with the most distinctive formats first, because the agent is
recognized by its messages. A class creates a separate reader for each output."""
_JSON_LINE = re.compile(rb'^[ \t]*[{\[][^\n"]*"[^\n]*[}\]][ \t\r]*$', re.MULTILINE)
_OPENS = re.compile(rb"^[{\[][ \t\r]*$", re.MULTILINE)
_CLOSES = re.compile(rb"^[}\]][ \t\r]*$", re.MULTILINE)


Also = Callable[[str, Item], None]
"""A function that receives the other items, each with the name of its agent."""
_MIXED = {"cursor": ("claude",)}
"""The agents whose messages appear in another agent's output."""
Read = Callable[[Any], Items | None]
"""A function that returns a message's items; None if another agent wrote the message."""


class _Reading:
    """The recognized messages in the output; if the agent is known, only its messages."""

    def __init__(self, agent: str | None, also: Also | None, read: Read | None) -> None:
        self._agent = agent
        self._also = also
        known = (agent, *_MIXED.get(agent, ())) if agent else ()
        self._readers: list[tuple[str, Read]] = [
            (name, read() if isinstance(read, type) else read)
            for name, read in READERS
            if not known or name in known
        ]
        if agent and read is not None:
            self._readers = [(agent, read)]
        self.gathering = AnswerCollector()
        self.watching = ActivityCollector()
        self._fork = Fork()
        self._of: Counter[str] = Counter()
        """The number of messages by agent."""

    def take(self, found: object) -> tuple[int, int]:
        """Process one or more messages; return their number and the number recognized."""
        listed = found if isinstance(found, list) else [found]
        known = 0
        for one in listed:
            # An argument of a command may contain the message as text.
            data = parse(one.encode(errors="replace")) if isinstance(one, str) else one
            message = mapping(data)
            for agent, read in self._readers:
                if (items := read(message)) is not None:
                    known += 1
                    self._of[agent] += 1
                    for item in self._fork.own(message, items):
                        self.gathering.take(item)
                        self.watching.take(item)
                        if self._also is not None:
                            self._also(agent, item)
                    break
        return len(listed), known

    @property
    def agent(self) -> str | None:
        """Return the agent that wrote the messages, or None.

        Most of Cursor's messages are in Claude Code's format.
        """
        if not self._of or self._agent:
            return self._agent
        return "cursor" if self._of["cursor"] else self._of.most_common(1)[0][0]


class OutputReader:
    """Reads the output of one run incrementally, storing no more than necessary."""

    def __init__(
        self,
        *,
        told: str = "",
        agent: str | None = None,
        also: Also | None = None,
        read: Read | None = None,
        document_max: int = ANSWER_BYTES_MAX,
    ) -> None:
        """Create a reader for one output.

        `told` contains the prompt; `read` decodes the messages of a third-party agent.
        Output of at most `document_max` bytes may be a single JSON object.
        """
        self._told, self._document_max = told, document_max
        self._agent, self._also, self._read = agent, also, read
        self._told_lines = {
            line.strip().encode("utf-8", "replace") for line in told.split("\n")
        } - {b""}
        """The prompt's lines; a line that only repeats one of them is not a message."""
        self._reading = _Reading(agent, also, read)
        self._end = bytearray()
        self._bytes = 0
        self._rest = bytearray()
        """The bytes after the last line ending."""
        self._lines = self._known = 0
        self._strange = 0
        """The number of JSON lines that no reader recognized."""
        self._ends_known = False
        """Whether the last line was recognized."""

    def feed(self, chunk: bytes) -> None:
        """Process the next bytes."""
        self._bytes += len(chunk)
        self._end += chunk
        held = 0 if self._known else self._document_max
        if len(self._end) > max(held, 2 * ANSWER_BYTES_MAX):
            del self._end[:-ANSWER_BYTES_MAX]
        whole, newline, rest = chunk.rpartition(b"\n")
        if newline:
            self._take(bytes(self._rest) + whole + newline)
            self._rest = bytearray(rest)
        elif len(self._rest) <= LINE_BYTES_MAX:
            self._rest += chunk

    def answer(self) -> Answer:
        """Return the agent's answer; call this once, after the last bytes."""
        return self.heard()[0]

    def heard(self) -> tuple[Answer, Activity]:
        """Return the agent's answer and activity; call this once, after the last bytes."""
        half = bytes(self._rest)
        ended_known = self._ends_known
        self._take(half)
        # The last line of a truncated output need not be recognized.
        is_known = self._ends_known or (ended_known and is_cut(half))
        answer = self._reading.gathering.answer(unknown=self._lines - self._known)
        is_known = is_known or 2 * self._known >= self._lines or answer.usage is not None
        if self._known and is_known:
            return answer, self._activity(self._reading, answer.unknown)
        if (whole := self._whole(self._end)) is not None:
            return whole
        content = bytes(self._end[-ANSWER_BYTES_MAX:])
        # Text is accepted, but not JSON that the agent never prints.
        unknown = self._strange if self._agent else 0
        return _plain(content), Activity(self._agent, lines=self._lines, unknown=unknown)

    def _activity(self, reading: _Reading, unknown: int) -> Activity:
        activity = reading.watching.activity(
            agent=reading.agent, lines=self._lines, unknown=unknown
        )
        activity.counted = reading.gathering.calls()
        return activity

    def _take(self, block: bytes) -> None:
        """Process complete lines."""
        if not block.strip():
            return
        ends = block.count(b"\n") - block.count(b"\n\n")
        self._lines += ends + (not block.endswith(b"\n"))
        if b"{" not in block and b"[" not in block:
            # Plain text: searching it for messages would take ten times as long.
            self._ends_known = False
            return
        last = 0
        for line in _JSON_LINE.finditer(block):
            if len(line[0]) > LINE_BYTES_MAX or line[0].strip() in self._told_lines:
                continue
            _, known = self._reading.take(parse(line[0]))
            if known:
                self._known += 1
                last = line.end()
            else:
                self._strange += 1
        self._ends_known = last > 0 and not block[last:].strip()

    def _whole(self, content: bytearray) -> tuple[Answer, Activity] | None:
        """Return the result if the output is a JSON document or its text contains one."""
        if self._bytes > min(self._document_max, len(content)):
            return None
        for piece in _pieces(content):
            if self._told and repeats(piece.decode("utf-8", "replace"), self._told):
                continue
            reading = _Reading(self._agent, self._also, self._read)
            (count, known), *_ = map(reading.take, _messages_of(piece))
            if known and 2 * known >= count:
                answer = reading.gathering.answer(unknown=count - known)
                self._lines = count
                return answer, self._activity(reading, answer.unknown)
        return None


def _pieces(content: bytearray) -> Iterator[bytearray]:
    """Yield an output, followed by the JSON object or list within its text, if any."""
    yield content
    opens, closes = _OPENS.search(content), deque(_CLOSES.finditer(content), maxlen=1)
    if opens and closes:
        yield content[opens.start() : closes[0].end()]


def _messages_of(content: bytearray) -> Iterator[object]:
    """Yield a session without its entries, then with one entry at a time.

    Other JSON is yielded unchanged. Only the document and one entry are in memory, because
    a fully parsed session would take up seven times its size, and a hostile document
    twenty-five times.
    """
    few = content.count(b",") <= _COMMAS_MAX
    try:
        parts = msgspec.json.decode(content if few else b"{}", type=dict[str, msgspec.Raw])
        name = "messages" if "projectHash" in parts else "requests"
        entries = msgspec.json.decode(parts.pop(name), type=list[msgspec.Raw])
    except (msgspec.MsgspecError, ValueError, RecursionError, KeyError):
        yield parse(bytes(content)) if len(content) <= LINE_BYTES_MAX else None
        return
    fields = {key: parse(bytes(part)) for key, part in parts.items()}
    for entry in (b"null", *entries):
        yield {**fields, name: [parse(bytes(entry)[: LINE_BYTES_MAX + 1])]}


def with_errors(
    heard: tuple[Answer, Activity], errors: str, *, exit_code: int | None
) -> tuple[Answer, Activity]:
    """Return the result, adding the error that a failed run printed to standard error.

    If Gemini CLI fails, it prints nothing but a JSON object to standard error.
    """
    answer, activity = heard
    if exit_code == 0 or answer.error is not None or answer.usage is not None:
        return heard
    hearing = OutputReader()
    hearing.feed(errors.encode("utf-8", "surrogateescape"))
    other, who = hearing.heard()
    if other.error is None:
        return heard
    if activity.agent is None:
        activity = msgspec.structs.replace(
            who, lines=activity.lines, unknown=activity.unknown
        )
    answer = msgspec.structs.replace(answer, error=other.error, refusal=other.refusal)
    return answer, activity


def read_answer(content: bytes, *, told: str = "") -> Answer:
    """Return the answer in the output of an agent's command.

    Lines that only repeat the prompt `told` are not part of the answer.
    """
    hearing = OutputReader(told=told)
    hearing.feed(content)
    return hearing.answer()


def _plain(content: bytes) -> Answer:
    """Return the complete output as the answer of a command that prints plain text."""
    return Answer(content.decode("utf-8", "backslashreplace"), is_cut=is_cut(content))
