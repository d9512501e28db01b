"""Coverage reports: LCOV, coverage.py's JSON, Cobertura, Clover and JaCoCo.

The supported reports are LCOV files from lcov, coverage.py, istanbul, vitest and
cargo-llvm-cov, Cobertura XML from coverage.py, istanbul, vitest and gcovr, and the JSON
output of `coverage json` in versions 5 to 7. Clover and JaCoCo reports contain the totals.
"""

import re
from typing import Annotated, NamedTuple

import msgspec

from .parsers import Attributes, Count, Counted, decode, walk
from .report import Coverage, Found, Report, lines_found

_LINE = re.compile(rb"DA:([0-9]{1,10}),([0-9]{1,19})(?:,.*)?")
_SUM = re.compile(rb"L([FH]):([0-9]{1,16})")
_OTHER = re.compile(rb"(?:TN|VER|[A-Z]{2,6}):.*|#.*|")
_TOLERANCE = 0.005
"""The tolerance for rates in Cobertura reports, which have at least two digits."""


class _Source:
    """The lines of one source file, combined from all its records."""

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self.hit: set[int] = set()
        self.stated = {b"F": 0, b"H": 0}

    def counts(self) -> tuple[int, int]:
        """Return covered and total lines; the totals in the report are only a fallback."""
        if self.seen:
            return len(self.hit), len(self.seen)
        return self.stated[b"H"], self.stated[b"F"]


def read_lcov(report: Report) -> Found:
    """Return the line coverage; reject anything but LCOV."""
    sources = _sources(report)
    counts = [source.counts() for source in sources.values()]
    covered, total = sum(one for one, _ in counts), sum(all_ for _, all_ in counts)
    return lines_found(report, covered, total, sources, "LH")


def _sources(report: Report) -> dict[str, _Source]:
    sources: dict[str, _Source] = {}
    source: _Source | None = None
    for number, line in report.lines():
        if line.startswith(b"SF:"):
            if source is not None:
                raise report.bad("a record starts within another", line=number)
            source = sources.setdefault(_name(report, line[3:], number), _Source())
        elif line == b"end_of_record":
            source = None
        elif found := _LINE.fullmatch(line):
            if source is None:
                raise report.bad("a line outside the record of a source file", line=number)
            source.seen.add(int(found[1]))
            if int(found[2]):
                source.hit.add(int(found[1]))
        elif found := _SUM.fullmatch(line):
            if source is None:
                raise report.bad("a total outside the record of a source file", line=number)
            source.stated[found[1]] += int(found[2])
        elif line.startswith((b"DA:", b"LF:", b"LH:")) or not _OTHER.fullmatch(line):
            shown = line[:40].decode(errors="replace")
            raise report.bad(f"{shown!r} is not LCOV", line=number)
    if source is not None:
        raise report.bad("ends within a record: the file is truncated")
    if not sources:
        raise report.bad("contains no record of a source file")
    return sources


def _name(report: Report, name: bytes, line: int) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise report.bad("the file's name is not UTF-8", line=line) from error


class _Meta(msgspec.Struct):
    version: str


class _Totals(msgspec.Struct):
    covered_lines: Count
    num_statements: Count
    percent_covered: Annotated[float, msgspec.Meta(ge=0, le=100)]


class _CoverageJson(msgspec.Struct):
    meta: _Meta
    files: dict[str, Counted]
    totals: _Totals


def read_coverage_py(report: Report) -> Found:
    """Return the reported coverage, including branches if they were measured."""
    document = decode(report, _CoverageJson)
    totals, percentage = document.totals, document.totals.percent_covered
    counts = totals.covered_lines, totals.num_statements
    found = lines_found(report, *counts, document.files, "totals", percentage)
    return found._replace(tool=f"coverage.py {document.meta.version}")


def read_cobertura(report: Report) -> Found:
    """Return the line coverage; reject anything but a Cobertura report."""
    lines = _CountedLines(report)
    walk(report, start=lines.start, end=lines.end, text=lines.text)
    covered, total = lines.totals()
    percentage = lines.percentage(covered, total)
    sources = frozenset(report.source(file, lines.roots) for file in lines.files)
    none = () if total != 0 else ("there were no lines to cover: no percentage",)
    return Found(coverage=Coverage(covered, total, percentage, sources), notes=none)


class _CountedLines:
    """The lines in a Cobertura report; a line that belongs to two classes counts once."""

    def __init__(self, report: Report) -> None:
        self.root: Attributes = {}
        self.roots: list[str] = []
        self.files: dict[str, dict[str, bool]] = {}
        self._report = report
        self._open: list[str] = []
        self._file: dict[str, bool] = {}

    def start(self, tag: str, attributes: Attributes) -> None:
        if not self._open:
            if tag != "coverage" or "line-rate" not in attributes:
                raise self._report.bad(
                    f"the root element is <{tag[:40]}>: not a Cobertura report",
                    hint="most tools can write Cobertura XML or LCOV",
                )
            self.root = attributes
        self._open.append(tag)
        if tag == "class":
            self._file = self.files.setdefault(attributes.get("filename", ""), {})
        elif tag == "source":
            self.roots.append("")
        # The lines of methods are repeated in the lines of their class.
        elif tag == "line" and self._open[-3:] == ["class", "lines", "line"]:
            number = attributes.get("number", "")
            hit = self._report.counted(attributes.get("hits", ""), "hits") > 0
            self._report.counted(number, "number")
            self._file[number] = self._file.get(number, False) or hit

    def text(self, text: str) -> None:
        # Text arrives in pieces, which belong to the latest <source>.
        if self._open and self._open[-1] == "source":
            self.roots[-1] += text

    def end(self, tag: str) -> None:
        self._open.pop()

    def totals(self) -> tuple[int | None, int | None]:
        """Return the reported totals, or else the line counts; None if both are missing."""
        names = ("lines-covered", "lines-valid")
        if all(name in self.root for name in names):
            covered, total = (self._report.counted(self.root[n], n) for n in names)
            if covered > total:
                raise self._report.bad("more lines are covered than exist")
            return covered, total
        seen = [hit for lines in self.files.values() for hit in lines.values()]
        return (sum(seen), len(seen)) if seen else (None, None)

    def percentage(self, covered: int | None, total: int | None) -> float | None:
        """Return the percentage of covered lines, as given in the report."""
        if (rate := self._rate()) is None or total == 0:
            return None
        # The rate may cover more lines than the report lists: the stated rate wins.
        if covered is None or total is None or "lines-valid" not in self.root:
            return 100 * rate
        if abs(rate - covered / total) > _TOLERANCE:
            problem = f"{rate:g} does not match {covered} of {total} lines"
            raise self._report.bad(problem, field="line-rate")
        # The same rate, unrounded.
        return 100 * covered / total

    def _rate(self) -> float | None:
        text = self.root["line-rate"]
        try:
            rate = float(text)
        except ValueError:
            rate = -1.0
        if text == "NaN":
            return None
        if not 0 <= rate <= 1:
            raise self._report.bad(f"{text[:40]!r} is not a rate", field="line-rate")
        return rate


class _Shape(NamedTuple):
    sums: tuple[str, ...]
    """The tags from the root to the element that contains the totals."""
    kind: Attributes
    """The attributes that this element must have."""
    covered: str
    total: tuple[str, ...]
    """The attributes whose sum is the number of lines."""
    file: str
    """The tag for a source file."""


_CLOVER = _Shape(
    ("coverage", "project", "metrics"), {}, "coveredstatements", ("statements",), "file"
)
_JACOCO = _Shape(
    ("report", "counter"), {"type": "LINE"}, "covered", ("covered", "missed"), "sourcefile"
)


def read_clover(report: Report) -> Found:
    """Return the statement coverage, as reported by Clover, PHPUnit or istanbul."""
    return _read(report, _CLOVER)


def read_jacoco(report: Report) -> Found:
    """Return the line coverage that JaCoCo reports for all code."""
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
        raise report.bad(
            f"states its line counts {len(sums)} times instead of once", field=place
        )
    return lines_found(report, *sums[0], files, shape.covered)
