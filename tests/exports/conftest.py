"""Rules for the tests of exports."""

from importlib.util import find_spec

import pytest


@pytest.fixture(autouse=True, scope="session")
def _pyarrow() -> None:
    """Import pyarrow before the first test: it opens a pipe and keeps it."""
    if find_spec("pyarrow"):
        __import__("pyarrow")
