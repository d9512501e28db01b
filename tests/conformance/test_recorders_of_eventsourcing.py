"""A log passes the tests that the `eventsourcing` library has for recorders."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import TestCase

import pytest

from sprintlog.stores import create_log
from tests import needs

pytest.importorskip(
    "eventsourcing.tests.persistence",
    reason=needs.line("eventsourcing", "pip install eventsourcing"),
)

from .eventsourcing_recorders import (
    SprintlogAggregateRecorder,
    SprintlogApplicationRecorder,
    SprintlogTrackingRecorder,
)

if TYPE_CHECKING:
    # The library is installed only for `make judges`, so types are checked without it.
    class OfTheLibrary(TestCase):
        """A class of tests of the library."""

        def new_originator_id(self) -> Any:
            """Return a new id."""

        def optional_test_insert_subscribe(self) -> None:
            """Follow the recorded events."""

    class AggregateRecorderTestCase(OfTheLibrary):
        """Events of aggregates."""

    class ApplicationRecorderTestCase(OfTheLibrary):
        """All events in one order."""

    class TrackingRecorderTestCase(OfTheLibrary):
        """How far another application was followed."""

    class NonInterleavingNotificationIDsBaseCase(OfTheLibrary):
        """Concurrent appends."""

else:
    from eventsourcing.tests.persistence import (
        AggregateRecorderTestCase,
        ApplicationRecorderTestCase,
        NonInterleavingNotificationIDsBaseCase,
        TrackingRecorderTestCase,
    )


class NewLogs(TestCase):
    """Provide every test with a separate log."""

    @pytest.fixture(autouse=True)
    def _set_folder(self, tmp_path: Path) -> None:
        # The library's readers may continue after its test, so their folder is kept for a
        # while.
        self._folder = tmp_path

    def new_url(self) -> str:
        """Return the path of a new SQLite log."""
        url = f"sqlite:{self._folder / 'log.db'}"
        create_log(
            url, clock=lambda: time.time_ns() // 1_000_000, entropy=os.urandom
        ).close()
        return url


class TestAggregateRecorder(NewLogs, AggregateRecorderTestCase):
    """The events of an aggregate form one stream without gaps or duplicate versions."""

    test_performance = None  # Only prints a measurement.

    def create_recorder(self) -> Any:
        """Return a recorder with a new log."""
        return SprintlogAggregateRecorder(self.new_url())


class TestApplicationRecorder(NewLogs, ApplicationRecorderTestCase):
    """Ten writers and two readers at once, pages, topics, and a follower of the log."""

    test_performance = None

    def new_originator_id(self) -> str:
        """Return a valid stream name."""
        return str(super().new_originator_id())

    def create_recorder(self) -> Any:
        """Return a recorder with a new log."""
        return SprintlogApplicationRecorder(self.new_url())

    def test_insert_subscribe(self) -> None:
        """A follower receives each event once, in order, and ends on request."""
        self.optional_test_insert_subscribe()


class TestTrackingRecorder(NewLogs, TrackingRecorderTestCase):
    """The position up to which another application was followed only advances."""

    def create_recorder(self) -> Any:
        """Return a recorder with a new log."""
        return SprintlogTrackingRecorder(self.new_url())


class TestNonInterleaving(NewLogs, NonInterleavingNotificationIDsBaseCase):
    """Of two concurrent appends of 1,000 events, one completely precedes the other."""

    def new_originator_id(self) -> str:
        """Return a valid stream name."""
        return str(super().new_originator_id())

    def create_recorder(self) -> Any:
        """Return a recorder with a new log."""
        return SprintlogApplicationRecorder(self.new_url())
