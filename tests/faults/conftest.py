"""Logs to damage copies of, which are never changed, and the driver process."""

import pytest

from tests import needs

from .runner import Runner, shared
from .shim import Unavailable
from .specimens import Specimen, make_specimen


@pytest.fixture(scope="session")
def runner() -> Runner:
    """Provide the driver process with the shim, if it can be built."""
    try:
        return shared()
    except Unavailable as reason:
        pytest.skip(needs.line(str(reason)))


@pytest.fixture(scope="session")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Specimen:
    """Provide a log that was closed cleanly."""
    root = tmp_path_factory.mktemp("closed") / "log"
    return make_specimen(root, events=60, live=False)


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Specimen:
    """Provide a log whose last events are only in the write-ahead log."""
    root = tmp_path_factory.mktemp("live") / "log"
    return make_specimen(root, events=60, live=True)
