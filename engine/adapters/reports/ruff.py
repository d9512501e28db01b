"""Ruff's JSON (`--output-format json`): a list of what it found."""

from typing import Literal

import msgspec

from .json_values import decode
from .report import Found, Report


class _Finding(msgspec.Struct):
    filename: str
    code: str | None
    message: str
    severity: Literal["error", "warning", "info", "help"] | None = None
    """Missing in older versions, where all are errors."""


def read_ruff(report: Report) -> Found:
    """Return the counts of errors and warnings; refuse what is not of Ruff."""
    findings = decode(report, list[_Finding])
    errors = sum(one.severity in (None, "error") for one in findings)
    warnings = sum(one.severity == "warning" for one in findings)
    return Found({"lint_errors": errors, "lint_warnings": warnings}, tool="ruff")
