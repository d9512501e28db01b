"""Playwright's JSON: suites within suites, specs, and a test for each project."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from ..json_values import Counted, decode
from ..report import Found, Report
from .tally import Kind, Tally, failed_at_least_once, found

_Status = Literal["expected", "unexpected", "flaky", "skipped"]
_KINDS: Mapping[_Status, Kind] = {
    "expected": "passed",
    "unexpected": "failed",
    "flaky": "passed",
    "skipped": "skipped",
}


class _Test(msgspec.Struct):
    status: _Status


class _Spec(msgspec.Struct):
    tests: list[_Test]


class _Suite(msgspec.Struct):
    specs: list[_Spec] = []
    suites: list["_Suite"] = []


class _PlaywrightJson(msgspec.Struct):
    suites: list[_Suite]
    stats: dict[str, Any]
    errors: list[Counted] = []


def read(report: Report) -> Found:
    """Return the counts of tests; errors outside of all tests are a failed test."""
    document = decode(report, _PlaywrightJson)
    statuses = [one.status for one in _tests(document.suites)]
    for status in _KINDS:
        listed, stated = statuses.count(status), document.stats.get(status)
        if listed != stated:
            problem = f"{listed} tests are listed, {stated} stated"
            raise report.bad(problem, field=f"stats.{status}")
    tests = Tally(_KINDS[status] for status in statuses)
    if document.errors:
        failed_at_least_once(tests)
    return found(report, tests, "playwright")


def _tests(suites: list[_Suite]) -> Iterator[_Test]:
    for suite in suites:
        for spec in suite.specs:
            yield from spec.tests
        yield from _tests(suite.suites)
