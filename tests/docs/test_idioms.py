"""The denylist of idioms: its examples, and the figures that may only fall (ADR 0097)."""

import sys
from functools import cache

import pytest

from .idioms import (
    COMMAND,
    IDIOMS,
    Figure,
    Hit,
    Idiom,
    Survey,
    fallen,
    kind,
    newest_first,
    package,
    prose,
    risen,
    search,
    stored,
    survey,
)

MARKS_MAX = 30
SHOWN_MAX = 20


@cache
def found() -> Survey:
    """Return the survey of the complete tree, read once for all tests."""
    return survey()


def found_by(idiom: Idiom, text: str) -> bool:
    """Return whether an idiom is among those found in a text."""
    return any(one is idiom for one, _ in search(text))


@pytest.mark.parametrize("idiom", IDIOMS, ids=lambda idiom: idiom.hits[0])
def test_idioms_match_their_examples(idiom: Idiom) -> None:
    """Every idiom is found in each of its hits and in none of its misses."""
    assert idiom.hits
    assert [text for text in idiom.hits if not found_by(idiom, text)] == []
    assert [text for text in idiom.misses if found_by(idiom, text)] == []


def test_no_package_gains_idioms(capsys: pytest.CaptureFixture[str]) -> None:
    """The hits per 100 lines of a package never rise above the stored figure."""
    seen, old = found(), stored()
    for name in risen(seen.figures, old):
        new, before = seen.figures[name], old.get(name, Figure(0, 0))
        newest = "\n".join(map(str, newest_first(seen.hits[name])[:SHOWN_MAX]))
        pytest.fail(
            f"{name}: {new.hits} hits, {new.per_hundred:.2f} per 100 lines; "
            f"stored: {before.hits}, {before.per_hundred:.2f}\n"
            f"If files only moved between packages: {COMMAND} --moved\n"
            f"Otherwise rewrite, the most recently edited files first:\n{newest}"
        )
    if lower := ", ".join(fallen(seen.figures, old)):
        with capsys.disabled():
            sys.stderr.write(f"\nfewer idioms in {lower}; store with: {COMMAND}\n")


def test_few_lines_are_exempt() -> None:
    """At most 30 lines of the repository are marked `idiom: ok`."""
    assert found().marked <= MARKS_MAX


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (Figure(3, 100), Figure(2, 100), ["a"]),
        (Figure(1, 100), Figure(0, 0), ["a"]),
        (Figure(3, 100), Figure(2, 50), []),
        (Figure(2, 50), Figure(2, 100), []),
        (Figure(0, 10), Figure(0, 0), []),
    ],
)
def test_a_figure_rises_with_hits(new: Figure, old: Figure, expected: list[str]) -> None:
    """A figure has risen if a package has more hits and more hits per line."""
    assert risen({"a": new}, {"a": old}) == expected


def test_a_new_package_starts_at_zero() -> None:
    """A package without a stored figure may not have any hits."""
    assert risen({"a": Figure(1, 1000)}, {}) == ["a"]


def test_a_removed_package_has_fallen() -> None:
    """Only figures below the stored ones require an update."""
    old = {"a": Figure(2, 10), "b": Figure(1, 10), "c": Figure(1, 10)}
    assert fallen({"a": Figure(1, 10), "b": Figure(1, 5)}, old) == ["a"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("README.md", "README.md"),
        ("docs/README.md", "docs"),
        ("docs/how-to/configure.md", "docs/how-to"),
        ("engine/log/stores/sqlite/x.py", "engine/log"),
        ("tests/cli/test_x.py", "tests"),
    ],
)
def test_files_count_for_a_package(path: str, expected: str) -> None:
    """A file counts for its first-level folder; all tests count together."""
    assert package(path) == expected


SOURCE = '''"""The module is explained here."""

LIMIT = "a short text"
"""What a constant is for."""


@click.command(help="Help that a decorator has.")
def one() -> None:
    """Print the events of a sprint."""
    # A reason for the next line.
    raise Problem("one sentence " f"of {two} parts.\\nAnd a second line.")


def two() -> None:
    """Return nothing at all."""
    return call(
        """A text that is given.""", b"bytes are never read", "short", "nospacesinthis"
    )
'''


def test_python_prose_has_kinds() -> None:
    """Docstrings, help, messages and comments are distinguished, with their lines."""
    read = [
        (line, kind("engine/x.py", SOURCE, start), text)
        for line, start, text in prose("engine/x.py", SOURCE)
    ]
    assert read == [
        (1, "docstring", "The module is explained here."),
        (4, "docstring", "What a constant is for."),
        (7, "help", "Help that a decorator has."),
        (9, "help", "Print the events of a sprint."),
        (10, "comment", "# A reason for the next line."),
        (11, "message", "one sentence of {} parts."),
        (11, "message", "And a second line."),
        (15, "docstring", "Return nothing at all."),
        (17, "message", "A text that is given."),
    ]


def test_code_of_a_page_is_not_prose() -> None:
    """Code blocks and link targets are not searched; inline code counts as one word."""
    page = "[One](x.md) `two three`.\n```\ncode\n```\n\n    code\nEnd."
    read = [(line, text) for line, _, text in prose("x.md", page) if text]
    assert read == [(1, "[One] `x`."), (7, "End.")]


def test_a_hit_names_its_replacement() -> None:
    """A hit is one line: its location, kind and text, and the suggested replacement."""
    hit = Hit("engine/x.py", 7, "comment", "afresh", "again")
    assert str(hit) == "engine/x.py:7: comment: 'afresh': write again"
