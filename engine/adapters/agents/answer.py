"""What the items of a run come to: its last words, its error, its figures."""

from hashlib import sha256
from typing import Any

from msgspec.structs import replace

from sprintlog.answers import Answer, Refusal
from sprintlog.usage import ModelCall, Usage, known_sum, merged, summed

from . import items as out

_NOTHING = Usage()
TEXT_CHARS_MAX = 4 * 1024 * 1024
"""Of longer words the end is kept."""


def key_of(name: str) -> str:
    """Return the key by which a call is recorded: short, whatever its id contains."""
    return sha256(name.encode(errors="replace")).hexdigest()[:16]


class Gathering:
    """Takes items as they come."""

    def __init__(self) -> None:
        self._session = ""
        self._words: list[str] = []
        self._chars = 0
        self._last: out.Item | None = None
        self._ended: out.AgentEnded | None = None
        self._error = ""
        self._refused: out.Refused | None = None
        """Unless it went on to work after that."""
        self._used: dict[tuple[out.FigureSpan, str, int | None], Usage] = {}
        self._calls: dict[tuple[out.FigureSpan, str], str | None] = {}
        """The model of each call and turn that has an id."""

    def take(self, item: out.Item) -> None:
        """Take the next item."""
        match item:
            case out.Session():
                self._session = item.id
            case out.Said():
                self._hear(item)
            case out.Called():
                self._ended = self._refused = None
            case out.Refused():
                self._refused = item
                return
            case out.Used():
                self._count(item)
            case out.Prompted() | out.Returned() | out.FileChanged() | out.CallsCounted():
                return
            case out.AgentEnded():
                was_stopped = self._ended is not None and self._ended.is_stopped
                if was_stopped and item.failed:
                    # A program may also state in its own words that it was stopped.
                    item = replace(item, is_stopped=True)
                self._ended = item
                self._error = item.error or (self._error if item.failed else "")
        if not isinstance(item, out.Used | out.Session):
            self._last = item

    def answer(self, *, unknown: int = 0) -> Answer:
        """Return what all of it comes to."""
        ended, said = self._ended, "".join(self._words)[-TEXT_CHARS_MAX:]
        usage = self._usage()
        if ended is None:
            return Answer(said, usage=usage, is_cut=True, unknown=unknown)
        final = said if ended.text is None else ended.text
        error = refusal = None
        if ended.failed:
            error = self._error or "the agent gave no reason"
            refusal = self._refusal(ended)
        elif not final.strip():
            # An agent that ends well says something: its answer was lost on the way.
            error = "the agent ended without saying anything"
            refusal = Refusal(kind="no_answer")
        return Answer(
            final,
            error=error,
            usage=usage,
            unknown=unknown,
            refusal=refusal,
            is_stopped=ended.is_stopped,
        )

    def calls(self) -> tuple[ModelCall, ...]:
        """Return the calls that have ids, and how long the turns lasted that have one."""
        found = []
        for (span, key), model in self._calls.items():
            figures = merged(self._used[span, key, None], _NOTHING)
            if span is out.FigureSpan.TURN:
                figures = {n: x for n, x in figures.items() if n == "duration_ms"}
            if figures or span is out.FigureSpan.CALL:
                found.append(ModelCall(key=key_of(key), model=model, **figures))
        return tuple(found)

    def _refusal(self, ended: out.AgentEnded) -> Refusal | None:
        refused = self._refused or out.Refused()
        status = ended.status if ended.status is not None else refused.status
        if status is None and self._refused is None:
            return None
        return Refusal(status, refused.kind, refused.fields)

    def _hear(self, said: out.Said) -> None:
        if not (said.goes_on and isinstance(self._last, out.Said)):
            self._words, self._chars, self._ended = [], 0, None
        self._words.append(said.text)
        self._chars += len(said.text)
        if self._chars > 2 * TEXT_CHARS_MAX:
            self._words = ["".join(self._words)[-TEXT_CHARS_MAX:]]
            self._chars = TEXT_CHARS_MAX

    def _count(self, used: out.Used) -> None:
        key = used.key
        if key is None and used.usage == _NOTHING:
            return
        if key is None:
            is_total = used.span is out.FigureSpan.SESSION
            key = self._session if is_total else f"#{len(self._used)}"
        elif used.span is not out.FigureSpan.SESSION and used.part is None:
            key = key if used.is_unique else f"{self._session}\n{key}"
            self._calls[used.span, key] = used.model or self._calls.get((used.span, key))
        at = (used.span, key, used.part)
        self._used[at] = Usage(**merged(used.usage, self._used.get(at, _NOTHING)))

    def _usage(self) -> Usage | None:
        """Return the figures: each from the widest span that states it."""
        found: dict[str, Any] = {}
        bounds: set[str] = set()
        for span in sorted(out.FigureSpan):
            several = [
                one
                for (of, key, part), one in self._used.items()
                if of is span and (part is None or self._has_all_before(key))
            ]
            # Only calls are alike: each states the same figures.
            total = summed(several) if span is out.FigureSpan.CALL else known_sum(several)
            stated = merged(total, _NOTHING)
            bounds = (bounds - stated.keys()) | set(total.at_least)
            found |= stated
        return Usage(**found, at_least=tuple(sorted(bounds))) if found else None

    def _has_all_before(self, key: str) -> bool:
        """Tell whether no turn of a session is missing."""
        parts = {
            part for of, one, part in self._used if of is out.FigureSpan.TURN and one == key
        }
        return parts == set(range(len(parts)))
