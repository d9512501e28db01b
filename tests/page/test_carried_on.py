"""An updated page reads only new events, and equals a newly generated page."""

import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from sprintlog.engine.log.event import Event
from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.state.times import from_milliseconds
from sprintlog.projections.facts.past import SprintPast
from sprintlog.projections.facts.sprint_facts import SprintFacts
from sprintlog.projections.page import document
from sprintlog.projections.page.live_pages import LivePages
from sprintlog.projections.workspace import Workspace

from .logs import SPRINT, STREAMS, workspace_of
from .night import SPRINT as NIGHT
from .night import night
from .test_odd_logs import BEGIN_MS, loop, workspace_with

STOPS = 6
READ_MAX = 700
"""Rows that a page reads of a log of any length, where one event came since."""
GROWS_BYTES_MAX = 24
"""What an event may leave in memory: when it was, with some room for more."""


def told(past: SprintPast, workspace: Workspace, version: int) -> tuple[object, ...]:
    """Return all facts of a past at a version."""
    sprint = workspace.sprint(SPRINT, at=f"version:{version}")
    past.follow(workspace, sprint)
    return past.story.course({}), past.works


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", STREAMS)
def test_a_past_carried_on_is_the_whole_past(name: str, tmp_path: Path) -> None:
    """Facts updated in steps equal facts read at once, after any rollback."""
    workspace, carried = workspace_of(name, tmp_path), SprintPast()
    last = workspace.sprint(SPRINT).version
    for version in sorted({max(last * n // STOPS, 1) for n in range(1, STOPS + 1)}):
        assert told(carried, workspace, version) == told(SprintPast(), workspace, version)


def test_a_page_carried_on_is_the_page(tmp_path: Path) -> None:
    """The page of a night that was viewed from time to time has the same bytes."""
    with night(tmp_path) as workspace:
        past, last = SprintPast(), workspace.sprint(NIGHT).version
        for version in (3, 37, 38, last):
            facts = SprintFacts(workspace, NIGHT, at=f"version:{version}", past=past)
            carried = document.document(facts)
        assert carried == document.page(workspace, NIGHT, at=f"version:{last}")


def test_another_past_is_read_anew(tmp_path: Path) -> None:
    """If a version has a different event than before, no earlier facts remain."""
    past = SprintPast()
    with workspace_with(tmp_path, loop(3)) as one:
        past.follow(one, one.sprint("odd"))
        before = past.story.course({})
    with workspace_with(tmp_path, loop(4), step_ms=1_000) as other:
        past.follow(other, other.sprint("odd"))
        whole = SprintPast()
        whole.follow(other, other.sprint("odd"))
        assert past.story.course({}) == whole.story.course({}) != before


def busy(events: int) -> Iterator[Event]:
    """Yield a loop with many events besides the iterations."""
    yield from loop(20)
    for number in range(events):
        yield f.ActivitySeen() if number % 3 else f.NoteAdded(f"note {number}")


def counted(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the number of rows of each later read of the log."""
    found: list[int] = []

    def counting(read: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        def reads(*given: Any, **named: Any) -> Iterator[Any]:
            for one in read(*given, **named):
                found.append(len(one.rows) if hasattr(one, "rows") else 1)
                yield one

        return reads

    for name in ("read_stream", "scan", "read"):
        monkeypatch.setattr(
            workspace.log, name, counting(getattr(workspace.log, name)), raising=True
        )
    return found


def append(workspace: Workspace, events: list[Event], at_ms: int) -> None:
    """Append events to the sprint."""
    new = [new_event(x, at=from_milliseconds(at_ms), actor="runtime") for x in events]
    workspace.log.append("sprint/odd", new, expect=Expect.ANY)


@pytest.mark.long
def test_an_update_reads_no_more_of_a_long_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long a log is, updating a page reads a bounded number of events."""
    read: list[int] = []
    for length in (2_100, 3_500):
        folder = tmp_path / str(length)
        folder.mkdir()
        with Workspace.init(folder, here=True) as workspace:
            append(workspace, [*busy(length)], BEGIN_MS)
            pages = LivePages({})
            pages.page(workspace, "odd")
            append(workspace, [f.NoteAdded("one more")], BEGIN_MS + 10_000_000)
            with monkeypatch.context() as patch:
                rows = counted(workspace, patch)
                page = pages.page(workspace, "odd")
            assert "one more" in page
            read.append(sum(rows))
    assert read[0] == read[1] <= READ_MAX


@pytest.mark.long
def test_a_long_night_keeps_its_memory(tmp_path: Path) -> None:
    """After 2,000 more events, a viewed page stores only their times."""
    with workspace_with(tmp_path, busy(1_000), step_ms=1_000) as workspace:
        past, held = SprintPast(), list[int]()
        for number in range(3):
            sprint = workspace.sprint("odd")
            past.follow(workspace, sprint)
            held.append(size_of(past))
            append(workspace, [*busy(1_000)][-1_000:], BEGIN_MS + 10_000_000 + number)
    assert held[0] > 20_000
    assert held[2] - held[0] <= GROWS_BYTES_MAX * 2_000, held


def size_of(whole: object) -> int:
    """Return the number of bytes that belong to an object, except for its log."""
    seen: dict[int, object] = {}
    waiting = [whole]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, Workspace | type | ModuleType | FunctionType):
            continue
        seen[id(one)] = one
        waiting += gc.get_referents(one)
    return sum(map(sys.getsizeof, seen.values()))
