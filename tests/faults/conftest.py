"""Logs that tests damage copies of; nobody changes these."""

import pytest

from .specimens import Specimen, make_specimen


@pytest.fixture(scope="session")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Specimen:
    """Give a log that was closed cleanly."""
    root = tmp_path_factory.mktemp("closed") / "log"
    return make_specimen(root, events=60, live=False)


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Specimen:
    """Give a log whose last events are in the write-ahead log only."""
    root = tmp_path_factory.mktemp("live") / "log"
    return make_specimen(root, events=60, live=True)
