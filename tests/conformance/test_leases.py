"""The contract of every store for the lease on a stream."""

import pytest

from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Log

NOTE = NewEvent("note-added", b"{}", "2026-01-30T12:00:00Z", "runtime")


def test_who_has_the_lease_records_in_the_stream(log: Log) -> None:
    """The holder can append to that stream and others; other streams have other leases."""
    with (
        log.leases.hold("a", holder="one:x", host="one"),
        log.leases.hold("b", holder="one:x", host="one"),
    ):
        log.append("a", [NOTE], expect=0)
        log.append("c", [NOTE], expect=0)
    assert log.head().position == 2


def test_a_lease_ends_however_it_ends(log: Log) -> None:
    """A failure while holding a lease releases it, so that no one holds it afterwards."""
    for host in ("one", "two"):
        with pytest.raises(ZeroDivisionError), log.leases.hold("a", holder=host, host=host):
            raise ZeroDivisionError
        assert log.leases.of("a") is None
