"""Test results in XML: JUnit (including pytest, Vitest and Surefire), NUnit 3 and TRX.

Test cases are counted; a case whose teardown fails is one test. A suite's reported totals
are used if it contains no cases, or for failures that its cases do not show.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from sprintlog.errors import InvalidInputError

from .parsers import Attributes, walk
from .report import Found, Report
from .suites import Kind, Tally, cases_found, failed_at_least_once

_SUITES = ("testsuites", "testsuite")
_FAILED = ("failure", "error")
_RERUNS = ("flakyFailure", "flakyError", "rerunFailure", "rerunError")
"""Surefire's elements for runs of a case other than the decisive one."""
_FAILED_WORDS = ("failed", "failure", "error", "errored")
_SKIPPED_WORDS = ("skipped", "notrun", "disabled", "ignored")


def read_junit(report: Report) -> Found:
    """Return the test counts; raise `InvalidInputError` unless this is a JUnit report."""
    cases = _JUnitCases(report)
    walk(report, start=cases.start, end=cases.end)
    if (passed := cases.count - cases.failed - cases.skipped) < 0:
        raise report.bad("more tests failed or were skipped than exist")
    tests = Tally({"passed": passed, "failed": cases.failed, "skipped": cases.skipped})
    return cases_found(report, tests, cases.tool)


def junit_states(report: Report) -> dict[str, Kind]:
    """Return the outcome of each test case by name, or nothing for another report."""
    cases = _JUnitCases(report)
    with suppress(InvalidInputError):
        walk(report, start=cases.start, end=cases.end)
    return cases.states


class _JUnitSuite:
    """A suite whose end has not been read yet."""

    def __init__(self, attributes: Attributes) -> None:
        self.attributes = attributes
        self.cases = self.passed = self.troubles = self.reruns = 0
        self.has_suites = False
        self.failed: dict[tuple[str, str], set[str]] = {}


class _JUnitCases:
    """Counts a JUnit report's test cases incrementally."""

    def __init__(self, report: Report) -> None:
        self.count = self.failed = self.skipped = 0
        self.states: dict[str, Kind] = {}
        self.tool: str | None = None
        self._report = report
        self._suites: list[_JUnitSuite] = []
        self._case: Attributes | None = None
        self._said: set[str] = set()

    def start(self, tag: str, attributes: Attributes) -> None:
        if tag in _SUITES and self._case is None:
            if self._suites:
                self._suites[-1].has_suites = True
            else:
                self.tool = _tool(attributes)
            self._suites.append(_JUnitSuite(attributes))
        elif not self._suites:
            raise self._report.bad(f"the root element is <{tag[:40]}>: not a JUnit report")
        elif tag == "testcase":
            self._case, self._said = attributes, set()
        elif self._case is not None:
            self._said.add(tag)
            self._suites[-1].troubles += tag in _FAILED
            self._suites[-1].reruns += tag in _RERUNS

    def end(self, tag: str) -> None:
        if tag == "testcase" and self._case is not None:
            self._end_case(self._suites[-1], self._case)
            self._case = None
        elif tag in _SUITES and self._case is None:
            self._end_suite(self._suites.pop())

    def _end_case(self, suite: _JUnitSuite, case: Attributes) -> None:
        status = case.get("status", "").lower()
        failed = bool(self._said.intersection(_FAILED)) or status in _FAILED_WORDS
        suite.cases += 1
        if failed:
            name = (case.get("classname", ""), case.get("name", ""))
            kinds = self._said.intersection(_FAILED)
            before = suite.failed.setdefault(name, set())
            # A case that both fails and has an error, as in its teardown, may appear twice.
            if any(name) and before and kinds and not before & kinds:
                return
            before |= kinds
        skipped = not failed and ("skipped" in self._said or status in _SKIPPED_WORDS)
        label = ".".join(filter(None, (case.get("classname"), case.get("name"))))
        self.states[label] = "failed" if failed else "skipped" if skipped else "passed"
        self.count += 1
        self.failed += failed
        self.skipped += skipped
        suite.passed += not failed and not skipped

    def _end_suite(self, suite: _JUnitSuite) -> None:
        if suite.has_suites:
            return
        stated = {
            name: self._report.counted(text, name)
            for name in ("tests", "failures", "errors", "skipped", "disabled")
            if (text := suite.attributes.get(name)) is not None
        }
        failed = stated.get("failures", 0) + stated.get("errors", 0)
        if suite.cases:
            known = max(suite.troubles, len(suite.failed))
            # Surefire may include each run of a case in its suite's totals.
            if stated.get("tests", 0) >= suite.cases + suite.reruns:
                known += suite.reruns
            # A failure outside of all cases counts as well.
            more = max(0, failed - known)
            self.count += more
            self.failed += more
            if self.tool == "jest":
                # Jest lists todo tests as if they had passed, but omits them from its sum.
                to_do = max(0, suite.cases - stated.get("tests", suite.cases))
                self.skipped += min(to_do, suite.passed)
        elif stated:
            self.count += max(stated.get("tests", 0), failed)
            self.failed += failed
            self.skipped += stated.get("skipped", 0) + stated.get("disabled", 0)


def _tool(root: Attributes) -> str | None:
    """Return the test runner named by a root element, such as `pytest` or `vitest`."""
    word = root.get("name", "").removesuffix(" tests")
    return word if word in ("jest", "pytest", "vitest") else None


_OUTCOMES: Mapping[Kind, str] = {
    "passed": "Passed Completed PassedButRunAborted Warning",
    "failed": "Failed Error Timeout Aborted Disconnected InProgress NotRunnable",
    "skipped": "Skipped Inconclusive NotExecuted Pending",
}
_KINDS = {outcome: kind for kind, all_ in _OUTCOMES.items() for outcome in all_.split()}


class _DotnetShape(NamedTuple):
    root: str
    case: str
    summary: str
    """The element around several cases that states their result, if there is one."""
    outcome: str
    """The attribute with the result of a case or a summary."""


_NUNIT = _DotnetShape("test-run", "test-case", "test-suite", "result")
_TRX = _DotnetShape("TestRun", "UnitTestResult", "", "outcome")


def read_nunit(report: Report) -> Found:
    """Return the test counts from an NUnit 3 report."""
    return _read(report, _NUNIT)


def read_trx(report: Report) -> Found:
    """Return the test counts from a TRX file."""
    return _read(report, _TRX)


def _read(report: Report, shape: _DotnetShape) -> Found:
    cases = _DotnetCases(report, shape)
    walk(report, start=cases.start, end=cases.end)
    if cases.kind_of(cases.run) == "failed":
        failed_at_least_once(cases.tests)
    return cases_found(report, cases.tests)


class _DotnetCases:
    def __init__(self, report: Report, shape: _DotnetShape) -> None:
        self.tests = Tally()
        self.run: Attributes = {}
        """The outcome of the complete run, which is at the root in NUnit and near the end
        in TRX."""
        self._report, self._shape = report, shape
        self._open: list[tuple[Attributes, int, int]] = []
        """The open cases and summaries, with the numbers of all and failed tests before
        them."""

    def start(self, tag: str, attributes: Attributes) -> None:
        if not self.run and tag != self._shape.root:
            raise self._report.bad(
                f"the root element is <{tag[:40]}>, not <{self._shape.root}>"
            )
        if not self.run or tag == "ResultSummary":
            self.run = {self._shape.outcome: "Passed"} | attributes
        if tag in (self._shape.case, self._shape.summary):
            tests = self.tests
            self._open.append((attributes, tests.total(), tests["failed"]))

    def end(self, tag: str) -> None:
        if tag not in (self._shape.case, self._shape.summary):
            return
        attributes, count, failed = self._open.pop()
        is_case = tag == self._shape.case and count == self.tests.total()
        kind = self.kind_of(attributes)
        # The results of a test with several sets of data are cases within a case.
        if is_case or (kind == "failed" and failed == self.tests["failed"]):
            self.tests[kind] += 1

    def kind_of(self, attributes: Attributes) -> Kind:
        """Return the outcome of a case or a summary; a missing outcome counts as failed."""
        outcome = attributes.get(self._shape.outcome, "Failed")
        if (kind := _KINDS.get(outcome)) is None:
            field = self._shape.outcome
            raise self._report.bad(f"{outcome[:40]!r} is not a known outcome", field=field)
        return kind
