"""The location of a test's log: in its folder, or on a server."""

import os

import pytest

from .postgres.server import why_not

SQLITE = "sqlite"
EVERYWHERE = os.environ.get("SPRINTLOG_TEST_STORE")


@pytest.fixture
def log_store(request: pytest.FixtureRequest) -> str:
    """Return a fixture that selects the store of each log."""
    name: str = getattr(request, "param", SQLITE)
    if name != SQLITE and (reason := why_not(name)):
        pytest.skip(reason)
    return name
