"""LCOV, as lcov, coverage.py, istanbul, vitest, cargo-llvm-cov and others write it."""

import re

from ..report import Found, Report, lines_found

_LINE = re.compile(rb"DA:([0-9]{1,10}),([0-9]{1,19})(?:,.*)?")
_SUM = re.compile(rb"L([FH]):([0-9]{1,16})")
_OTHER = re.compile(rb"(?:TN|VER|[A-Z]{2,6}):.*|#.*|")


class _Source:
    """The lines of one source file, over all its records."""

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self.hit: set[int] = set()
        self.stated = {b"F": 0, b"H": 0}

    def counts(self) -> tuple[int, int]:
        """Return how many lines are covered, of how many; sums count only without lines."""
        if self.seen:
            return len(self.hit), len(self.seen)
        return self.stated[b"H"], self.stated[b"F"]


def read_lcov(report: Report) -> Found:
    """Return the coverage of lines; refuse what is no LCOV."""
    sources = _sources(report)
    counts = [source.counts() for source in sources.values()]
    covered, total = sum(one for one, _ in counts), sum(all_ for _, all_ in counts)
    return lines_found(report, covered, total, sources, field="LH")


def _sources(report: Report) -> dict[str, _Source]:
    sources: dict[str, _Source] = {}
    source: _Source | None = None
    for number, line in report.lines():
        if line.startswith(b"SF:"):
            if source is not None:
                raise report.bad("a record begins within another", line=number)
            source = sources.setdefault(_name(report, line[3:], number), _Source())
        elif line == b"end_of_record":
            source = None
        elif found := _LINE.fullmatch(line):
            if source is None:
                raise report.bad("a line of no source file", line=number)
            source.seen.add(int(found[1]))
            if int(found[2]):
                source.hit.add(int(found[1]))
        elif found := _SUM.fullmatch(line):
            if source is None:
                raise report.bad("a sum of no source file", line=number)
            source.stated[found[1]] += int(found[2])
        elif line.startswith((b"DA:", b"LF:", b"LH:")) or not _OTHER.fullmatch(line):
            raise report.bad(f"{_shown(line)} is not LCOV", line=number)
    if source is not None:
        raise report.bad("ends within a record: it is cut off")
    if not sources:
        raise report.bad("holds no record of a source file")
    return sources


def _name(report: Report, name: bytes, line: int) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise report.bad("the file's name is not UTF-8", line=line) from error


def _shown(line: bytes) -> str:
    return repr(line[:40].decode(errors="replace"))
