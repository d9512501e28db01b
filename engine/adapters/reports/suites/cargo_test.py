"""What `cargo test` prints: libtest's text, or its JSON, which the nightly compiler has.

Each program prints how many tests it runs, and at its end how many passed and failed.
"""

import re
from collections.abc import Iterator

import msgspec

from ..json_values import Count, decode_text
from ..report import Found, Report
from .tally import Tally, failed_at_least_once, found

_COUNT = "[0-9]{1,12}"
_TEXT = re.compile(
    rf"running (?P<test_count>{_COUNT}) tests?|"
    rf"test result: (?P<event>ok|FAILED)\. (?P<passed>{_COUNT}) passed; "
    rf"(?P<failed>{_COUNT}) failed; (?P<ignored>{_COUNT}) ignored; "
    rf"(?P<measured>{_COUNT}) measured; {_COUNT} filtered out.*".encode()
)


class _Event(msgspec.Struct):
    type: str
    event: str = ""
    test_count: Count | None = None
    """How many tests a program runs, when it begins."""
    passed: Count = 0
    failed: Count = 0
    ignored: Count = 0
    measured: Count = 0


def read(report: Report) -> Found:
    """Return the counts of tests of all programs; refuse results that are incomplete."""
    tests, programs = Tally(), 0
    running: int | None = None
    for number, event in _events(report):
        if event.test_count is not None and running is None:
            running = event.test_count
            continue
        passed = event.passed + event.measured
        ended = Tally({"passed": passed, "failed": event.failed, "skipped": event.ignored})
        if event.test_count is not None or ended.total() != running:
            problem = f"{ended.total()} results of {running or 'no'} tests"
            raise report.bad(problem, line=number)
        if event.event != "ok":
            failed_at_least_once(ended)
        tests.update(ended)
        programs, running = programs + 1, None
    if running is not None or not programs:
        raise report.bad("ends before the results of its tests")
    return found(report, tests, "cargo test")


def _events(report: Report) -> Iterator[tuple[int, _Event]]:
    """Yield the beginnings and the ends of the tests of each program, with their lines."""
    is_json = report.content.lstrip().startswith(b"{")
    for number, line in report.lines():
        if is_json and line.startswith(b"{"):
            event = decode_text(report, line, _Event, line=number)
            if event.type == "suite":
                yield number, event
        elif text := _TEXT.fullmatch(line):
            given = {n: x.decode() for n, x in text.groupdict().items() if x is not None}
            yield number, msgspec.convert({"type": "suite"} | given, _Event, strict=False)
