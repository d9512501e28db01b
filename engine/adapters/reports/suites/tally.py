"""Counts of tests, the same for every format.

A case counts once. Whatever only summarizes cases (a suite, a file, a run) is not a test,
unless it failed although no case in it did: then it counts as one failed test.
"""

from collections import Counter
from typing import Literal

from ..report import COUNT_MAX, Found, Report

Kind = Literal["passed", "failed", "skipped"]
Tally = Counter[Kind]


def failed_at_least_once(tests: Tally) -> None:
    """Count one failed test if none of those counted has failed."""
    tests["failed"] = max(1, tests["failed"])


def found(report: Report, tests: Tally, tool: str | None = None) -> Found:
    """Return the metrics of the tests that a report lists."""
    count = tests.total()
    if count > COUNT_MAX:
        raise report.bad("more tests than can be counted")
    counts = {
        "test_count": count,
        "tests_passed": tests["passed"],
        "tests_failed": tests["failed"],
        "tests_skipped": tests["skipped"],
    }
    none = () if count else ("no tests were collected: that is not a pass",)
    return Found(counts, tool=tool, notes=none)
