"""The rule pages: ids, the tests that they name, and references to them."""

import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from .sessions import ROOT

PAGES = {
    "iterations.md": "ITR",
    "loops.md": "LOOP",
    "progress-json.md": "JRN",
    "progress-yaml.md": "SPR",
}
RULES = ROOT / "docs" / "reference" / "rules"
TREES = ("engine", "projections", "cli", "tests", "docs")
FILES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
SUFFIXES = {".md", ".py", ".ts", ".go", ".txt", ".toml", ".html", ".js", ".mjs", ".yaml"}

ID = re.compile(r"\b(?:ITR|LOOP|JRN|SPR)-\d+\b")
ROW = re.compile(r"^- \*\*(\S+)\*\* (.+?\.) ((?:`[^`]+`(?:, )?)+)$", re.MULTILINE)
PRIVATE_CODE = re.compile(r"(?<![\w{.#/-])[RPD]\d{1,3}\b")
PRIVATE_DOCUMENT = re.compile(
    r"\b(?:DESIGN|REQUIREMENTS|REDESIGN|FINDINGS|STYLE|FAULTS|YAML|ENGLISH)\.md\b"
)
LENGTHS = (10, 400)
"""The characters of a rule: one or two sentences."""


def rows(page: str) -> list[tuple[str, str, list[str]]]:
    """Return id, text and test modules of each rule of a page."""
    text = (RULES / page).read_text(encoding="utf-8")
    return [(id_, rule, re.findall(r"`([^`]+)`", t)) for id_, rule, t in ROW.findall(text)]


@cache
def ids() -> list[str]:
    """Return the ids of all rules."""
    return [id_ for page in PAGES for id_, _, _ in rows(page)]


@cache
def sources() -> dict[Path, str]:
    """Return the text of every file that may refer to a rule."""
    paths = [ROOT / name for name in FILES]
    for tree in TREES:
        paths += [path for path in (ROOT / tree).rglob("*") if path.suffix in SUFFIXES]
    kept = [p for p in paths if not {"node_modules", "__pycache__"} & {*p.parts}]
    return {path: path.read_text(encoding="utf-8") for path in kept if path.is_file()}


def prose(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that people read, with their numbers.

    In Python, these are comments and strings of more than one word.
    """
    if path.suffix != ".py":
        yield from enumerate(text.splitlines(), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_prose = token.type == tokenize.STRING and " " in token.string
        if is_prose or token.type == tokenize.COMMENT:
            yield from enumerate(token.string.splitlines(), token.start[0])


@pytest.mark.parametrize("page", PAGES)
def test_ids_are_unique_and_ascending(page: str) -> None:
    """The ids of a page have its prefix and three digits, and ascend."""
    found = [id_ for id_, _, _ in rows(page)]
    assert found == sorted({*found})
    assert [id_ for id_ in found if not re.fullmatch(rf"{PAGES[page]}-\d{{3}}", id_)] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_row_is_a_rule(page: str) -> None:
    """Each item has an id, one or two sentences, and its tests."""
    text = (RULES / page).read_text(encoding="utf-8")
    lines = re.findall(r"^- .*$", text, re.MULTILINE)
    assert len(lines) == len(rows(page)) > 0
    wrong = [id_ for id_, rule, _ in rows(page) if not LENGTHS[0] < len(rule) < LENGTHS[1]]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES)
def test_every_rule_names_its_test(page: str) -> None:
    """The test modules that a rule names exist."""
    missing = [
        f"{id_}: {test}"
        for id_, _, tests in rows(page)
        for test in tests
        if not re.fullmatch(r"tests/.*/test_\w+\.py", test) or not (ROOT / test).is_file()
    ]
    assert missing == []


def test_the_index_names_every_page() -> None:
    """The index links each page and states its prefix."""
    text = (RULES / "index.md").read_text(encoding="utf-8")
    found = dict(re.findall(r"\| `(\w+)` \| \[[^\]]+\]\((\S+)\)", text))
    assert found == {prefix: page for page, prefix in PAGES.items()}
    assert {path.name for path in RULES.iterdir()} == {*PAGES, "index.md"}


def test_every_rule_referred_to_exists() -> None:
    """An id in code, tests or docs is that of a rule."""
    unknown = [
        f"{path.relative_to(ROOT)}: {id_}"
        for path, text in sources().items()
        for id_ in ID.findall(text)
        if id_ not in ids()
    ]
    assert unknown == []


@pytest.mark.parametrize("private", [PRIVATE_CODE, PRIVATE_DOCUMENT], ids=["code", "name"])
def test_nothing_refers_to_private_documents(private: re.Pattern[str]) -> None:
    """No code or name of a document outside the repository remains."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path, text in sources().items()
        if private.search(text)
        for number, line in prose(path, text)
        if private.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# see P" + "33", [1]),
        ('x = "P' + '95"', []),
        ("P" + '95 = ("rules", "set")', []),
        ('"""A gate (R' + '50)."""', [1]),
    ],
)
def test_knows_a_code_from_data(text: str, expected: list[int]) -> None:
    """Names and one-word strings are data; comments and docstrings are prose."""
    lines = prose(Path("x.py"), f"{text}\n")
    assert [n for n, line in lines if PRIVATE_CODE.search(line)] == expected
