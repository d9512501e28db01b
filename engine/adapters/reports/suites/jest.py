"""The JSON of Jest and Vitest: files, each with its tests."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from ..json_values import Count, decode
from ..report import Found, Report
from .tally import Kind, Tally, failed_at_least_once, found

_Status = Literal["passed", "failed", "pending", "skipped", "todo", "disabled"]
_KINDS: Mapping[_Status, Kind] = {"passed": "passed", "failed": "failed"}
"""The other statuses are those of skipped tests."""


class _Test(msgspec.Struct):
    status: _Status


class _File(msgspec.Struct, rename="camel"):
    assertion_results: list[_Test]
    status: str


class _JestJson(msgspec.Struct, rename="camel"):
    num_failed_tests: Count
    test_results: list[_File]
    success: bool
    was_interrupted: bool | None = None
    """Jest alone states it."""


def read(report: Report) -> Found:
    """Return the counts of tests; a file that cannot be loaded is a failed test."""
    document = decode(report, _JestJson)
    tests, listed = Tally(), 0
    for file in document.test_results:
        in_file = Tally(_KINDS.get(one.status, "skipped") for one in file.assertion_results)
        listed += in_file["failed"]
        if file.status == "failed":
            failed_at_least_once(in_file)
        tests.update(in_file)
    if listed != document.num_failed_tests:
        problem = f"{listed} failed tests are listed, {document.num_failed_tests} stated"
        raise report.bad(problem, field="numFailedTests")
    # Vitest calls a run without tests a failure.
    if (tests and not document.success) or document.was_interrupted:
        failed_at_least_once(tests)
    return found(report, tests, "vitest" if document.was_interrupted is None else "jest")
