"""Helpers for reading reports in tests."""

from pathlib import Path

from sprintlog.engine.adapters.measurement.figures import Measured, read_reports, wanted
from sprintlog.engine.errors import SprintlogError

FIXTURES = Path(__file__).parents[3] / "fixtures" / "reports"


def read(*texts: str, folder: Path) -> Measured:
    """Return the content of reports, each specified as on the command line."""
    reports = [one for text in texts for one in wanted(text, folder=folder)]
    return read_reports(reports, folder=folder)


def refusal(content: bytes, folder: Path, *, name: str = "report") -> str:
    """Return the error for such a report; fail if the report is accepted."""
    (folder / "report").write_bytes(content)
    try:
        found = read(name, folder=folder)
    except SprintlogError as error:
        return error.message
    raise AssertionError(f"it was read: {found}")
