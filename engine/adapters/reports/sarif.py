"""SARIF 2.1, as linters of many languages write it: levels of results, over all runs."""

from collections import Counter
from collections.abc import Iterator
from typing import Literal

import msgspec

from .json_values import Counted, decode
from .report import Found, Report

_Level = Literal["error", "warning", "note", "none"]


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


def read(report: Report) -> Found:
    """Return the counts of errors and warnings of all runs; notes are neither.

    A run that did not come to its end counts an error at least.
    """
    document = decode(report, _SarifLog)
    if not document.version.startswith("2."):
        raise report.bad("only SARIF 2 is read", field="version")
    runs = [run for run in document.runs if run.results is not None]
    if not runs:
        raise report.bad("no run of it holds results", field="runs")
    levels = Counter(level for run in runs for level in _levels(run))
    counts = {"lint_errors": levels["error"], "lint_warnings": levels["warning"]}
    names = sorted({run.tool.driver.name for run in runs})
    return Found(counts, tool=", ".join(names))


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
            yield from _failure(invocation)


def _failure(invocation: _Invocation) -> Iterator[_Level]:
    notifications = [
        *invocation.tool_execution_notifications,
        *invocation.tool_configuration_notifications,
    ]
    errors = sum(one.level == "error" for one in notifications)
    for _ in range(max(1, errors)):
        yield "error"
