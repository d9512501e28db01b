"""The files of a stored loop are the stored files, byte for byte."""

from collections.abc import Sequence

import pytest

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.memory import MemoryLog
from sprintlog.engine.service.streams.catalogue import CODEC, new_event
from sprintlog.engine.service.streams.evaluation import Judged, evaluate
from sprintlog.engine.sprint.events import RolledBack
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.state.effective_history import effective_ranges
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.state_files.loop_files import loop_files
from sprintlog.projections.text.summary_report import SummaryTexts, summary_markdown

from .test_streams import FIXTURES, lines, recorded_of

STREAM = FIXTURES / "streams" / "measured-loop-v1.jsonl"
EXPECTED = FIXTURES / "expected" / "measured-loop-v1.loop"


def judged_at(recorded_events: Sequence[RecordedEvent], version: int) -> Judged:
    """Return the stored loop at a version."""
    events = [(e.version, e.at, CODEC.decode(e)) for e in recorded_events[:version]]
    log = MemoryLog(clock=lambda: 0, entropy=lambda count: bytes(count))
    new_events = [new_event(event, at=at, actor="runtime") for _, at, event in events]
    log.append("sprint/fixture", new_events, expect=Expect.NONE)
    back = [(v, event.to) for v, _, event in events if isinstance(event, RolledBack)]
    return evaluate(
        log, fold(Sprint("fixture"), events, effective_ranges(back, len(events)))
    )


@pytest.fixture(scope="module")
def events() -> list[RecordedEvent]:
    """Return the events of the stored loop."""
    return [recorded_of(line) for line in lines(STREAM)]


def test_the_layout_is_the_stored_one(events: list[RecordedEvent]) -> None:
    """The baseline, metrics, both reports and the tracker are at the documented paths."""
    now = judged_at(events, len(events))

    def then(number: int) -> Judged:
        entry = now.tracker.entry(number)
        return judged_at(events, entry.version if entry else now.tracker.baseline_version)

    files = loop_files(now, then, [entry.number for entry in now.tracker.measured])
    stored = {
        file.relative_to(EXPECTED).as_posix(): file.read_bytes()
        for file in (EXPECTED / "aiwg").rglob("*")
        if file.is_file()
    }
    assert {name.removeprefix("."): make(now) for name, make in files.items()} == stored


def test_the_summary_is_the_stored_one(events: list[RecordedEvent]) -> None:
    """The page of a stored loop never changes."""
    told = SummaryTexts(
        time="the whole night", cost="$1.50", outcome="stopped: somebody stopped it"
    )
    text = summary_markdown(judged_at(events, len(events)), told)
    assert text == (EXPECTED / "summary.md").read_text(encoding="utf-8")
