"""Test results in JSON or text: Jest, Vitest, Playwright, Go, Cargo and TAP.

Each test case counts once. A suite, file or run that only summarizes cases counts as one
failed test if it failed although none of its cases failed; otherwise it is not a test.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from .parsers import Count, Counted, decode, decode_text
from .report import COUNT_MAX, Found, Report

Kind = Literal["passed", "failed", "skipped"]
Tally = Counter[Kind]


def failed_at_least_once(tests: Tally) -> None:
    """Count one failed test if none of the counted tests failed."""
    tests["failed"] = max(1, tests["failed"])


def cases_found(report: Report, tests: Tally, tool: str | None = None) -> Found:
    """Return the metrics for the tests in a report."""
    if (count := tests.total()) > COUNT_MAX:
        raise report.bad("contains too many tests to count")
    counts = {
        "test_count": count,
        "tests_passed": tests["passed"],
        "tests_failed": tests["failed"],
        "tests_skipped": tests["skipped"],
    }
    none = () if count else ("no tests were collected: that is not a pass",)
    return Found(counts, tool=tool, notes=none)


_JestStatus = Literal["passed", "failed", "pending", "skipped", "todo", "disabled"]
_JEST_KINDS: Mapping[_JestStatus, Kind] = {"passed": "passed", "failed": "failed"}
"""The results by Jest status; all other statuses are those of skipped tests."""


class _JestTest(msgspec.Struct):
    status: _JestStatus


class _JestFile(msgspec.Struct, rename="camel"):
    assertion_results: list[_JestTest]
    status: str


class _JestJson(msgspec.Struct, rename="camel"):
    num_failed_tests: Count
    test_results: list[_JestFile]
    success: bool
    was_interrupted: bool | None = None
    """Whether the run was interrupted; only Jest states this."""


def read_jest(report: Report) -> Found:
    """Return the test counts; a file that cannot be loaded counts as a failed test."""
    document = decode(report, _JestJson)
    tests, listed = Tally(), 0
    for file in document.test_results:
        in_file = Tally(
            _JEST_KINDS.get(one.status, "skipped") for one in file.assertion_results
        )
        listed += in_file["failed"]
        if file.status == "failed":
            failed_at_least_once(in_file)
        tests.update(in_file)
    if listed != document.num_failed_tests:
        problem = f"lists {listed} failed tests but states {document.num_failed_tests}"
        raise report.bad(problem, field="numFailedTests")
    # Vitest reports a run without tests as a failure.
    if (tests and not document.success) or document.was_interrupted:
        failed_at_least_once(tests)
    tool = "vitest" if document.was_interrupted is None else "jest"
    return cases_found(report, tests, tool)


_PlaywrightStatus = Literal["expected", "unexpected", "flaky", "skipped"]
_PLAYWRIGHT_KINDS: Mapping[_PlaywrightStatus, Kind] = {
    "expected": "passed",
    "unexpected": "failed",
    "flaky": "passed",
    "skipped": "skipped",
}


class _PlaywrightTest(msgspec.Struct):
    status: _PlaywrightStatus


class _Spec(msgspec.Struct):
    tests: list[_PlaywrightTest]


class _Suite(msgspec.Struct):
    specs: list[_Spec] = []
    suites: list["_Suite"] = []


class _PlaywrightJson(msgspec.Struct):
    suites: list[_Suite]
    stats: dict[str, Any]
    errors: list[Counted] = []


def read_playwright(report: Report) -> Found:
    """Return the test counts; errors outside all tests count as one failed test."""
    document = decode(report, _PlaywrightJson)
    statuses = [one.status for one in _tests_in(document.suites)]
    for status in _PLAYWRIGHT_KINDS:
        listed, stated = statuses.count(status), document.stats.get(status)
        if listed != stated:
            problem = f"lists {listed} tests but states {stated}"
            raise report.bad(problem, field=f"stats.{status}")
    tests = Tally(_PLAYWRIGHT_KINDS[status] for status in statuses)
    if document.errors:
        failed_at_least_once(tests)
    return cases_found(report, tests, "playwright")


def _tests_in(suites: list[_Suite]) -> Iterator[_PlaywrightTest]:
    for suite in suites:
        for spec in suite.specs:
            yield from spec.tests
        yield from _tests_in(suite.suites)


_GO_KINDS: Mapping[str, Kind] = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_GO_STATES = ("start", "run", *_GO_KINDS)


class _GoEvent(msgspec.Struct, rename="pascal"):
    action: str
    package: str = ""
    test: str = ""


def read_go_test(report: Report) -> Found:
    """Return the test counts; a package that cannot be built counts as a failed test."""
    packages: dict[str, dict[str, str]] = {}
    builds_failed = False
    for number, line in report.lines():
        if line.strip():
            event = decode_text(report, line, _GoEvent, line=number)
            builds_failed |= event.action == "build-fail"
            if event.action in _GO_STATES:
                # A test that runs several times counts once, with its last result.
                packages.setdefault(event.package, {})[event.test] = event.action
    tests = Tally()
    for package, states in packages.items():
        if (state := states.pop("", "run")) not in _GO_KINDS:
            raise report.bad(
                f"ends within the package {package[:200]}: the file is truncated"
            )
        in_package = _tally_of(states)
        if state == "fail":
            failed_at_least_once(in_package)
        tests.update(in_package)
    if builds_failed:
        failed_at_least_once(tests)
    return cases_found(report, tests, "go test")


def _tally_of(states: Mapping[str, str]) -> Tally:
    """Count a package's tests, excluding tests that only summarize subtests."""
    tests = Tally()
    after = failed_after = ""
    # Subtests directly follow their test, before any other name with the same prefix.
    for name in sorted(states, key=lambda name: name.replace("/", "\0"), reverse=True):
        # A test that has not ended was killed with its package.
        kind = _GO_KINDS.get(states[name], "failed")
        later = failed_after if kind == "failed" else after
        if not later.startswith(f"{name}/"):
            tests[kind] += 1
        after = name
        failed_after = name if kind == "failed" else failed_after
    return tests


_CARGO_COUNT = "[0-9]{1,12}"
_CARGO_LINE = re.compile(
    rf"running (?P<test_count>{_CARGO_COUNT}) tests?|"
    rf"test result: (?P<event>ok|FAILED)\. (?P<passed>{_CARGO_COUNT}) passed; "
    rf"(?P<failed>{_CARGO_COUNT}) failed; (?P<ignored>{_CARGO_COUNT}) ignored; "
    rf"(?P<measured>{_CARGO_COUNT}) measured; {_CARGO_COUNT} filtered out.*".encode()
)


class _CargoEvent(msgspec.Struct):
    type: str
    event: str = ""
    test_count: Count | None = None
    """The number of tests that a program runs, stated when it starts."""
    passed: Count = 0
    failed: Count = 0
    ignored: Count = 0
    measured: Count = 0


def read_cargo_test(report: Report) -> Found:
    """Return the test counts across all programs; reject incomplete results."""
    tests, programs = Tally(), 0
    running: int | None = None
    for number, event in _cargo_events(report):
        if event.test_count is not None and running is None:
            running = event.test_count
            continue
        passed = event.passed + event.measured
        ended = Tally({"passed": passed, "failed": event.failed, "skipped": event.ignored})
        if event.test_count is not None or ended.total() != running:
            problem = f"{ended.total()} results for {running or 'no'} tests"
            raise report.bad(problem, line=number)
        if event.event != "ok":
            failed_at_least_once(ended)
        tests.update(ended)
        programs, running = programs + 1, None
    if running is not None or not programs:
        raise report.bad("ends before the results of its tests")
    return cases_found(report, tests, "cargo test")


def _cargo_events(report: Report) -> Iterator[tuple[int, _CargoEvent]]:
    """Yield the start and end of each program's tests, with their line numbers."""
    is_json = report.content.lstrip().startswith(b"{")
    for number, line in report.lines():
        if is_json and line.startswith(b"{"):
            event = decode_text(report, line, _CargoEvent, line=number)
            if event.type == "suite":
                yield number, event
        elif text := _CARGO_LINE.fullmatch(line):
            given = {n: x.decode() for n, x in text.groupdict().items() if x is not None}
            yield (
                number,
                msgspec.convert({"type": "suite"} | given, _CargoEvent, strict=False),
            )


_TAP_INDENT = 4
"""The number of spaces by which each level of subtests is indented."""
_POINT = re.compile(
    rb"(?P<not>not )?ok(?=\s|\Z)(?:.*?\s#\s*(?P<directive>(?i:skip|todo))|).*"
)
_PLAN = re.compile(rb"1\.\.([0-9]{1,12})(?:\s*#.*)?")


def read_tap(report: Report) -> Found:
    """Return the test counts; a planned test that did not run counts as failed."""
    levels = defaultdict[int, Tally](Tally)
    planned: int | None = None
    points, bailed_out = 0, False
    for number, indent, text in _tap_lines(report):
        level = indent // _TAP_INDENT
        if point := _POINT.fullmatch(text):
            if text.endswith(b"{"):
                hint = "subtests in braces are not part of TAP 14"
                raise report.bad("a summary before its tests", line=number, hint=hint)
            _add_point(levels, level, _tap_kind(point))
            points += level == 0
        elif (plan := _PLAN.fullmatch(text)) and level == 0:
            if planned is not None:
                raise report.bad("a second plan", line=number)
            planned = int(plan[1])
        bailed_out |= text.startswith(b"Bail out!")
    tests = levels.pop(0, Tally())
    if bailed_out:
        for inner in levels.values():
            tests.update(inner)
        failed_at_least_once(tests)
    elif levels or planned is None:
        raise report.bad("ends without its plan or within subtests: the file is truncated")
    if (missing := (points if planned is None else planned) - points) < 0:
        raise report.bad(f"{points} tests ran, but {planned} were planned")
    tests["failed"] += missing
    return cases_found(report, tests)


def _tap_lines(report: Report) -> Iterator[tuple[int, int, bytes]]:
    """Yield the number, indentation and text of each line outside YAML blocks."""
    block: int | None = None
    for number, line in report.lines():
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if block is None and indent and text == b"---":
            block = indent
        elif block is None and indent % _TAP_INDENT == 0:
            yield number, indent, text
        elif (block, text) == (indent, b"..."):
            block = None
    if block is not None:
        raise report.bad("ends within a YAML block: the file is truncated")


def _add_point(levels: dict[int, Tally], level: int, kind: Kind) -> None:
    """Count a test, or the subtests that it summarizes."""
    if (inner := levels.pop(level + 1, None)) is None:
        inner = Tally([kind])
    elif kind == "failed":
        failed_at_least_once(inner)
    elif kind == "skipped":
        inner["skipped"] += inner.pop("failed", 0)
    levels[level].update(inner)


def _tap_kind(point: re.Match[bytes]) -> Kind:
    if (directive := point["directive"]) and (point["not"] or directive.lower() == b"skip"):
        return "skipped"
    return "failed" if point["not"] else "passed"
