"""Reading what stands in another loop's folder: bounded, plain, and by no link."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sprintlog.projections.state_files.yaml.reader import load as yaml_of

from ..intake.files import decoded, load
from .found import JsonLines, Unread, plain_bytes

_ITEM = r"(?:[-*+]|\d{1,9}[.)]) "
_BOX = re.compile(rf"([ \t]*){_ITEM}\[([ xX])\][ \t]+(\S.*)")
_UNMARKED = re.compile(rf"{_ITEM}(?!\[[ xX]\]\s)")
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(r"[ \t]*(```|~~~)")


class Checkbox(NamedTuple):
    """An item of a list in Markdown that is ticked or not."""

    line: int
    headings: tuple[str, ...]
    """Those it is under, the widest first."""
    depth: int
    """By how much it is indented; 0 at the margin."""
    done: bool
    text: str


def read_text(file: Path, *, below: Path | None = None) -> str:
    """Return the text of a plain file that no link leads to, within `below`."""
    return decoded(plain_bytes(file, below=below), file=str(file))


def load_json(file: Path, *, below: Path | None = None) -> Any:
    """Return what a file of JSON holds; raise naming the file."""
    return load(plain_bytes(file, below=below), file=str(file))


def load_yaml(file: Path, *, below: Path | None = None) -> Any:
    """Return what a file of YAML holds, its core schema alone; raise naming the line."""
    return yaml_of(plain_bytes(file, below=below), file=str(file))


def load_json_lines(
    file: Path, *, below: Path | None = None
) -> tuple[list[tuple[int, dict[str, Any]]], list[Unread]]:
    """Return each object with its line, and the lines that are none."""
    lines = JsonLines(file, below=below or file.parent)
    return [*lines], lines.unread


def checkboxes(text: str) -> Iterator[Checkbox]:
    """Yield the items of a text in Markdown, but those in blocks of code."""
    headings: dict[int, str] = {}
    for number, line in _outside_code(text):
        if found := _HEADING.match(line):
            level = len(found[1])
            headings = {at: said for at, said in headings.items() if at < level}
            headings[level] = found[2].strip(" #")
        elif found := _BOX.match(line):
            above = tuple(headings[at] for at in sorted(headings))
            depth = len(found[1].expandtabs(4))
            is_done = found[2] != " "
            yield Checkbox(number, above, depth, is_done, found[3].strip())


def unmarked(text: str) -> int:
    """Return how many items at the margin of a text in Markdown have no check box."""
    return sum(_UNMARKED.match(line) is not None for _, line in _outside_code(text))


def _outside_code(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are in no block of code, with their numbers."""
    fence = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if found := _FENCE.match(line):
            fence = "" if fence == found[1] else fence or found[1]
        elif not fence:
            yield number, line
