"""Random histories of sprints, driven by their commands.

Nearly every move is one that the rules allow; refused moves are omitted.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from hypothesis import strategies as st

from sprintlog.engine.command import Command, decided
from sprintlog.engine.errors import NotFoundError, RefusedError
from sprintlog.engine.judging.events import RulesSet, Thresholds
from sprintlog.engine.log.event import Event, Versioned
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.events import RestoreStarted, SnapshotTaken
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.iterations import decisions, loop, measurement, snapshots
from sprintlog.engine.sprint.iterations.rollback import RollBack, Undo
from sprintlog.engine.sprint.phases import gate_checks, lifecycle
from sprintlog.engine.sprint.phases import leaves as phases
from sprintlog.engine.sprint.phases.gate import GateResult, find_gate
from sprintlog.engine.sprint.plan import create
from sprintlog.engine.sprint.queue.returns import with_returns
from sprintlog.engine.sprint.state.effective_history import effective_ranges
from sprintlog.engine.sprint.state.sprint import Sprint, pack
from sprintlog.engine.sprint.state.times import from_milliseconds
from sprintlog.engine.sprint.state.transitions import PHASE_FROM

from .goals import goal_command
from .injections import inject, injection
from .queue_moves import move_queue
from .sprint_plans import mutated, plans

Data = dict[str, Any]
Move = tuple[str, int, int]

_TAKEN = SnapshotTaken("a", 1, "t", 1, 1)
PHASE_COMMANDS: dict[str, Callable[..., Command]] = {
    name: getattr(phases, f"{name.capitalize()}Phase") for name in PHASE_FROM
}
SPRINT_COMMANDS: list[tuple[Callable[..., Command], Data]] = [
    (lifecycle.StartSprint, {}),
    (lifecycle.ResumeSprint, {"by": "Ada", "why": "done"}),
    (lifecycle.PauseSprint, {}),
    (lifecycle.InterruptSprint, {"reason": "x"}),
    (lifecycle.BlockSprint, {"reason": "x"}),
    (lifecycle.NeedHuman, {"reason": "x"}),
    (lifecycle.CompleteSprint, {}),
    (lifecycle.ReopenSprint, {}),
    (lifecycle.RecordHeartbeat, {}),
    (loop.StartIteration, {}),
    (loop.StartIteration, {"number": 7, "max_iterations": 9}),
    (lifecycle.AddNote, {"text": "x"}),
    (loop.EndIteration, {"summary": "x"}),
    (snapshots.TakeSnapshot, {"taken": _TAKEN}),
    (snapshots.StartRestore, {"before": _TAKEN, "restore": RestoreStarted("a", "b")}),
    (snapshots.PruneSnapshots, {"keep": 1}),
    (measurement.CaptureBaseline, {"metrics": {"test_count": 9, "tests_passed": 5}}),
    (measurement.MeasureIteration, {"metrics": {"test_count": 9, "tests_passed": 7}}),
    (
        measurement.EndMeasuredIteration,
        {"metrics": {"coverage_percentage": 72.5}, "score": 0.5},
    ),
    (decisions.SetRules, {"rules": RulesSet(thresholds=Thresholds(target=0.9))}),
]
OWN = ("phase",) * 8 + ("gate",) * 3 + ("goal",) * 3 + ("sprint", "wake")


Given = Command | Callable[..., list[Event]]
"""A command, or a function that tries one by the state."""


def given(command: Given, sprint: Sprint, now: str, /, **arguments: Any) -> list[Event]:
    """Return the decision on a command at this time."""
    if isinstance(command, Command):
        return decided(command, sprint, now)
    return command(sprint, **arguments)


def copied(value: Any) -> Any:
    """Return an event or a document as a log would return it."""
    kind = type(value) if isinstance(value, Event) else Any
    return msgspec.json.decode(msgspec.json.encode(value), type=kind)


class World:
    """A sprint's stream, and its state updated with each append."""

    def __init__(self, document: Data) -> None:
        self.events: list[Versioned] = []
        self.ends = [0]
        self.sprint = Sprint("s")
        self.handle_with(create.CreateSprint(plan=document))
        self.move(("wake", 0, 0))

    def __repr__(self) -> str:
        return "\n".join(["World", *(f"  {v} {event}" for v, _, event in self.events)])

    def handle_with(self, command: Given, **arguments: Any) -> bool:
        """Handle a command twice: it decides the same and changes nothing; then append."""
        before = pack(self.sprint)
        answers: list[list[Event] | str] = []
        for _ in range(2):
            try:
                events = given(command, self.sprint, self.time, **arguments)
                answers.append(with_returns(self.sprint, events, at=self.time))
            except RefusedError as error:
                answers.append(error.message)
        assert answers[0] == answers[1]
        assert pack(self.sprint) == before
        if isinstance(answers[0], str) or not answers[0]:
            return False
        self.append(answers[0])
        return True

    def append(self, events: list[Event]) -> None:
        """Append events and catch up; a rollback sends the fold back to the start."""
        news = [(len(self.events) + n, self.time, x) for n, x in enumerate(events, start=1)]
        self.events += news
        self.ends.append(len(self.events))
        if any(isinstance(event, f.RolledBack) for event in events):
            self.sprint = self.rebuilt()
        else:
            fold(self.sprint, [(v, at, copied(event)) for v, at, event in news])

    @property
    def time(self) -> str:
        """Return a time that mostly increases."""
        seconds = 37 * len(self.events) - (500 if len(self.events) % 11 == 10 else 0)
        return from_milliseconds(1_768_467_600_000 + 1000 * seconds)

    def tail(self, after: int, until: int) -> list[Versioned]:
        """Return the events between two versions, as a log does."""
        return [(v, at, copied(event)) for v, at, event in self.events[after:until]]

    def live(self, version: int) -> list[tuple[int, int]]:
        """Return the path to a version."""
        found = [(v, x.to) for v, _, x in self.events if isinstance(x, f.RolledBack)]
        return effective_ranges(
            [rollback for rollback in found if rollback[0] <= version], version
        )

    def rebuilt(self, version: int | None = None) -> Sprint:
        """Return the sprint folded from nothing."""
        last = len(self.events) if version is None else version
        return fold(Sprint("s"), self.tail(0, last), self.live(last))

    def move(self, move: Move) -> None:
        """Do something, as far as the rules allow it."""
        kind, i, j = move
        leaves = self.sprint.plan.tree.leaves
        match kind:
            case "phase" if leaves:
                leaf = self.sprint.plan.pointed() if i % 3 else leaves[i % len(leaves)]
                assert leaf is not None
                fitting = [
                    asked
                    for asked, states in PHASE_FROM.items()
                    for _ in range(5 if asked in ("start", "complete") else 1)
                    if leaf.status in states
                ]
                asked = fitting[j % len(fitting)]
                if i % 17 == 16:
                    asked = list(PHASE_FROM)[j % len(PHASE_FROM)]
                said: Data = {"block": {"reason": "x"}}.get(asked, {})
                if asked == "fail":
                    category = ("network", "logic", "timeout")[j % 3]
                    said = {"error": "x", "category": category}
                self.handle_with(PHASE_COMMANDS[asked](phase=leaf.address, **said))
            case "gate":
                self.check_gate(i, j)
            case "sprint":
                command, said = SPRINT_COMMANDS[i % len(SPRINT_COMMANDS)]
                self.handle_with(command(**said))
            case "goal":
                self.work_on_goal(i)
            case "wake":
                for command, said in SPRINT_COMMANDS[:2]:
                    self.handle_with(command(**said))
            case "iterate":
                self.handle_with(loop.StartIteration())
            case "back":
                to = self.ends[1:][i % len(self.ends[1:])]
                self.handle_with(RollBack(to=to, is_inside_append=False))
            case "undo":
                self.handle_with(Undo())
            case "queue":
                self.handle_with(move_queue, i=i, j=j, at=self.time)
            case "inject":
                self.handle_with(inject, asked=injection(self.sprint, i, j))
            case "import":
                self.take_in(mutated(copied(self.sprint.document), i, j))
            case _:
                assert kind == "phase"

    def take_in(self, theirs: Data) -> None:
        """Import a document unchanged."""
        if self.handle_with(create.ImportDocument(document=theirs, source="x")):
            assert written(self.sprint) == msgspec.json.encode(theirs)

    def work_on_goal(self, i: int) -> None:
        """Work on the goal, if possible."""
        with suppress(NotFoundError):
            self.handle_with(goal_command(i))

    def check_gate(self, i: int, j: int) -> None:
        """Start the gate at the pointer, or end its run with any result."""
        try:
            node = find_gate(self.sprint, None)
        except RefusedError:
            return
        phase, under_way = node.address, gate_checks.run_of(self.sprint.plan, node)
        result = GateResult(j % 2, timed_out=j % 5 == 4, output="x" * (j % 3))
        run = under_way.run if under_way and i % 7 else f"r{j}"
        if i % 5 == 0 or (under_way is None and i % 2):
            by: Data = {"pid": i, "process_started": "s", "boot_id": "b"}
            lost = under_way.run if under_way and j % 3 else None
            self.handle_with(gate_checks.StartGate(run=run, lost=lost, **by))
        elif under_way is None:
            self.handle_with(gate_checks.RecordGate(phase=phase, result=result))
        elif i % 5 == 1:
            self.handle_with(gate_checks.InterruptGate(phase=phase, run=run, reason="x"))
        else:
            self.handle_with(gate_checks.CheckGate(phase=phase, run=run, result=result))


def written(sprint: Sprint) -> bytes:
    """Return the document's bytes, keys in their order."""
    return msgspec.json.encode(sprint.document)


def saved(sprint: Sprint) -> bytes:
    """Return the complete state after all its parts were read."""
    assert sprint.document is not None
    return pack(sprint)


@st.composite
def worlds(draw: st.DrawFn, *kinds: str) -> World:
    """Return a history of our own commands and of the given additional kinds."""
    world = World(draw(plans()))
    kind = st.sampled_from([*OWN, *kinds])
    number = st.integers(0, 59)
    for _ in range(draw(st.sampled_from([2, 8, 20, 50]))):
        world.move((draw(kind), draw(number), draw(number)))
    return world
