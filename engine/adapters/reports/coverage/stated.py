"""Clover and JaCoCo XML: the sums of lines that the report states for everything."""

from typing import NamedTuple

from ..report import Found, Report, lines_found
from ..xml_events import Attributes, walk


class _Shape(NamedTuple):
    sums: tuple[str, ...]
    """The tags from the root to the element with the sums."""
    kind: Attributes
    """The attributes that this element must have."""
    covered: str
    total: tuple[str, ...]
    """The attributes that add up to all lines."""
    file: str
    """The tag of a source file."""


_CLOVER = _Shape(
    ("coverage", "project", "metrics"), {}, "coveredstatements", ("statements",), "file"
)
_JACOCO = _Shape(
    ("report", "counter"), {"type": "LINE"}, "covered", ("covered", "missed"), "sourcefile"
)


def read_clover(report: Report) -> Found:
    """Return the coverage of statements, as Clover, PHPUnit and istanbul state it."""
    return _read(report, _CLOVER)


def read_jacoco(report: Report) -> Found:
    """Return the coverage of lines that JaCoCo states for the whole report."""
    return _read(report, _JACOCO)


def _read(report: Report, shape: _Shape) -> Found:
    tags: list[str] = []
    names: list[str] = []
    files: set[str] = set()
    sums: list[tuple[int, int]] = []

    def start(tag: str, attributes: Attributes) -> None:
        tags.append(tag)
        names.append(attributes.get("path") or attributes.get("name", ""))
        if tag == shape.file:
            # JaCoCo's name lacks the package, which several modules of a build may have.
            files.add(names[-1] if shape is _CLOVER else "/".join(names))
        elif tuple(tags) == shape.sums and attributes.items() >= shape.kind.items():
            total = sum(report.counted(attributes.get(n, ""), n) for n in shape.total)
            covered = report.counted(attributes.get(shape.covered, ""), shape.covered)
            sums.append((covered, total))

    def end(tag: str) -> None:
        tags.pop()
        names.pop()

    walk(report, start=start, end=end)
    if len(sums) != 1:
        place = "/".join(shape.sums)
        raise report.bad(f"states its lines {len(sums)} times, not once", field=place)
    return lines_found(report, *sums[0], files, field=shape.covered)
