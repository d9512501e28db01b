"""A point by its position in the log is found without reading the stream."""

from typing import Any

import pytest

from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.memory import MemoryLog
from sprintlog.engine.service.streams.points import last_version

EVENT = NewEvent(
    type="note-added", payload=b"{}", at="2026-01-30T12:00:00Z", actor="runtime"
)


class CountingLog(MemoryLog):
    """A log that counts the events read from streams."""

    read_of_streams = 0

    def read_stream(self, stream: str, **bounds: Any) -> Any:
        """Return one stream's events, and count them."""
        events = list(super().read_stream(stream, **bounds))
        self.read_of_streams += len(events)
        return iter(events)


@pytest.fixture
def log() -> CountingLog:
    """Provide a log with two interleaved streams: three events, then one."""
    log = CountingLog(clock=lambda: 0, entropy=bytes)
    for _ in range(500):
        log.append("a", [EVENT] * 3, expect=Expect.ANY)
        log.append("b", [EVENT], expect=Expect.ANY)
    return log


@pytest.mark.parametrize("position", [0, 1, 3, 4, 5, 999, 1000, 1001, 2000, 9999])
@pytest.mark.parametrize("stream", ["a", "b", "none"])
def test_the_last_version_up_to_a_position(
    log: CountingLog, stream: str, position: int
) -> None:
    """The version equals that of a full read, with logarithmically many reads."""
    events = list(log.read(until=position))
    expected = sum(event.stream == stream for event in events)
    log.read_of_streams = 0
    assert last_version(log, stream, position=position) == expected
    assert log.read_of_streams <= 11
