"""Reports from linters and type checkers: SARIF, tsc, Ruff, mypy and ESLint.

Linters for many languages write SARIF 2; results are counted across all runs. tsc and mypy
print plain text (`tsc --pretty false`). With `--output json`, mypy prints JSON lines, mixed
with plain text if it aborts, and an empty line if there are no errors.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal

import msgspec

from .parsers import Count, Counted, decode, decode_text
from .report import Found, Report

_Level = Literal["error", "warning", "note", "none"]
_LINE = re.compile(
    rb"(?:\S.*\([0-9]+,[0-9]+\): )?(?P<kind>error|warning|message) TS[0-9]+: .*|"
    rb"Found (?P<stated>[0-9]{1,15}) errors?\b.*|  .*|"
)
"""A line of tsc's output; explanations of the preceding error are indented."""
_TEXT = re.compile(
    rb"(?:.+?: )?(?P<kind>error|note|warning): .*|"
    rb"Found (?P<stated>[0-9]{1,15}) errors? in .*|Success: .*|"
)
"""A line of mypy's plain text, or an empty line."""


class _Configuration(msgspec.Struct, frozen=True):
    level: _Level = "warning"


class _Rule(msgspec.Struct, rename="camel"):
    id: str
    default_configuration: _Configuration = _Configuration()


class _Driver(msgspec.Struct):
    name: str
    rules: list[_Rule] = []


class _Tool(msgspec.Struct):
    driver: _Driver


class _Suppression(msgspec.Struct):
    status: Literal["accepted", "underReview", "rejected"] = "accepted"


class _Result(msgspec.Struct, rename="camel"):
    message: Counted
    level: _Level | None = None
    kind: str = "fail"
    rule_id: str | None = None
    rule_index: int = -1
    suppressions: list[_Suppression] = []
    baseline_state: Literal["new", "unchanged", "updated", "absent"] | None = None


class _Notification(msgspec.Struct):
    level: _Level = "warning"


class _Invocation(msgspec.Struct, rename="camel"):
    execution_successful: bool = True
    tool_execution_notifications: list[_Notification] = []
    tool_configuration_notifications: list[_Notification] = []


class _Run(msgspec.Struct):
    tool: _Tool
    results: list[_Result] | None = None
    invocations: list[_Invocation] = []


class _SarifLog(msgspec.Struct):
    version: str
    runs: list[_Run]


def read_sarif(report: Report) -> Found:
    """Return the numbers of errors and warnings in all runs; notes are not counted.

    An unfinished run counts as at least one error.
    """
    document = decode(report, _SarifLog)
    if not document.version.startswith("2."):
        raise report.bad("only SARIF 2 is supported", field="version")
    runs = [run for run in document.runs if run.results is not None]
    if not runs:
        raise report.bad("contains no run with results", field="runs")
    levels = Counter(level for run in runs for level in _levels(run))
    counts = {"lint_errors": levels["error"], "lint_warnings": levels["warning"]}
    return Found(counts, tool=", ".join(sorted({run.tool.driver.name for run in runs})))


def _levels(run: _Run) -> Iterator[_Level]:
    defaults = [rule.default_configuration.level for rule in run.tool.driver.rules]
    by_id = {rule.id: rule.default_configuration.level for rule in run.tool.driver.rules}
    for result in run.results or ():
        accepted = any(one.status == "accepted" for one in result.suppressions)
        if accepted or result.kind != "fail" or result.baseline_state == "absent":
            continue
        if result.level is not None:
            yield result.level
        elif 0 <= result.rule_index < len(defaults):
            yield defaults[result.rule_index]
        else:
            yield by_id.get(result.rule_id or "", "warning")
    for invocation in run.invocations:
        if not invocation.execution_successful:
            notified = (
                *invocation.tool_execution_notifications,
                *invocation.tool_configuration_notifications,
            )
            for _ in range(max(1, sum(one.level == "error" for one in notified))):
                yield "error"


def read_tsc(report: Report) -> Found:
    """Return the number of type errors; reject lines that tsc does not print.

    A file without errors must state that there are none, because the empty output of a
    clean run could also mean that tsc never ran.
    """
    errors, stated = 0, -1
    for number, line in report.lines():
        if (found := _LINE.fullmatch(line)) is None:
            hint = "use `tsc --pretty false` to write the report"
            raise report.bad("not a line that tsc prints", line=number, hint=hint)
        errors += found["kind"] == b"error"
        stated = max(stated, int(found["stated"] or -1))
    if not errors and stated < 0:
        raise report.bad("contains neither errors nor the line `Found 0 errors.`")
    return Found({"type_errors": max(errors, stated)}, tool="tsc")


class _Finding(msgspec.Struct):
    filename: str
    code: str | None
    message: str
    severity: Literal["error", "warning", "info", "help"] | None = None
    """The severity, which is missing in older versions, where all findings are errors."""


def read_ruff(report: Report) -> Found:
    """Return the numbers of errors and warnings; reject anything but Ruff's JSON."""
    findings = decode(report, list[_Finding])
    errors = sum(one.severity in (None, "error") for one in findings)
    warnings = sum(one.severity == "warning" for one in findings)
    return Found({"lint_errors": errors, "lint_warnings": warnings}, tool="ruff")


class _MypyMessage(msgspec.Struct):
    file: str
    line: int
    message: str
    severity: Literal["error", "note", "warning"] = "error"
    """The severity, which is missing in the first versions, which reported only errors."""


def read_mypy(report: Report) -> Found:
    """Return the number of type errors; reject lines that mypy does not print."""
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
    # Errors without a line are only included in the total.
    return Found({"type_errors": max(errors, stated)}, tool="mypy")


class _File(msgspec.Struct, rename="camel"):
    file_path: str
    messages: list[Counted]
    error_count: Count
    warning_count: Count


def read_eslint(report: Report) -> Found:
    """Return the numbers of errors and warnings; reject anything but ESLint's JSON."""
    files = decode(report, list[_File])
    for index, file in enumerate(files):
        if file.error_count + file.warning_count != len(file.messages):
            raise report.bad(
                f"lists {len(file.messages)} messages but counts {file.error_count} "
                f"errors and {file.warning_count} warnings",
                field=f"[{index}]",
            )
    counts = {
        "lint_errors": sum(file.error_count for file in files),
        "lint_warnings": sum(file.warning_count for file in files),
    }
    return Found(counts, tool="eslint")
