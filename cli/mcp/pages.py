"""Answers in pages of limited size, and cursors for the next page.

An agent pays for every byte, so the size of an answer is limited. A cursor contains the
number of parts already shown and their digest; if the parts have changed, the cursor is
rejected.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from sprintlog.errors import InvalidInputError, RefusedError
from sprintlog.formatting import visible
from sprintlog.servers import json_line

ANSWER_BYTES_MAX = 4096
"""The maximum size of an answer, in bytes."""
_ROOM_FOR_CURSOR = 64
_HEAD_BYTES_MAX = ANSWER_BYTES_MAX // 2
_LEVELS = ((600, 20), (200, 10), (80, 5), (30, 3), (10, 1))
"""The maximum lengths of texts and lists, tried in order until the answer fits."""
_HEAD_LEVELS = ((2400, 80), *_LEVELS)
_ITEM_LEVELS = ((ANSWER_BYTES_MAX, ANSWER_BYTES_MAX), *_LEVELS)
_DEPTH_MAX = 6


class AnswerPage(NamedTuple):
    """An answer that may be too long for a single page."""

    head: dict[str, Any]
    """The fields included in every page."""
    name: str = ""
    """The field that is split into pages; empty if there is none."""
    parts: str | Sequence[Any] = ""
    is_kept: bool = False
    """Whether the parts can never change once they were shown."""
    begin: int = 0
    """The number of the first part in a cursor."""
    step: int = 1
    """The difference between the numbers of consecutive parts."""
    has_more: bool = False
    """Whether further parts exist after these."""


def fitted(page: AnswerPage, question: object, cursor: str | None = None) -> str:
    """Return the page of an answer that starts at a cursor.

    Raise `InvalidInputError` if the cursor belongs to another question, or `RefusedError`
    if the parts before it have changed.
    """
    head: dict[str, Any] = fitting(page.head, _HEAD_BYTES_MAX)
    start = 0 if page.is_kept else _start(page, question, cursor)
    left = ANSWER_BYTES_MAX - len(encoded(head)) - len(page.name) - _ROOM_FOR_CURSOR
    rest = page.parts[start:]
    shown = _text_within(rest, left) if isinstance(rest, str) else _items_within(rest, left)
    end = start + len(shown)
    answer = head
    if page.name:
        answer = {**head, page.name: plain(shown) if isinstance(shown, str) else shown}
    if end < len(page.parts) or page.has_more:
        number = page.begin + page.step * end
        before = b"" if page.is_kept else _before(page, end)
        answer |= {"more": True, "cursor": _cursor(number, question, before)}
    return encoded(answer).decode()


def number_in(cursor: str, question: object) -> int:
    """Return the position stored in a cursor, for an answer that never changes."""
    number = _read(cursor)
    if cursor != _cursor(number, question, b""):
        raise _of_another(cursor)
    return number


def encoded(answer: object) -> bytes:
    """Return an answer as JSON; invalid Unicode is replaced by visible characters."""
    return json_line(answer)[:-1]


def plain(text: str) -> str:
    """Return text without active control characters, except for its line breaks."""
    return "\n".join(visible(line) for line in text.split("\n"))


def _start(page: AnswerPage, question: object, cursor: str | None) -> int:
    if cursor is None:
        return 0
    start = _read(cursor)
    if start > len(page.parts) or cursor != _cursor(start, question, _before(page, start)):
        raise RefusedError(
            "cursor: the cursor belongs to another question, or earlier pages have changed",
            hint="repeat the call without the cursor",
            field="cursor",
        )
    return start


def _before(page: AnswerPage, end: int) -> bytes:
    """Return the current contents of the parts before a position."""
    return encoded(page.parts[:end])


def _cursor(number: int, question: object, before: bytes) -> str:
    said = sha256(encoded(question) + b"\0" + before).hexdigest()
    return f"{number}.{said[:16]}"


def _read(cursor: str) -> int:
    number, _, digest = cursor.partition(".")
    if not (number.isascii() and number.isdigit() and len(number) < 16 and digest):
        raise _of_another(cursor)
    return int(number)


def _of_another(cursor: str) -> InvalidInputError:
    return InvalidInputError(
        f"invalid cursor {cursor[:40]!r} for this question",
        field="cursor",
        hint="repeat the arguments of the first page, or omit the cursor",
    )


def _items_within(items: Sequence[Any], left: int) -> list[Any]:
    """Return the first items that fit; the first item is truncated if it is too long."""
    shown: list[Any] = []
    for item in items:
        found = fitting(item, left - 1, _ITEM_LEVELS[:1] if shown else _ITEM_LEVELS)
        size = len(encoded(found)) + 1
        if size > left and shown:
            break
        if size > left:
            found = _text_within(encoded(found).decode(), left)
            size = left
        shown.append(found)
        left -= size
    return shown


def fitting(value: Any, left: int, levels: Sequence[tuple[int, int]] = _HEAD_LEVELS) -> Any:
    """Shorten a value to the first level at which it fits, or to the last level."""
    for chars, members in levels:
        found = _shortened(value, chars, members)
        if len(encoded(found)) <= left:
            break
    return found


def _text_within(text: str, left: int) -> str:
    """Return the longest prefix of the text that requires at most `left` bytes as JSON."""
    low, high = 0, min(len(text), max(left, 0))
    while low < high:
        middle = (low + high + 1) // 2
        if len(encoded(plain(text[:middle]))) <= left:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def _shortened(value: Any, chars: int, members: int, depth: int = _DEPTH_MAX) -> Any:
    """Return a value with its strings and lists truncated and marked as truncated."""
    if isinstance(value, str):
        shown = plain(value[:chars])
        more = len(value) - chars
        return f"{shown}… ({more} more characters)" if more > 0 else shown
    if isinstance(value, dict | list | tuple):
        if depth == 0:
            return "…"
        more = len(value) - members
        if isinstance(value, dict):
            said = {
                plain(str(name)[:chars]): _shortened(one, chars, members, depth - 1)
                for name, one in [*value.items()][:members]
            }
            return said | {"…": f"{more} more"} if more > 0 else said
        found = [_shortened(one, chars, members, depth - 1) for one in value[:members]]
        return [*found, f"… {more} more"] if more > 0 else found
    return value
