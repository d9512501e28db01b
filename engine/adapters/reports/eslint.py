"""ESLint's JSON (`--format json`): a list of files with what was found in each."""

import msgspec

from .json_values import Count, Counted, decode
from .report import Found, Report


class _File(msgspec.Struct, rename="camel"):
    file_path: str
    messages: list[Counted]
    error_count: Count
    warning_count: Count


def read_eslint(report: Report) -> Found:
    """Return the counts of errors and warnings; refuse what is not of ESLint."""
    files = decode(report, list[_File])
    for index, file in enumerate(files):
        if file.error_count + file.warning_count != len(file.messages):
            raise report.bad(
                f"{len(file.messages)} messages, and counts of {file.error_count} errors "
                f"and {file.warning_count} warnings",
                field=f"[{index}]",
            )
    counts = {
        "lint_errors": sum(file.error_count for file in files),
        "lint_warnings": sum(file.warning_count for file in files),
    }
    return Found(counts, tool="eslint")
