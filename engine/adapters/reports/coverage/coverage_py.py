"""The JSON of coverage.py (`coverage json`), in the formats of versions 5 to 7."""

from typing import Annotated

import msgspec

from ..json_values import Count, Counted, decode
from ..report import Coverage, Found, Report


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
    """Return the coverage as it is stated: with branches, where they were measured."""
    document = decode(report, _CoverageJson)
    totals = document.totals
    covered, total = totals.covered_lines, totals.num_statements
    if covered > total:
        raise report.bad("more lines are covered than there are", field="totals")
    sources = frozenset(map(report.source, document.files))
    return Found(
        # It calls nothing of nothing 100 %.
        coverage=Coverage(
            covered, total, totals.percent_covered if total else None, sources
        ),
        tool=f"coverage.py {document.meta.version}",
        notes=() if total else ("there were no lines to cover: no percentage",),
    )
