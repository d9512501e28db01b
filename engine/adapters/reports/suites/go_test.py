"""The events of `go test -json`, one JSON object in each line."""

from collections.abc import Mapping

import msgspec

from ..json_values import decode_text
from ..report import Found, Report
from .tally import Kind, Tally, failed_at_least_once, found

_KINDS: Mapping[str, Kind] = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_STATES = ("start", "run", *_KINDS)


class _Event(msgspec.Struct, rename="pascal"):
    action: str
    package: str = ""
    test: str = ""


def read(report: Report) -> Found:
    """Return the counts of tests; a package that cannot be built is a failed test."""
    packages: dict[str, dict[str, str]] = {}
    builds_failed = False
    for number, line in report.lines():
        if line.strip():
            event = decode_text(report, line, _Event, line=number)
            builds_failed |= event.action == "build-fail"
            if event.action in _STATES:
                # A test that runs several times counts once, as it ended last.
                packages.setdefault(event.package, {})[event.test] = event.action
    tests = Tally()
    for package, states in packages.items():
        state = states.pop("", "run")
        if state not in _KINDS:
            raise report.bad(f"ends within the package {package[:200]}: it is cut off")
        in_package = _count(states)
        if state == "fail":
            failed_at_least_once(in_package)
        tests.update(in_package)
    if builds_failed:
        failed_at_least_once(tests)
    return found(report, tests, "go test")


def _count(states: Mapping[str, str]) -> Tally:
    """Count the tests of a package; a test with subtests only summarizes them."""
    tests = Tally()
    after = failed_after = ""
    # Subtests come right after their test, before any other name with its beginning.
    for name in sorted(states, key=lambda name: name.replace("/", "\0"), reverse=True):
        # A test that has not ended was killed with its package.
        kind = _KINDS.get(states[name], "failed")
        later = failed_after if kind == "failed" else after
        if not later.startswith(f"{name}/"):
            tests[kind] += 1
        after = name
        failed_after = name if kind == "failed" else failed_after
    return tests
