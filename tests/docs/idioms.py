"""Find idioms of the denylist in prose, and count them per package.

`python -m tests.docs.idioms [PATH...]` lists the hits. `--write` lowers the figures of
`idioms.json` to the current ones and refuses to raise any; with `--moved` it accepts
higher figures after files moved between packages, as long as the total does not rise.
"""

import json
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DENYLIST = Path(__file__).with_name("idioms.toml")
FIGURES = Path(__file__).with_name("idioms.json")
COMMAND = "python -m tests.docs.idioms --write"
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
SPLIT = ("cli", "docs", "engine", "projections")
"""Trees with one figure for each first-level folder."""
WHOLE = (".package", "tests")
"""Trees with one figure: files often move between the folders of the tests."""
MARK = re.compile(r"(?:#|<!--) idiom: ok\b")
"""On a line whose hits are right and do not count."""

_SUFFIXES = (".md", ".py", ".rst", ".txt")
_SKIPPED = {"__pycache__", "node_modules"}
_LITERAL_LENGTH_MIN = 13
_TOKEN = re.compile(
    r"#[^\n]*"
    r'|"""([^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*)"""'
    r"|'''([^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*)'''"
    r'|"([^"\\\n]*(?:\\.[^"\\\n]*)*)"'
    r"|'([^'\\\n]*(?:\\.[^'\\\n]*)*)'",
    re.DOTALL,
)
"""A comment, or a string literal without its prefix.

Without possessive quantifiers: Python 3.11.2 matches nested ones wrongly.
"""
_TRIPLE_GROUPS = 2
_FIELD = re.compile(r"\{[^{}]*\}")
_CODE = re.compile(r"`[^`]*`")
_TARGET = re.compile(r"(?<=\])\([^)\s]*\)")
"""The target of a Markdown link."""
_WORD = re.compile(r"[a-z]+")
_HELP = re.compile(r"\bhelp=\(?\s*[fr]?$")
_COMMAND_DECORATOR = re.compile(r"@\S*(?:command|group)\b")
_TRIPLE = re.compile(r"[rRuU]?(?:\"{3}|'{3})")


class Idiom(NamedTuple):
    """A pattern of the denylist; see `idioms.toml` for the fields."""

    regex: re.Pattern[str]
    words: frozenset[str]
    write: str
    hits: tuple[str, ...]
    misses: tuple[str, ...]


class Hit(NamedTuple):
    """An idiom that was found in a line of prose."""

    path: str
    line: int
    kind: str
    text: str
    write: str

    def __str__(self) -> str:
        """Return the hit as one line of a report."""
        return f"{self.path}:{self.line}: {self.kind}: {self.text!r}: write {self.write}"


class Figure(NamedTuple):
    """Hits and lines of prose in one package."""

    hits: int
    lines: int

    @property
    def per_hundred(self) -> float:
        """Return the hits per 100 lines."""
        return 100 * self.hits / self.lines if self.lines else 0.0

    def is_above(self, other: "Figure") -> bool:
        """Return whether both the hits and their rate exceed those of another figure.

        Deleting lines without hits raises only the rate, which is allowed.
        """
        is_denser = self.hits * max(other.lines, 1) > other.hits * max(self.lines, 1)
        return is_denser and self.hits > other.hits


def read_denylist() -> tuple[Idiom, ...]:
    """Return the idioms of `idioms.toml`."""
    tables = tomllib.loads(DENYLIST.read_text(encoding="utf-8"))["idiom"]
    return tuple(
        Idiom(
            re.compile(table["regex"], re.IGNORECASE),
            frozenset(table["words"]),
            table["write"],
            tuple(table["hits"]),
            tuple(table.get("misses", ())),
        )
        for table in tables
    )


IDIOMS = read_denylist()
_BY_WORD = {
    word: frozenset(n for n, idiom in enumerate(IDIOMS) if word in idiom.words)
    for word in frozenset[str]().union(*(idiom.words for idiom in IDIOMS))
}
_WORDS = frozenset(_BY_WORD)


def search(text: str) -> Iterator[tuple[Idiom, str]]:
    """Yield each idiom found in a line of prose, with the first text it matches."""
    words = _WORD.findall(text.lower())
    if _WORDS.isdisjoint(words):
        return
    for number in sorted({n for word in words for n in _BY_WORD.get(word, ())}):
        if found := IDIOMS[number].regex.search(text):
            yield IDIOMS[number], found[0].strip()


def prose(path: str, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield number, offset and text of each line of prose; the offset is for `kind`."""
    return _python_prose(text) if path.endswith(".py") else _markdown_prose(text)


def _markdown_prose(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the lines outside of code blocks, without the targets of links."""
    is_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        elif not is_code and not line.startswith("    "):
            yield number, 0, _TARGET.sub("", _CODE.sub("`x`", line))


def _python_prose(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the lines of comments and of string literals that may contain a sentence."""
    line, counted = 1, 0
    for start, body in _literals(text):
        if " " not in body or (len(body) < _LITERAL_LENGTH_MIN and body[0] != "#"):
            continue
        line += text.count("\n", counted, start)
        counted = start
        rows = _FIELD.sub("{}", body).split("\n") if "{" in body else body.split("\n")
        for number, row in enumerate(rows, line):
            for part in row.split("\\n"):
                yield number, start, part


def _literals(text: str) -> Iterator[tuple[int, str]]:
    """Yield offset and body of comments and string literals, adjacent literals joined."""
    begun, literal, end = 0, "", 0
    for token in _TOKEN.finditer(text):
        start, stop = token.span()
        if text[start] == "#":
            yield begun, literal
            yield start, token[0]
            literal = ""
            continue
        number = token.lastindex or 0
        while start and text[start - 1] in "bBfFrRuU":
            start -= 1
        if "b" in text[start : token.start()].lower():
            continue
        if number > _TRIPLE_GROUPS and literal and text[end:start].isspace():
            literal += token[number]
        else:
            yield begun, literal
            begun, literal = start, token[number]
        end = stop
    yield begun, literal


def kind(path: str, text: str, start: int) -> str:
    """Return docs, comment, docstring, help or message for the prose at an offset."""
    if not path.endswith(".py"):
        return "docs"
    if text[start] == "#":
        return "comment"
    if path.startswith("cli/help/") or _HELP.search(text, max(0, start - 40), start):
        return "help"
    indent = text[text.rfind("\n", 0, start) + 1 : start]
    is_argument = text[max(0, start - 200) : start].rstrip()[-1:] in tuple("([{,=+%")
    if indent.strip() or is_argument or not _TRIPLE.match(text, start):
        return "message"
    defined = text.rfind("\ndef ", 0, start)
    if defined < 0 or "\n\n" in text[defined:start]:
        return "docstring"
    decorators = text[text.rfind("\n\n", 0, defined) : defined]
    return "help" if _COMMAND_DECORATOR.search(decorators) else "docstring"


def files() -> Iterator[str]:
    """Yield the path of every file that is searched, relative to the root."""
    yield from PAGES
    for tree in (*SPLIT, *WHOLE):
        for folder, folders, names in os.walk(ROOT / tree):
            folders[:] = sorted({*folders} - _SKIPPED)
            inside = os.path.relpath(folder, ROOT).replace(os.sep, "/")
            yield from (f"{inside}/{name}" for name in names if name.endswith(_SUFFIXES))


def package(path: str) -> str:
    """Return the name under which the hits of a file are counted."""
    tree, *rest = path.split("/")
    return f"{tree}/{rest[0]}" if tree in SPLIT and len(rest) > 1 else tree


def read(path: str) -> tuple[int, int, list[Hit]]:
    """Return the lines of prose, the marked lines and the unmarked hits of a file."""
    text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
    lines, hits = 0, list[Hit]()
    for line, start, row in prose(path, text):
        lines += 1
        for idiom, found in search(row):
            hits.append(Hit(path, line, kind(path, text, start), found, idiom.write))
    if "idiom: ok" not in text:
        return lines, 0, hits
    marked = {n for n, row in enumerate(text.split("\n"), 1) if MARK.search(row)}
    return lines, len(marked), [hit for hit in hits if hit.line not in marked]


class Survey(NamedTuple):
    """Figures and hits per package, and the number of marked lines."""

    figures: dict[str, Figure]
    hits: dict[str, list[Hit]]
    marked: int


def survey(paths: Iterable[str] | None = None) -> Survey:
    """Read all files, or the given ones, and return figures and hits per package."""
    found: dict[str, list[Hit]] = {}
    lines: dict[str, int] = {}
    marked = 0
    for path in files() if paths is None else paths:
        name = package(path)
        read_lines, read_marked, hits = read(path)
        lines[name] = lines.get(name, 0) + read_lines
        found.setdefault(name, []).extend(hits)
        marked += read_marked
    figures = {name: Figure(len(found[name]), lines[name]) for name in sorted(found)}
    return Survey(figures, found, marked)


def stored() -> dict[str, Figure]:
    """Return the figures of `idioms.json`; a package that is missing there has none."""
    if not FIGURES.exists():
        return {}
    return {name: Figure(*pair) for name, pair in json.loads(FIGURES.read_text()).items()}


def risen(new: dict[str, Figure], old: dict[str, Figure]) -> list[str]:
    """Return the packages whose figure exceeds the stored one."""
    nothing = Figure(0, 0)
    return [name for name, figure in new.items() if figure.is_above(old.get(name, nothing))]


def newest_first(hits: Iterable[Hit]) -> list[Hit]:
    """Return the hits with those in the most recently edited files first."""
    return sorted(hits, key=lambda hit: -(ROOT / hit.path).stat().st_mtime)


def fallen(new: dict[str, Figure], old: dict[str, Figure]) -> list[str]:
    """Return the packages whose stored figure can be lowered, or removed."""
    return [
        name for name, figure in old.items() if new.get(name, figure).hits < figure.hits
    ]


def write(new: dict[str, Figure]) -> None:
    """Store figures, one package a line so that changes rarely conflict."""
    rows = (f"  {json.dumps(name)}: {json.dumps(figure)}" for name, figure in new.items())
    FIGURES.write_text("{\n" + ",\n".join(rows) + "\n}\n")


def main(arguments: list[str]) -> int:
    """List hits, or update the figures; return the exit status."""
    is_writing = "--write" in arguments
    paths = [path for path in arguments if not path.startswith("--")]
    seen = survey([p for p in files() if p.startswith(tuple(paths))] if paths else None)
    if not is_writing:
        for hits in seen.hits.values():
            print(*hits, sep="\n", end="\n" if hits else "")  # noqa: T201
        return 0
    if paths:
        sys.exit("error: --write counts all files and takes no path")
    old = stored()
    higher = risen(seen.figures, old) if old else []
    total, before = (
        sum(f.hits for f in figures.values()) for figures in (seen.figures, old)
    )
    if higher and not ("--moved" in arguments and total <= before):
        sys.exit(f"error: idioms.json is unchanged: hits rose in {', '.join(higher)}")
    write(seen.figures)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
