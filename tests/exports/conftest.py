"""Rules for the tests of exports."""

import io

import pytest


@pytest.fixture(autouse=True, scope="session")
def _pyarrow() -> None:
    """Read a table before the first test: pyarrow then opens a pipe and keeps it."""
    try:
        from pyarrow import csv
    except ImportError:
        return
    csv.read_csv(io.BytesIO(b"a\n1\n"))
