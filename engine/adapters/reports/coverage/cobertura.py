"""Cobertura XML, as coverage.py, istanbul, vitest, gcovr and others write it."""

from ..report import Coverage, Found, Report
from ..xml_events import Attributes, walk

_TOLERANCE = 0.005
"""Rates are written with two digits or more."""


def read_cobertura(report: Report) -> Found:
    """Return the coverage of lines; refuse what is no Cobertura report."""
    lines = _CountedLines(report)
    walk(report, start=lines.start, end=lines.end, text=lines.text)
    covered, total = lines.totals()
    percentage = lines.percentage(covered, total)
    sources = frozenset(report.source(file, lines.roots) for file in lines.files)
    none = () if total != 0 else ("there were no lines to cover: no percentage",)
    return Found(coverage=Coverage(covered, total, percentage, sources), notes=none)


class _CountedLines:
    """The lines of a report, counted as they come; a line of two classes is one line."""

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
                    f"<{tag[:40]}> at the top: this is no Cobertura report",
                    hint="most tools can write Cobertura XML or LCOV",
                )
            self.root = attributes
        self._open.append(tag)
        if tag == "class":
            name = attributes.get("filename", "")
            self._file = self.files.setdefault(name, {})
        elif tag == "source":
            self.roots.append("")
        # The lines of methods are there again among those of their class.
        elif tag == "line" and self._open[-3:] == ["class", "lines", "line"]:
            number = attributes.get("number", "")
            hit = self._report.counted(attributes.get("hits", ""), "hits") > 0
            self._report.counted(number, "number")
            self._file[number] = self._file.get(number, False) or hit

    def text(self, text: str) -> None:
        # It comes in pieces, which belong to the <source> that began last.
        if self._open and self._open[-1] == "source":
            self.roots[-1] += text

    def end(self, tag: str) -> None:
        self._open.pop()

    def totals(self) -> tuple[int | None, int | None]:
        """Return the stated sums, else those of the lines, else nothing."""
        names = ("lines-covered", "lines-valid")
        if all(name in self.root for name in names):
            covered, total = (self._report.counted(self.root[n], n) for n in names)
            if covered > total:
                raise self._report.bad("more lines are covered than there are")
            return covered, total
        seen = [hit for lines in self.files.values() for hit in lines.values()]
        return (sum(seen), len(seen)) if seen else (None, None)

    def percentage(self, covered: int | None, total: int | None) -> float | None:
        """Return what part of the lines the report says was run."""
        rate = self._rate()
        if rate is None or total == 0:
            return None
        # Counted lines may be fewer than those the rate is about: what is stated counts.
        if covered is None or total is None or "lines-valid" not in self.root:
            return 100 * rate
        if abs(rate - covered / total) > _TOLERANCE:
            problem = f"{rate:g} is not {covered} of {total} lines"
            raise self._report.bad(problem, field="line-rate")
        # The same rate, not rounded.
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
