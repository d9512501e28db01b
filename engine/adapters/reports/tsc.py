"""The plain text of the TypeScript compiler (`tsc --pretty false`)."""

import re

from .report import Found, Report

_LINE = re.compile(
    rb"(?:\S.*\([0-9]+,[0-9]+\): )?(?P<kind>error|warning|message) TS[0-9]+: .*|"
    rb"Found (?P<stated>[0-9]{1,15}) errors?\b.*|  .*|"
)
"""A line that it prints; those that explain the error above them are indented."""


def read_tsc(report: Report) -> Found:
    """Return the count of type errors; refuse lines that tsc does not print.

    A file without errors must state that there are none: tsc itself prints nothing then,
    and neither does a tsc that was never run.
    """
    errors, stated = 0, -1
    for number, line in report.lines():
        if (found := _LINE.fullmatch(line)) is None:
            hint = "`tsc --pretty false` writes the lines that are read"
            raise report.bad("not a line that tsc prints", line=number, hint=hint)
        errors += found["kind"] == b"error"
        stated = max(stated, int(found["stated"] or -1))
    if not errors and stated < 0:
        raise report.bad("has no errors, and no line that says so: Found 0 errors.")
    return Found({"type_errors": max(errors, stated)}, tool="tsc")
