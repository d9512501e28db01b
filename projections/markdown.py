"""Markdown in which external text remains plain text, whatever it contains."""

import re
from collections.abc import Iterable, Sequence

_BARE = r"[A-Za-z0-9][A-Za-z0-9:.+-]*"


def visible(text: str) -> str:
    """Return the text with control and direction characters made safe for a terminal."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == "\t" else _escape(char) for char in text
    )


def code(text: str) -> str:
    """Return the text as code, in which links, tags and mentions have no effect.

    The delimiter is longer than any run of backticks in the text.
    """
    shown = visible(text)
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    marks = "`" * (longest + 1)
    is_padded = shown[:1] in ("`", " ") or shown[-1:] in ("`", " ")
    return f"{marks} {shown} {marks}" if is_padded else f"{marks}{shown}{marks}"


def code_cell(text: str) -> str:
    """Return the text as code in a table, with an odd number of backslashes before a bar.

    After an even number, the bar would end the cell and therefore the code.
    """
    if not text:
        return ""
    return re.sub(r"\\*\|", lambda m: "\\" * (2 - len(m[0]) % 2) + m[0], code(text))


def bare(text: str) -> str:
    """Return a time or plain name unchanged, and any other text as code."""
    return text if re.fullmatch(_BARE, text, re.ASCII) else code(text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table's lines from finished cells; its rule is as wide as its header."""
    rule = f"|{'|'.join('-' * (len(cell) + 2) for cell in head)}|"
    return [line(head), rule, *map(line, rows)]


def line(cells: Sequence[str]) -> str:
    """Return the cells as a table row."""
    return f"| {' | '.join(cells)} |"


def _escape(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        # A byte that is not valid UTF-8.
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
