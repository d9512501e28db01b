"""What a command says it counted, in the last line that it prints."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from ...errors import RefusedError
from ...iterations.metrics import NAMES, check_metrics
from .json_values import decode
from .report import Report

LINE_CHARS_MAX = 4_000
_PASSED_OF_ALL = re.compile(r"([0-9]{1,12})/([0-9]{1,12})", re.ASCII)


def counted(output: str, *, command: str, own: Collection[str] = ()) -> dict[str, Any]:
    """Return the metrics in the last line of an output; none where it has another form.

    It is `PASSED/ALL` and nothing else, or a JSON object in which any key is a metric.
    `own` are the names of those that the rules in force declare. Raise `SprintlogError`
    where such a line cannot be a measurement.
    """
    line = output.rstrip().rpartition("\n")[2].strip()
    if len(line) > LINE_CHARS_MAX:
        return {}
    if (found := _PASSED_OF_ALL.fullmatch(line)) is not None:
        passed, count = map(int, found.groups())
        return _checked({"test_count": count, "tests_passed": passed}, command)
    if not (line.startswith("{") and line.endswith("}")):
        return {}
    names = {*NAMES, *own}
    if not any(f'"{name}"' in line for name in names):
        return {}
    report = Report(f"the last line of {command}", line.encode(), Path())
    said = decode(report, dict[str, Any])
    return _checked(said, command, own) if names & said.keys() else {}


def _checked(
    said: dict[str, Any], command: str, own: Collection[str] = ()
) -> dict[str, Any]:
    """Return metrics that can be together; raise `RefusedError` naming the line."""
    try:
        check_metrics(said, own)
    except RefusedError as error:
        problem = f"the last line of {command}: {error.message}"
        raise RefusedError(problem, hint=error.hint, **error.fields) from error
    return {name: value for name, value in said.items() if value is not None}
