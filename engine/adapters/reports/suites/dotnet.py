"""The XML of NUnit 3 and of `dotnet test` (TRX)."""

from collections.abc import Mapping
from typing import NamedTuple

from ..report import Found, Report
from ..xml_events import Attributes, walk
from .tally import Kind, Tally, failed_at_least_once, found

_OUTCOMES: Mapping[Kind, str] = {
    "passed": "Passed Completed PassedButRunAborted Warning",
    "failed": "Failed Error Timeout Aborted Disconnected InProgress NotRunnable",
    "skipped": "Skipped Inconclusive NotExecuted Pending",
}
_KINDS = {outcome: kind for kind, all_ in _OUTCOMES.items() for outcome in all_.split()}


class _Shape(NamedTuple):
    root: str
    case: str
    summary: str
    """The element around several cases that states their outcome, if there is one."""
    outcome: str
    """The attribute with the outcome of a case or of a summary."""


_NUNIT = _Shape("test-run", "test-case", "test-suite", "result")
_TRX = _Shape("TestRun", "UnitTestResult", "", "outcome")


def read_nunit(report: Report) -> Found:
    """Return the counts of tests of NUnit 3."""
    return _read(report, _NUNIT)


def read_trx(report: Report) -> Found:
    """Return the counts of tests of a TRX file."""
    return _read(report, _TRX)


def _read(report: Report, shape: _Shape) -> Found:
    cases = _Cases(report, shape)
    walk(report, start=cases.start, end=cases.end)
    if cases.kind_of(cases.run) == "failed":
        failed_at_least_once(cases.tests)
    return found(report, cases.tests)


class _Cases:
    def __init__(self, report: Report, shape: _Shape) -> None:
        self.tests = Tally()
        self.run: Attributes = {}
        """The outcome of the whole run: NUnit has it at the root, TRX near the end."""
        self._report, self._shape = report, shape
        self._open: list[tuple[Attributes, int, int]] = []
        """Open cases and summaries, with the counts of all and failed tests before them."""

    def start(self, tag: str, attributes: Attributes) -> None:
        if not self.run and tag != self._shape.root:
            raise self._report.bad(f"<{tag[:40]}> at the top: not <{self._shape.root}>")
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
        """Return how a case or a summary ended; without an outcome it has failed."""
        outcome = attributes.get(self._shape.outcome, "Failed")
        if (kind := _KINDS.get(outcome)) is None:
            field = self._shape.outcome
            raise self._report.bad(f"{outcome[:40]!r} is not a known outcome", field=field)
        return kind
