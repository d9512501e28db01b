"""What holds for every test: in CI nothing is skipped that `.ci/required` names."""

import os
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from .log_stores import log_store as log_store
from .page.browsers import browser as browser
from .page.browsers import new_context as new_context

_REQUIRED = Path(__file__).resolve().parent.parent / ".ci" / "required"


def _patterns() -> list[str]:
    lines = _REQUIRED.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> pytest.TestReport:  # type: ignore[misc]
    """Let a test that is skipped fail where it is required and this is CI."""
    report: pytest.TestReport = yield
    is_wanted = any(fnmatchcase(item.nodeid, pattern) for pattern in _patterns())
    if report.skipped and os.environ.get("CI") and is_wanted:
        report.outcome = "failed"
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        report.longrepr = f"{item.nodeid} is required (.ci/required): {why}"
    return report
