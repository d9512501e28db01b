"""How many columns of a terminal a text takes, and texts cut to fit."""

from unicodedata import combining, east_asian_width

ELLIPSIS = "…"
EMOJI_FORM = 0xFE0F
"""Says that the character before it is shown as an emoji."""
JAMO = range(0x1160, 0x1200)
"""Parts of a syllable that stand in the columns of its first one."""


def columns_of(text: str) -> int:
    """Return how many columns a text takes; where terminals differ, the most."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def cut(text: str, columns: int) -> str:
    """Return a text that takes at most so many columns; an ellipsis ends a longer one."""
    if columns_of(text) <= columns:
        return text
    kept = text[: _fitting(text, columns - 1)].rstrip()
    return kept + ELLIPSIS if columns > 0 else ""


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """Return a text with blanks behind it, or before it, that takes so many columns."""
    blanks = " " * (columns - columns_of(text))
    return blanks + text if right else text + blanks


def wrapped(text: str, columns: int | None, *, indent: str = "") -> list[str]:
    """Return a text in lines of at most so many columns, all but the first one indented.

    Without a width it is one line. A longer word goes on in the next line.
    """
    if columns is None or columns_of(text) <= columns:
        return [text]
    lead = text[: len(text) - len(text.lstrip())] + indent
    lead = lead if len(lead) <= columns // 2 else ""
    lines, begin = [], len(text) - len(text.lstrip())
    while columns_of(text) > columns:
        end = _fitting(text, columns)
        at = text.rfind(" ", begin + 1, end + 1)
        at = end if at < 0 else at
        lines.append(text[:at].rstrip())
        text, begin = lead + text[at:].lstrip(), len(lead)
    return [*lines, text]


def _fitting(text: str, columns: int) -> int:
    """Return how many of its characters fit."""
    for index, char in enumerate(text):
        columns -= _columns(char)
        if columns < 0:
            return index
    return len(text)


def _columns(char: str) -> int:
    code = ord(char)
    if code < 0x300:
        return 1
    if code == EMOJI_FORM:
        return 1
    if combining(char) or code in JAMO or 0xFE00 <= code < EMOJI_FORM:
        return 0
    return 2 if east_asian_width(char) in "WF" else 1
