"""JUnit XML, as pytest, vitest, jest-junit, Surefire and many others write it.

Test cases are what is counted: a case whose teardown fails is one test, not two. The
sums that a suite states count where it lists no cases, or tells of failures they lack.
"""

from ..report import Found, Report
from ..xml_events import Attributes, walk
from .tally import Tally, found

_SUITES = ("testsuites", "testsuite")
_FAILED = ("failure", "error")
_RERUNS = ("flakyFailure", "flakyError", "rerunFailure", "rerunError")
"""Surefire's runs of a case other than the one that decided."""
_FAILED_WORDS = ("failed", "failure", "error", "errored")
_SKIPPED_WORDS = ("skipped", "notrun", "disabled", "ignored")


def read(report: Report) -> Found:
    """Return the counts of tests; refuse what is no JUnit report."""
    cases = _Cases(report)
    walk(report, start=cases.start, end=cases.end)
    passed = cases.count - cases.failed - cases.skipped
    if passed < 0:
        raise report.bad("more tests failed or were skipped than there are")
    tests = Tally({"passed": passed, "failed": cases.failed, "skipped": cases.skipped})
    return found(report, tests, cases.tool)


class _Suite:
    """A suite whose end is not there yet."""

    def __init__(self, attributes: Attributes) -> None:
        self.attributes = attributes
        self.cases = self.passed = self.troubles = self.reruns = 0
        self.has_suites = False
        self.failed: dict[tuple[str, str], set[str]] = {}


class _Cases:
    """The cases of a report, counted as they come."""

    def __init__(self, report: Report) -> None:
        self.count = self.failed = self.skipped = 0
        self.tool: str | None = None
        self._report = report
        self._suites: list[_Suite] = []
        self._case: Attributes | None = None
        self._said: set[str] = set()

    def start(self, tag: str, attributes: Attributes) -> None:
        if tag in _SUITES and self._case is None:
            if self._suites:
                self._suites[-1].has_suites = True
            else:
                self.tool = _tool(attributes)
            self._suites.append(_Suite(attributes))
        elif not self._suites:
            raise self._report.bad(f"<{tag[:40]}> at the top: this is no JUnit report")
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

    def _end_case(self, suite: _Suite, case: Attributes) -> None:
        status = case.get("status", "").lower()
        failed = bool(self._said.intersection(_FAILED)) or status in _FAILED_WORDS
        suite.cases += 1
        if failed:
            name = (case.get("classname", ""), case.get("name", ""))
            kinds = self._said.intersection(_FAILED)
            before = suite.failed.setdefault(name, set())
            # Who fails and has an error too, as in its teardown, may be there twice.
            if any(name) and before and kinds and not before & kinds:
                return
            before |= kinds
        skipped = not failed and ("skipped" in self._said or status in _SKIPPED_WORDS)
        self.count += 1
        self.failed += failed
        self.skipped += skipped
        suite.passed += not failed and not skipped

    def _end_suite(self, suite: _Suite) -> None:
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
            # Surefire may include each run of a case in the sums of its suite.
            if stated.get("tests", 0) >= suite.cases + suite.reruns:
                known += suite.reruns
            # What failed outside its cases failed all the same.
            more = max(0, failed - known)
            self.count += more
            self.failed += more
            if self.tool == "jest":
                # It lists what is to do as if it had passed, and not in its sum.
                to_do = max(0, suite.cases - stated.get("tests", suite.cases))
                self.skipped += min(to_do, suite.passed)
        elif stated:
            self.count += max(stated.get("tests", 0), failed)
            self.failed += failed
            self.skipped += stated.get("skipped", 0) + stated.get("disabled", 0)


def _tool(root: Attributes) -> str | None:
    """Return the runner that a root names: `vitest tests`, `pytest tests`, `pytest`."""
    word = root.get("name", "").removesuffix(" tests")
    return word if word in ("jest", "pytest", "vitest") else None
