"""The Test Anything Protocol, versions 13 and 14, as node, prove and bats write it."""

import re
from collections import defaultdict
from collections.abc import Iterator

from ..report import Found, Report
from .tally import Kind, Tally, failed_at_least_once, found

_INDENT = 4
"""Subtests are indented by four spaces for each level."""
_POINT = re.compile(
    rb"(?P<not>not )?ok(?=\s|\Z)(?:.*?\s#\s*(?P<directive>(?i:skip|todo))|).*"
)
_PLAN = re.compile(rb"1\.\.([0-9]{1,12})(?:\s*#.*)?")


def read(report: Report) -> Found:
    """Return the counts of tests; a planned test that did not run has failed."""
    levels = defaultdict[int, Tally](Tally)
    planned: int | None = None
    points, bailed_out = 0, False
    for number, indent, text in _lines(report):
        level = indent // _INDENT
        if point := _POINT.fullmatch(text):
            if text.endswith(b"{"):
                hint = "subtests in braces are no part of TAP 14"
                raise report.bad("a summary before its tests", line=number, hint=hint)
            _add(levels, level, _kind(point))
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
        raise report.bad("ends without its plan or within subtests: it is cut off")
    if (missing := (points if planned is None else planned) - points) < 0:
        raise report.bad(f"{points} tests ran, and {planned} were planned")
    tests["failed"] += missing
    return found(report, tests)


def _lines(report: Report) -> Iterator[tuple[int, int, bytes]]:
    """Yield the number, the indentation and the text of each line outside of YAML."""
    block: int | None = None
    for number, line in report.lines():
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if block is None and indent and text == b"---":
            block = indent
        elif block is None and indent % _INDENT == 0:
            yield number, indent, text
        elif (block, text) == (indent, b"..."):
            block = None
    if block is not None:
        raise report.bad("ends within a block of YAML: it is cut off")


def _add(levels: dict[int, Tally], level: int, kind: Kind) -> None:
    """Count a test, or the tests on the next level, which it summarizes."""
    inner = levels.pop(level + 1, None)
    if inner is None:
        inner = Tally([kind])
    elif kind == "failed":
        failed_at_least_once(inner)
    elif kind == "skipped":
        inner["skipped"] += inner.pop("failed", 0)
    levels[level].update(inner)


def _kind(point: re.Match[bytes]) -> Kind:
    if (directive := point["directive"]) and (point["not"] or directive.lower() == b"skip"):
        return "skipped"
    return "failed" if point["not"] else "passed"
