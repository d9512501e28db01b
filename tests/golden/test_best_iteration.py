"""The tracker of a stored stream is the stored file, byte for byte."""

from pathlib import Path

import pytest

from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.memory import MemoryLog
from sprintlog.engine.service.streams.catalogue import CODEC, new_event
from sprintlog.engine.service.streams.evaluation import evaluate
from sprintlog.engine.sprint.events import RolledBack
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.state.effective_history import effective_ranges
from sprintlog.engine.sprint.state.sprint import Sprint, pack, unpack
from sprintlog.projections.state_files.loop_files import tracker_yaml

from .test_streams import FIXTURES, lines, recorded_of

TRACKED = sorted((FIXTURES / "expected").glob("*.best.yaml"))


@pytest.mark.parametrize("expected", TRACKED, ids=lambda path: path.name)
def test_every_stream_gives_its_tracker(expected: Path) -> None:
    """Measurements, advice and selection of a stored stream never change."""
    name = expected.name.removesuffix(".best.yaml")
    recorded_events = [
        recorded_of(line) for line in lines(FIXTURES / "streams" / f"{name}.jsonl")
    ]
    events = [
        (recorded.version, recorded.at, CODEC.decode(recorded))
        for recorded in recorded_events
    ]
    log = MemoryLog(clock=lambda: 0, entropy=lambda count: bytes(count))
    new_events = [new_event(event, at=at, actor="runtime") for _, at, event in events]
    log.append("sprint/fixture", new_events, expect=Expect.NONE)
    back = [(v, event.to) for v, _, event in events if isinstance(event, RolledBack)]
    sprint = fold(Sprint("fixture"), events, effective_ranges(back, len(events)))
    assert tracker_yaml(evaluate(log, sprint)) == expected.read_bytes()
    assert tracker_yaml(evaluate(log, unpack(pack(sprint)))) == expected.read_bytes()


def test_a_tracker_is_stored() -> None:
    """There is at least one stored tracker."""
    assert TRACKED
