"""The cost of history commands depends on the changes, not on the plan's size."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from sprintlog.engine.log.event import Event
from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.command_context import last_decision
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.engine.sprint import events as f
from sprintlog.projections.history.blame_lines import search_all
from sprintlog.projections.history.decisions import decisions
from sprintlog.projections.history.replay import ReplayStep, replay
from sprintlog.projections.runner import catch_up
from sprintlog.projections.sql.read_model import ReadModel, in_memory
from sprintlog.projections.workspace import Workspace
from tests.kept_states import keep_only

AT = "2026-01-15T09:00:00Z"
READY = 4
"""Once so many events were seen, all that follow cost the same."""


def events(phases: int, rounds: int = 5) -> Iterator[Event]:
    """Yield the events of a plan of that many phases; only two of them are worked on."""
    nodes: list[dict[str, Any]] = [
        {"id": f"p{n}", "status": "pending", "prompt": "x"} for n in range(phases)
    ]
    nodes[0] |= {"gate": {"script": "x", "max-retries": 9}}
    yield f.SprintCompiled({"status": "not-started", "phases": nodes})
    yield f.SprintStarted()
    yield f.PhaseStarted("p0")
    yield f.GateChecked("p0", 1, 1)
    for number in range(1, rounds + 1):
        yield f.IterationStarted(number)
        yield f.GateChecked("p0", number, 0)
        yield f.PhaseCompleted("p0", "done")
        yield f.PhaseStarted("p1", "sonnet")
        yield f.PhaseFailed("p1", "x", "timeout")
        yield f.PhaseRetried("p1", "again")
        yield f.NoteAdded("x")
        yield f.PhaseReopened("p0", "again")


@contextmanager
def worked_on(phases: int, rounds: int = 5) -> Iterator[Workspace]:
    """Provide a log of the same work on a plan of a given size."""
    with TemporaryDirectory() as folder, Workspace.in_memory(Path(folder)) as workspace:
        record(workspace, *events(phases, rounds))
        yield workspace


def record(workspace: Workspace, *happened: Event) -> None:
    """Append events, and save the resulting state."""
    told = [new_event(one, at=AT, actor="runtime") for one in happened]
    workspace.log.append("sprint/s", told, expect=Expect.ANY)
    keep_only(workspace.repository, workspace.repository.from_nothing("s"))


def calls_of(work: Callable[[], object]) -> int:
    """Return the number of calls of sprintlog's functions."""
    count = 0

    def look(frame: Any, event: str, _: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def nodes_apart(step: ReplayStep) -> int:
    """Return how many phases are not the same object before and after an event."""
    pairs = zip(step.old["phases"], step.new["phases"], strict=True)
    return sum(old is not new for old, new in pairs)


def replayed(phases: int) -> tuple[int, list[int]]:
    """Return the number of calls of a replay, and the number of changes by each event."""
    found: list[int] = []
    with worked_on(phases) as workspace:
        steps = replay(workspace, "s")
        assert len(list(islice(steps, READY))) == READY

        def look() -> None:
            found.extend(len(step.changes()) + len(step.json_patch()) for step in steps)

        return calls_of(look), found


def test_an_event_is_compared_by_what_it_reaches() -> None:
    """A replay of the same events needs the same number of calls in any plan."""
    # The first run fills the cache of names.
    _, small, large = (replayed(phases) for phases in (10, 10, 200))
    assert small[1] == large[1]
    assert len(small[1]) == 40
    # In a large plan, a node lookup requires a few more calls.
    assert large[0] <= 1.1 * small[0]


def test_what_an_event_leaves_alone_is_shared() -> None:
    """Both documents of a step share the same objects, except for the affected phase."""
    with worked_on(20) as workspace:
        steps = list(replay(workspace, "s"))[1:]
    assert max(map(nodes_apart, steps)) == 1
    assert sum(map(nodes_apart, steps)) == 32
    notes = [step for step in steps if step.event.type == f.NoteAdded.type]
    assert all(step.old is step.new for step in notes)


def test_a_line_is_blamed_by_what_events_reach() -> None:
    """Each further event costs the blame of all lines the same, in any plan."""

    def more(phases: int) -> int:
        with worked_on(phases) as workspace:
            search = partial(search_all, workspace.repository, "s", set())
            # The first run fills the cache of names.
            _, early, late = (calls_of(partial(search, until=n)) for n in (44, 9, 44))
        return late - early

    assert more(200) <= 1.1 * more(10)


def one_more(rounds: int, event: Event) -> tuple[int, int]:
    """Return the cost of the tables after one more event: our calls, and SQLite's steps."""
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    with worked_on(2, rounds) as workspace, closing(in_memory(workspace)) as connection:
        record(workspace, event)
        connection.set_progress_handler(step, 10)
        model = ReadModel(workspace, connection, lambda position: None)
        return calls_of(partial(catch_up, workspace.log, model)), steps


@pytest.mark.parametrize(
    "event",
    [f.PhaseStarted("p0"), f.PhaseBlocked("p0", "x"), f.SprintPaused(), f.NoteAdded("x")],
    ids=lambda event: event.type,
)
def test_a_question_after_one_event_costs_that_event(event: Event) -> None:
    """The tables are carried on by as much work, however long the log was before."""
    _, small, large = (one_more(rounds, event) for rounds in (10, 10, 200))
    assert large[0] <= small[0] + 20
    assert large[1] <= small[1] * 1.1


def test_the_latest_decision_is_looked_for_from_the_end() -> None:
    """`undo` reads as many events of a long log as of a short one."""

    def looked_for(rounds: int) -> int:
        with worked_on(2, rounds) as workspace:
            record(workspace, f.SprintPaused("lunch"))
            sprint, found = workspace.sprint("s"), list[int]()
            calls = calls_of(lambda: found.append(last_decision(workspace.log, sprint)))
        assert found == [sprint.version]
        return calls

    assert looked_for(10) == looked_for(200)


def test_many_rollbacks_cost_each_what_it_takes_back() -> None:
    """The decisions of a log with twice as many rollbacks cost twice as much."""

    def decided(rounds: int) -> int:
        happened = list(events(2))
        for _ in range(rounds):
            happened += [f.PhaseStarted("p1"), f.PhaseBlocked("p1", "x")]
            happened.append(f.RolledBack(len(happened) - 1))
        with worked_on(2, 0) as workspace:
            record(workspace, *happened[4:])
            found = list(workspace.log.read_stream("sprint/s"))
            rollbacks = workspace.sprint("s").knowledge.rollbacks
        return calls_of(lambda: decisions(found, rollbacks, len(found)))

    assert decided(400) - decided(200) <= 1.1 * (decided(200) - decided(0))
