"""Tables that fit a terminal: long text is truncated, and minor columns are omitted.

Without a width, as in a pipe, nothing is truncated.
"""

from collections.abc import Collection, Iterable, Sequence
from unicodedata import combining, east_asian_width

from .terminal import Ready, Terminal, visible

ELLIPSIS = "…"
EMOJI_FORM = 0xFE0F
"""The variation selector that displays the preceding character as an emoji."""
JAMO = range(0x1160, 0x1200)
"""Combining parts of Korean syllables, which occupy no columns."""


def columns_of(text: str) -> int:
    """Return the width of the text in columns; if terminals differ, the maximum width."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def cut(text: str, columns: int) -> str:
    """Return text truncated to a number of columns, with an ellipsis if it was longer."""
    if columns_of(text) <= columns:
        return text
    kept = text[: _fitting(text, columns - 1)].rstrip()
    return kept + ELLIPSIS if columns > 0 else ""


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """Return text padded with spaces to a number of columns."""
    blanks = " " * (columns - columns_of(text))
    return blanks + text if right else text + blanks


def wrapped(text: str, columns: int | None, *, indent: str = "") -> list[str]:
    """Return text wrapped to a number of columns; all lines but the first are indented.

    Without a width, the text is a single line. A word that is too long is split.
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
    """Return the number of characters that fit into a number of columns."""
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


GAP = "  "
PADDING_MAX = 60
TEXT_MIN = 12
"""The minimum width of text columns; a table omits columns rather than shorten them
further."""


class Toned(str):
    """A cell's text, with a tone from the palette in `terminal`."""

    __slots__ = ("tone",)
    tone: str | None

    def __new__(cls, text: str, tone: str | None) -> "Toned":
        """Return text with a tone."""
        made = super().__new__(cls, text)
        made.tone = tone
        return made


class FittedTable:
    """Formats rows as lines of columns that never become narrower."""

    def __init__(
        self,
        terminal: Terminal,
        *,
        right: Collection[int] = (),
        whole: Collection[int] = (),
        spare: Sequence[int] = (),
        least: int = TEXT_MIN,
    ) -> None:
        """Create a table.

        `right` columns are right-aligned, and `whole` columns are shown in full or omitted.
        On narrow terminals, `spare` columns are omitted in the given order rather than
        truncating texts to fewer columns than `least`.
        """
        self._terminal = terminal
        self._right, self._whole = frozenset(right), frozenset(right) | frozenset(whole)
        self._spare, self._least = spare, least
        self._widths: list[int] = []
        self.is_cut = False
        """Whether any text was truncated."""

    def lines(self, rows: Iterable[Sequence[str]]) -> list[Ready]:
        """Return rows as lines that may contain colours."""
        shown = [[_cell(cell) for cell in row] for row in rows]
        if not shown:
            return []
        found = [max(map(columns_of, column)) for column in zip(*shown, strict=True)]
        self._widths[:] = map(max, found, self._widths or found)
        fitted = self._fitted()
        return [self._line(row, fitted) for row in shown]

    def _fitted(self) -> list[int]:
        """Return the width of each column, or 0 for an omitted column."""
        widths, most = [*self._widths], self._terminal.width
        if most is None:
            # A single long text must not widen all other rows.
            return [min(width, PADDING_MAX) for width in widths]
        for index in (*self._spare, None):
            free = most - sum(len(GAP) for width in widths if width) + len(GAP)
            texts = [i for i, w in enumerate(widths) if w and i not in self._whole]
            fixed = sum(w for i, w in enumerate(widths) if i not in texts)
            found = [widths[i] for i in texts]
            bound = _bound(found, free - fixed)
            if bound >= min(self._least, max(found, default=0)) or index is None:
                break
            self.is_cut = self.is_cut or bool(widths[index])
            widths[index] = 0
        for i in texts:
            widths[i] = min(widths[i], max(bound, 1))
        return widths

    def _line(self, row: list[str], widths: list[int]) -> Ready:
        last = max((i for i, width in enumerate(widths) if width and row[i]), default=-1)
        cells = []
        for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
            if not width or index > last:
                continue
            text = cell if self._terminal.width is None else cut(cell, width)
            self.is_cut = self.is_cut or text != cell
            is_right = index in self._right
            if is_right or index < last:
                text = padded(text, width, right=is_right)
            cells.append(self._terminal.toned(text, getattr(cell, "tone", None)))
        return Ready(GAP.join(cells).rstrip())


def _cell(cell: str) -> str:
    text = visible(cell).replace("\t", "\\t")
    return text if type(cell) is str else Toned(text, getattr(cell, "tone", None))


def _bound(widths: Sequence[int], free: int) -> int:
    """Return the largest column width with which all columns fit."""
    if sum(widths) <= free:
        return max(widths, default=TEXT_MIN) + TEXT_MIN
    left, rest = free, len(widths)
    for width in sorted(widths):
        if width * rest > left:
            return left // rest
        left, rest = left - width, rest - 1
    return TEXT_MIN
