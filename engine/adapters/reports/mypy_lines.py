"""What mypy prints: JSON lines (`--output json`), or its plain text.

Where it gives up it mixes both. A clean run with `--output json` prints an empty line.
"""

import re
from typing import Literal

import msgspec

from .json_values import decode_text
from .report import Found, Report

_TEXT = re.compile(
    rb"(?:.+?: )?(?P<kind>error|note|warning): .*|"
    rb"Found (?P<stated>[0-9]{1,15}) errors? in .*|Success: .*|"
)
"""A line of its plain text; an empty one too."""


class _MypyMessage(msgspec.Struct):
    file: str
    line: int
    message: str
    severity: Literal["error", "note", "warning"] = "error"
    """Missing in the first versions, which told of errors alone."""


def read_mypy(report: Report) -> Found:
    """Return the count of type errors; refuse what is not of mypy."""
    errors = stated = 0
    for number, text in report.lines():
        line = text.strip()
        if line.startswith(b"{"):
            message = decode_text(report, line, _MypyMessage, line=number)
            errors += message.severity == "error"
        elif found := _TEXT.fullmatch(line):
            errors += found["kind"] == b"error"
            stated = max(stated, int(found["stated"] or 0))
        else:
            raise report.bad("not a line that mypy prints", line=number)
    # Errors that are about no line are only in the sum.
    return Found({"type_errors": max(errors, stated)}, tool="mypy")
