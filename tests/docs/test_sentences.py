"""Sentences are short: who learned English at school reads them once."""

import re
from pathlib import Path

import pytest

from sprintlog.cli.help.topics import TOPICS, page
from tests.architecture.tree import ROOMS, modules, relative

from .prose import PAGES, paragraphs, sentences, words_in
from .sessions import ROOT
from .test_words import NO_PROSE, TYPED, texts

WORDS_MAX = 30
BLOCKS = re.compile(r"\n\n|\n(?=  \S)")
"""A paragraph ends at an empty line, and at a line that is set in, as in a table."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_sentence_of_a_page_is_long(page: Path) -> None:
    """Thirty words are the most that a sentence of the documentation has."""
    long = [
        f"{page.relative_to(ROOT)}:{line}: {words_in(one)} words: {one}"
        for line, text in paragraphs(page)
        for one in sentences(text)
        if words_in(one) > WORDS_MAX
    ]
    assert long == []


def test_no_sentence_of_a_message_is_long() -> None:
    """Nor one of an error, a hint, an answer or the help."""
    read = [(f"the page of {topic}", page(topic)) for topic in TOPICS]
    read += [
        (f"{relative(path)}:{line}", text)
        for path in modules(*ROOMS)
        for line, text in texts(path)
        if not NO_PROSE.search(text)
    ]
    long = [
        f"{place}: {words_in(one)} words: {one}"
        for place, text in read
        for block in BLOCKS.split(TYPED.sub("x", text))
        for one in sentences(block)
        if words_in(one) > WORDS_MAX
    ]
    assert long == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two: three; four.", ["One.", "Two:", "three;", "four."]),
        ("A table, e.g. this one.", ["A table, e.g. this one."]),
        ("Version 1.2 of `x.y`", ["Version 1.2 of `x.y`"]),
    ],
)
def test_knows_where_a_sentence_ends(text: str, expected: list[str]) -> None:
    """At a full stop, a colon or a semicolon that a space follows."""
    assert list(sentences(text)) == expected
