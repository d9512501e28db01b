"""The sentences of pages and messages: code, links' addresses and markup left out."""

import re
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from .sessions import ROOT

PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
_PARSER = MarkdownIt("commonmark").enable("table")
_END = re.compile(r"(?<=[.!?:;])[\"')]*\s+")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf)\.$")
_WORD = re.compile(r"\w[\w'.-]*")


def words_in(sentence: str) -> int:
    """Count the words of a sentence; one with hyphens or dots is one."""
    return len(_WORD.findall(sentence))


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph; a colon and a semicolon end one, too."""
    begun = ""
    for part in _END.split(" ".join(text.split())):
        begun = f"{begun} {part}".strip()
        if not _ABBREVIATION.search(begun):
            yield begun
            begun = ""
    if begun:
        yield begun


def paragraphs(page: Path) -> Iterator[tuple[int, str]]:
    """Yield each paragraph, heading, list item and table cell of a page, with its line."""
    line = 0
    for token in _PARSER.parse(page.read_text(encoding="utf-8")):
        line = token.map[0] + 1 if token.map else line
        if token.type == "inline" and token.children:
            yield line, "".join(map(_text, token.children))


def _text(token: Token) -> str:
    """Return what is read of an inline token: of code, that there is some."""
    if token.type == "text":
        return token.content
    if token.type == "code_inline":
        return "x"
    return " " if token.type in ("softbreak", "hardbreak") else ""
