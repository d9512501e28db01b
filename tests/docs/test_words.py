"""The words that people read are plain ones: the glossary's, or those of a small list.

Read are the README, the first screen, the topics, what commands say of themselves, and
each text of the sources that has the length of a sentence: errors, hints, warnings and
answers among them.
What stands in backquotes is typed, and is no word.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from sprintlog.cli.help.topics import LINES, TOPICS, page
from sprintlog.cli.help.where import NO_LOG
from tests.architecture.tree import ROOMS, modules, parse, relative

from .prose import PAGES, paragraphs
from .sessions import ROOT

HERE = Path(__file__).parent
LIST = HERE / "plain_words.txt"
GLOSSARY = HERE.parents[1] / "docs" / "reference" / "glossary.md"
SENTENCE_WORDS_MIN = 3
UNREAD_SHARE_MAX = 0.05
"""More words of the list than this are not left behind when texts change."""

TYPED = re.compile(r"`[^`]*`|^  \$ .*$|^Examples?: .*$", re.MULTILINE)
WORD = re.compile(
    r"(?<![\w./~$<:={}\[\]*-])[A-Za-z][a-z]+(?:'[a-z]+)?(?![\w/~=:\[({}*]|-\w|[.:]\w)"
)
"""A word of letters that is no part of a path, a name, an option or a field."""
NO_PROSE = re.compile(
    r"\b(?:SELECT|CREATE|INSERT|UPDATE|DELETE|PRAGMA|WHERE|VALUES|FROM|DROP|WITH)\b|\(\?:"
    r"|_SPRINTLOG_COMPLETE="
)
"""SQL, patterns, and what a shell runs to complete a line."""

PRIVATE = {
    "alike": "the same",
    "anew": "again",
    "blindly": "simply",
    "displaced": "moved",
    "lies": "is",
    "mend": "repair",
    "mends": "repairs",
    "otherwise": "in another way, differently",
    "overdue": "late",
    "remembers": "has",
    "surest": "most certain",
}
"""Words that were ours or that need a dictionary, with plainer ones."""


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield what a module may print, with its line; of docstrings those of commands."""
    tree = parse(path)
    silent = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    } - {id(docstring) for docstring in _of_commands(tree)}
    whole = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    silent |= {id(part) for node in whole for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        if id(node) in silent:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)
            yield node.lineno, "".join(map(str, parts))


def _of_commands(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the docstrings that are the help of a command."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        made = " ".join(map(ast.unparse, node.decorator_list))
        first = node.body[0]
        if re.search(r"\b(?:command|group)\b", made) and isinstance(first, ast.Expr):
            yield first.value


def words(text: str) -> set[str]:
    """Return the words of a text, in small letters; none of what is no prose."""
    if NO_PROSE.search(text):
        return set()
    return {word.lower() for word in WORD.findall(TYPED.sub(" ", text))}


@cache
def read_by_people() -> dict[str, str]:
    """Return every word that people read, with a place where it is."""
    found: dict[str, str] = {}
    for path in modules(*ROOMS):
        for line, text in texts(path):
            if len(text.split()) >= SENTENCE_WORDS_MIN:
                found |= dict.fromkeys(words(text), f"{relative(path)}:{line}")
    for topic in TOPICS:
        found |= dict.fromkeys(words(page(topic)), f"the page of {topic}")
    for line, text in paragraphs(ROOT / "README.md"):
        found |= dict.fromkeys(words(text), f"README.md:{line}")
    screen = " ".join((NO_LOG, *LINES.values(), *(one.title for one in TOPICS.values())))
    return found | dict.fromkeys(words(screen), "the first screen")


def forms(word: str) -> Iterator[str]:
    """Yield a word and what it may be a form of: `stopped` of `stop`."""
    yield word
    for ending in ("'s", "s", "es", "d", "ed", "ing", "ly"):
        if word.endswith(ending) and len(stem := word.removesuffix(ending)) > 1:
            yield stem
            if ending in ("ed", "ing"):
                yield f"{stem}e"
                if stem[-1] == stem[-2]:
                    yield stem[:-1]
    for ending in ("ies", "ied"):
        if word.endswith(ending):
            yield f"{word.removesuffix(ending)}y"


def listed() -> list[str]:
    """Return the words of the list, without its headings."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def in_glossary() -> set[str]:
    """Return the words that the glossary explains: those in bold, and in italics."""
    text = GLOSSARY.read_text(encoding="utf-8")
    marked = " ".join(re.findall(r"\*{1,2}([^*|]+)\*{1,2}", text))
    return set(re.findall(r"[a-z]+", marked.lower()))


def test_every_word_is_plain() -> None:
    """Who adds a word that few people know finds a plainer one, or adds it to the list."""
    known = {*listed()} | in_glossary()
    strange = {
        word: place
        for word, place in read_by_people().items()
        if known.isdisjoint(forms(word))
    }
    assert strange == {}, f"use plainer words, or add them to {LIST.name}"


def test_the_list_is_small() -> None:
    """Few words are in the list that nobody reads any more, none that the glossary has."""
    needed = {form for word in read_by_people() for form in forms(word)}
    unread = {*listed()} - needed
    assert len(unread) <= len(listed()) * UNREAD_SHARE_MAX, sorted(unread)
    assert {*listed()} & in_glossary() == set()


def test_the_list_is_in_order() -> None:
    """Under each heading the words are in order, each once in the whole list."""
    text = LIST.read_text(encoding="utf-8")
    for part in text.split("#")[1:]:
        found = part.splitlines()[1:]
        assert [one for one in found if one] == sorted({*found} - {""})
    assert len(listed()) == len({*listed()})


@pytest.mark.parametrize("word", PRIVATE)
def test_private_words_are_replaced(word: str) -> None:
    """A word that has a plainer one is neither listed nor read."""
    assert word not in listed()
    assert read_by_people().get(word) is None, f"say {PRIVATE[word]!r}"


def test_no_page_has_a_private_word() -> None:
    """The documentation says it as plainly as the messages do."""
    found = [
        f"{page.name}:{line}: {word}: say {PRIVATE[word]!r}"
        for page in PAGES
        for line, text in paragraphs(page)
        for word in sorted(words(text) & PRIVATE.keys())
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write it again, `sprintlog` does", {"write", "it", "again", "does"}),
        ("see docs/x.md, --at and iter:3 for E_X", {"see", "and", "for"}),
        ("SELECT type FROM events", set()),
        ("git's own file", {"git's", "own", "file"}),
    ],
)
def test_knows_what_is_a_word(text: str, expected: set[str]) -> None:
    """Paths, options, points, names and SQL are no words."""
    assert words(text) == expected
