"""The changes of `replay` equal the comparison of whole documents."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.log.event import Event
from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.state.patch import FieldChange, changes, diff
from sprintlog.projections.history.blame import Setting
from sprintlog.projections.history.blame_lines import search_all
from sprintlog.projections.history.replay import replay
from sprintlog.projections.workspace import Workspace

from ..sprint_histories import World, copied, worlds
from .test_exchange_laws import laws

KINDS = ("import", "inject", "iterate", "queue", "queue", "back", "back", "undo")


@contextmanager
def recorded(events: Iterable[tuple[str, Event]]) -> Iterator[Workspace]:
    """Provide a log in memory with some events of a sprint."""
    with (
        tempfile.TemporaryDirectory() as name,
        Workspace.in_memory(Path(name)) as workspace,
    ):
        told = [new_event(event, at=at, actor="runtime") for at, event in events]
        workspace.log.append("sprint/s", told, expect=Expect.ANY)
        yield workspace


@laws
@given(worlds(*KINDS), st.integers(0, 10**6))
def test_says_what_comparing_whole_documents_says(world: World, k: int) -> None:
    """The changes of every event after any version are right, in any order of reads."""
    since = k % len(world.events) if k % 3 else 0
    with recorded((at, event) for _, at, event in world.events) as workspace:
        steps = list(replay(workspace, "s", since=f"version:{since}" if since else None))
    last = len(world.events)
    assert [step.event.version for step in steps] == [*range(since + 1, last + 1)]
    for step in steps:
        version = step.event.version
        old, new = (copied(world.rebuilt(n).document) for n in (version - 1, version))
        found = step.old, step.new, step.changes(), step.json_patch()
        wanted = old, new, changes(old, new), diff(old, new)
        assert [*map(msgspec.json.encode, found)] == [*map(msgspec.json.encode, wanted)]


def test_a_resumed_sprint_ends_the_wait_of_its_leaf() -> None:
    """The replay shows that `sprint resume` makes a waiting phase due immediately."""
    phase = {"id": "p", "status": "pending", "prompt": "x"}
    document = {"sprint-id": "s", "status": "not-started", "phases": [phase]}
    wait = f.RetryScheduled("p", "2099-01-01T05:00:00Z", "x")
    events = [f.SprintImported("x", document), f.SprintStarted(), f.PhaseStarted("p"), wait]
    with recorded(("2026-01-15T09:00:00Z", e) for e in [*events, f.SprintResumed()]) as log:
        *_, last = replay(log, "s")
        now = copied(log.sprint("s").document)
    assert last.new == now
    assert [change.field for change in last.changes()] == ["phases[p].next-retry-at"]


def test_a_gate_settles_what_is_below() -> None:
    """A document that contradicts itself below a gate is corrected by the gate's event."""
    done = {"id": "i", "status": "completed"}
    step = {"id": "x", "status": "pending", "phases": [done]}
    phase = {"id": "p", "status": "pending", "gate": {"script": "make"}, "steps": [step]}
    other = {"id": "q", "status": "pending", "prompt": "x"}
    document = {"sprint-id": "s", "status": "in-progress", "phases": [phase, other]}
    happened = [f.SprintImported("x", document), f.GateChecked("p", 1, 1)]
    with recorded(("2026-01-15T09:00:00Z", event) for event in happened) as workspace:
        _, last = replay(workspace, "s")
        field = "phases[p].steps[x].status"
        settings = search_all(workspace.repository, "s", {field}, until=2)
        now = copied(workspace.sprint("s").document)
    assert last.new == now
    assert FieldChange(field, "changed", "pending", "completed") in last.changes()
    assert settings == {field: Setting(2, 2)}
